import { InvalidOptionError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/messages.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { knowsCost } from '../../models/usage.ts'
import type { LargeResultOptions, RunSettings } from '../types.ts'
import type { Budget } from './budget.ts'
import type { RunLimits } from './types.ts'

/** A run's bounds, every one decided. */
export interface ResolvedLimits {
  maxIterations: number
  toolTimeoutMs: number
  toolConcurrency: number
  maxResultBytes: number
  /** Most bytes of text taken over from a tool: all of it, where long results are kept aside. */
  takenResultBytes: number
  largeResults: Required<LargeResultOptions> | undefined
  maxArgumentValues: number
  streamIdleTimeoutMs: number
  streamStallTimeoutMs: number
  deadlineMs: number
  tokens: number
  costUsd: number
  toolCalls: number
  repeatedCalls: number
  repeatWindow: number
  depth: number
}

/** Checks every bound and fills in the defaults. Throws `invalid_option`. */
export function resolveLimits(settings: RunSettings<never>): ResolvedLimits {
  const { limits = {}, maxIterations } = settings
  const maxResultBytes = count('maxResultBytes', settings.maxResultBytes, 65_536, 1)
  const largeResults = largeResultsOf(settings.largeResults, maxResultBytes)
  return {
    maxIterations: count(maxIterations === undefined ? 'maxToolRounds' : 'maxIterations', iterationsOf(settings), 5, 1),
    toolTimeoutMs: amount('toolTimeoutMs', settings.toolTimeoutMs, 30_000),
    toolConcurrency: count('toolConcurrency', settings.toolConcurrency, 8, 1),
    maxResultBytes,
    takenResultBytes: largeResults === undefined ? maxResultBytes : Number.POSITIVE_INFINITY,
    largeResults,
    maxArgumentValues: countOrNone('maxArgumentValues', settings.maxArgumentValues, Number.POSITIVE_INFINITY, 1),
    streamIdleTimeoutMs: amount('streamIdleTimeoutMs', settings.streamIdleTimeoutMs, 60_000),
    streamStallTimeoutMs: amount('streamStallTimeoutMs', settings.streamStallTimeoutMs, 600_000),
    deadlineMs: amount('limits.deadlineMs', limits.deadlineMs, Number.POSITIVE_INFINITY),
    tokens: amount('limits.tokens', limits.tokens, Number.POSITIVE_INFINITY),
    costUsd: amount('limits.costUsd', limits.costUsd, Number.POSITIVE_INFINITY),
    toolCalls: countOrNone('limits.toolCalls', limits.toolCalls, Number.POSITIVE_INFINITY, 0),
    depth: count('limits.depth', limits.depth, 5, 0),
    repeatedCalls: countOrNone('limits.repeatedCalls', limits.repeatedCalls, 3, 1),
    repeatWindow: count('limits.repeatWindow', limits.repeatWindow, 8, 1),
  }
}

function largeResultsOf(given: RunSettings['largeResults'], maxResultBytes: number): ResolvedLimits['largeResults'] {
  if (given === undefined || given === false) return undefined
  if (given !== true && !isJsonObject(given)) throw new InvalidOptionError('largeResults', 'true, false or options', given)
  const options: LargeResultOptions = given === true ? {} : given
  // A part has at least one character.
  const overBytes = count('largeResults.overBytes', options.overBytes ?? maxResultBytes, maxResultBytes, 4)
  if (overBytes > maxResultBytes)
    throw new InvalidOptionError('largeResults.overBytes', `at most \`maxResultBytes\` (${maxResultBytes})`, overBytes)
  const shownBytes = count('largeResults.shownBytes', options.shownBytes, Math.min(8_192, overBytes), 4)
  if (shownBytes > overBytes) throw new InvalidOptionError('largeResults.shownBytes', `at most \`overBytes\` (${overBytes})`, shownBytes)
  return { overBytes, shownBytes, keptBytes: countOrNone('largeResults.keptBytes', options.keptBytes, 32 * 1024 * 1024, 1) }
}

/** `maxIterations` under either of its names. Throws `invalid_option` when the two contradict each other. */
export function iterationsOf({ maxIterations, maxToolRounds }: RunSettings<never>): number | undefined {
  if (maxIterations !== undefined && maxToolRounds !== undefined && maxIterations !== maxToolRounds) {
    throw new InvalidOptionError('maxToolRounds', `the same as \`maxIterations\` (${maxIterations}) when both are given`, maxToolRounds)
  }
  return maxIterations === undefined ? maxToolRounds : maxIterations
}

function count(name: string, value: number | undefined, byDefault: number, least: number): number {
  if (value === undefined) return byDefault
  if (!Number.isSafeInteger(value) || value < least) throw new InvalidOptionError(name, `an integer ≥ ${least}`, value)
  return value
}

/** A count that may be `Infinity`: no limit. */
function countOrNone(name: string, value: number | undefined, byDefault: number, least: number): number {
  return value === Number.POSITIVE_INFINITY ? value : count(name, value, byDefault, least)
}

function amount(name: string, value: number | undefined, byDefault: number): number {
  if (value === undefined) return byDefault
  if (typeof value !== 'number' || !(value > 0)) throw new InvalidOptionError(name, 'a number > 0', value)
  return value
}

/** A limit on what can't be measured would be none. Throws `invalid_option`. */
export function checkCostIsKnown(
  option: string,
  costUsd: number | undefined,
  model: Pick<ChatModel, 'provider' | 'model' | 'capabilities'>,
): void {
  if (costUsd === undefined || costUsd === Number.POSITIVE_INFINITY || knowsCost(model.capabilities)) return
  throw new InvalidOptionError(option, `absent for a model whose price is not known (${howToPrice(model)})`, costUsd)
}

interface Limited {
  limits: Pick<ResolvedLimits, 'costUsd'>
  settings: { readonly budget?: Pick<Budget, 'limits'> }
  /** The run that it is nested in. */
  outer: Limited | undefined
}

/** The option that limits the cost of a run, its own or an outer run's, and its value. */
function costLimitOf({ limits, settings: { budget }, outer }: Limited): [option: string, costUsd: number] {
  if (Number.isFinite(limits.costUsd)) return ['limits.costUsd', limits.costUsd]
  if (budget !== undefined && Number.isFinite(budget.limits.costUsd)) return ['budget.costUsd', budget.limits.costUsd]
  return outer === undefined ? ['limits.costUsd', Number.POSITIVE_INFINITY] : costLimitOf(outer)
}

/** Throws `invalid_option` for a model whose cost is not known, if that of the run is limited, or that of the agent that has its conversation. */
export function checkModelCost(run: Limited, own: RunLimits | undefined, model: ChatModel): void {
  const [option, costUsd] = costLimitOf(run)
  checkCostIsKnown(option, costUsd, model)
  checkCostIsKnown('limits.costUsd', own?.costUsd, model)
}

/** Calls `end` when the time is over; gives the function that stops waiting. */
export function startDeadline(milliseconds: number, end: () => void): () => void {
  if (!Number.isFinite(milliseconds)) return () => {}
  // A timer that is longer fires at once: what is left is waited for in parts.
  const longest = 2 ** 31 - 1
  let timer: NodeJS.Timeout
  const waitFor = (left: number) => {
    timer = setTimeout(() => (left > longest ? waitFor(left - longest) : end()), Math.min(left, longest))
  }
  waitFor(milliseconds)
  return () => clearTimeout(timer)
}

/** What to write so that a model's cost is known. */
function howToPrice({ provider, model }: Pick<ChatModel, 'provider' | 'model'>): string {
  return `give \`${provider}/${model}\`, and any model that may take its place, a \`price\` in US dollars for a million tokens: \
createModel({ provider: '${provider}', model: '${model}', price: { input: 2, output: 8 } })`
}
