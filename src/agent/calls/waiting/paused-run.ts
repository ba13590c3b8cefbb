import { InvalidOptionError } from '../../../core/errors.ts'
import { copyAsJson, jsonType } from '../../../core/json.ts'
import type { Logger } from '../../../core/logger.ts'
import { isJsonObject, type Json } from '../../../core/messages.ts'
import { processClock } from '../../../core/time/process-clock.ts'
import type { ToolSet } from '../../../tools/registry.ts'
import { checkNamesItem, type Decision } from '../../decisions/decisions.ts'
import type { DecidedState } from '../../journal/own-steps.ts'
import type { RunState } from '../../types/result.ts'
import { isWhole, itemFinder, verdictIn } from './verdict.ts'

const isText = (value: unknown): boolean => typeof value === 'string'

const stateVersion: RunState['version'] = 1

/** For each field of a stored state: its check, and the expected value in the error message. */
const stateParts: Readonly<Record<keyof RunState, readonly [isValid: (part: unknown) => boolean, expected: string]>> = {
  version: [(version) => version === stateVersion, `${stateVersion}`],
  runId: [isText, 'a string'],
  input: [isJsonObject, 'an object'],
  steps: [isJsonObject, 'an object'],
  decisions: [isJsonObject, 'an object'],
  waitingSince: [isJsonObject, 'an object'],
  pending: [areItems, 'an array of items with `toolCallId`, `fingerprint` and `place`'],
  kept: [(kept = {}) => areTexts(kept), 'an object of strings'],
  records: [(records = {}) => areLists(records), 'an object of arrays'],
}

/** Copies the state. Throws `invalid_option` if it is invalid. The error names the first part that is missing or wrong. */
export function readState(state: unknown): RunState {
  const expected = "the `state` of a paused run's result"
  if (!isJsonObject(state)) throw new InvalidOptionError('state', expected, state)
  if ('stopReason' in state && !('version' in state)) {
    throw new InvalidOptionError('state', `${expected}, not the whole result: pass \`result.state\`, which only a paused run has`)
  }
  const { version } = state
  if (typeof version === 'number' && version > stateVersion)
    throw new InvalidOptionError('state.version', `${stateVersion} or older, got \`${version}\`: a newer toolloop has made it`)
  for (const [name, [isValid, words]] of Object.entries(stateParts)) {
    const part = state[name]
    // The message leaves out the value, because it may hold a conversation.
    if (!isValid(part))
      throw new InvalidOptionError(
        `state.${name}`,
        `${words}, as in ${expected}`,
        typeof part === 'object' || typeof part === 'string' ? jsonType(part) : part,
      )
  }
  return copyAsJson(state) as never
}

function areItems(pending: unknown): boolean {
  return (
    Array.isArray(pending) &&
    pending.every((item) => isJsonObject(item) && isText(item.toolCallId) && isText(item.fingerprint) && isText(item.place))
  )
}

function areTexts(kept: unknown): boolean {
  return isJsonObject(kept) && Object.values(kept).every((text) => typeof text === 'string')
}

function areLists(records: unknown): boolean {
  return isJsonObject(records) && Object.values(records).every(Array.isArray)
}

export interface DecisionTerms {
  registry: ToolSet
  logger: Logger
  /** How long the run waits for a decision, in milliseconds. Default: forever. */
  timeoutMs?: number | undefined
}

/**
 * Adds the decisions that apply to the state. Other decisions are skipped and logged, such as late decisions or decisions on other
 * arguments. Rejects with `invalid_option` for an invalid decision, before the state changes.
 */
export async function decide(
  state: RunState,
  decisions: readonly Decision[],
  { registry, logger, timeoutMs = Number.POSITIVE_INFINITY }: DecisionTerms,
): Promise<DecidedState> {
  if (!Array.isArray(decisions)) throw new InvalidOptionError('decisions', 'an array', decisions)
  const now = processClock.now()
  const taken: RunState['decisions'] = {}
  const itemOf = itemFinder(state.pending)
  for (const [at, decision] of decisions.entries()) {
    const where = `decisions[${at}]`
    checkNamesItem(decision, where)
    const item = itemOf(decision)
    const isOpen = item !== undefined && !Object.hasOwn(taken, item.place) && isWhole(state.runId, item)
    if (!isOpen || now - (state.waitingSince[item.place] ?? 0) >= timeoutMs) {
      logger.warn({ runId: state.runId, toolCallId: decision.toolCallId }, 'a decision was skipped: no call waits for it')
      continue
    }
    taken[item.place] = (await verdictIn(decision, item, { registry, where })) as Json
  }
  return { ...state, decisions: { ...state.decisions, ...taken }, asOf: now }
}

/** Whether a resumed run can continue: a decision was made on an item, or an item has waited too long. */
export function continues({ pending, decisions, waitingSince, asOf }: DecidedState, timeoutMs: number = Number.POSITIVE_INFINITY): boolean {
  return pending.some(({ place }) => Object.hasOwn(decisions, place) || asOf - (waitingSince[place] ?? asOf) >= timeoutMs)
}
