import { InvalidOptionError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/messages.ts'
import type { ModelCapabilities } from '../../models/chat-model.ts'
import { knowsCost } from '../../models/usage.ts'
import type { LargeResultOptions, RunLimits, RunSettings } from '../types.ts'

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
  deadlineMs: number
  tokens: number
  costUsd: number
  toolCalls: number
  repeatedCalls: number
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
    deadlineMs: amount('limits.deadlineMs', limits.deadlineMs, Number.POSITIVE_INFINITY),
    tokens: amount('limits.tokens', limits.tokens, Number.POSITIVE_INFINITY),
    costUsd: amount('limits.costUsd', limits.costUsd, Number.POSITIVE_INFINITY),
    toolCalls: countOrNone('limits.toolCalls', limits.toolCalls, Number.POSITIVE_INFINITY, 0),
    depth: count('limits.depth', limits.depth, 5, 0),
    repeatedCalls: countOrNone('limits.repeatedCalls', limits.repeatedCalls, 3, 1),
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

/** A cost limit that can't be measured would be no limit. Throws `invalid_option`. */
export function checkCostIsKnown(limits: RunLimits | undefined, capabilities: ModelCapabilities): void {
  if (limits?.costUsd === undefined || limits.costUsd === Number.POSITIVE_INFINITY || knowsCost(capabilities)) return
  throw new InvalidOptionError('limits.costUsd', 'absent for a model that has no `price` and does not report its cost', limits.costUsd)
}
