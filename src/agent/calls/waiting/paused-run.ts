import { InvalidOptionError } from '../../../core/errors.ts'
import { copyAsJson, jsonType } from '../../../core/json.ts'
import type { Logger } from '../../../core/logger.ts'
import { isJsonObject, type Json } from '../../../core/messages.ts'
import { processClock } from '../../../core/time/process-clock.ts'
import type { ToolSet } from '../../../tools/registry.ts'
import { checkNamesItem, type Decision, fingerprintOf } from '../../decisions/decisions.ts'
import type { PendingItem, RunState } from '../../types/result.ts'
import { verdictIn } from './verdict.ts'

const isText = (value: unknown): boolean => typeof value === 'string'

/** What each part of a state has to be. */
const stateParts: Readonly<Record<keyof RunState, readonly [isValid: (part: unknown) => boolean, expected: string]>> = {
  version: [(version) => version === 1, '1'],
  runId: [isText, 'a string'],
  input: [isJsonObject, 'an object'],
  steps: [isJsonObject, 'an object'],
  decisions: [isJsonObject, 'an object'],
  waitingSince: [isJsonObject, 'an object'],
  pending: [areItems, 'an array of items with `toolCallId`, `fingerprint` and `place`'],
  kept: [(kept = {}) => areTexts(kept), 'an object of strings'],
  records: [(records = {}) => areLists(records), 'an object of arrays'],
}

/** A copy of the state. Throws `invalid_option`, which names the first part that is missing or wrong, for anything else. */
export function readState(state: unknown): RunState {
  const expected = "the `state` of a paused run's result"
  if (!isJsonObject(state)) throw new InvalidOptionError('state', expected, state)
  if ('stopReason' in state && !('version' in state)) {
    throw new InvalidOptionError('state', `${expected}, not the whole result: pass \`result.state\`, which only a paused run has`)
  }
  for (const [name, [isValid, words]] of Object.entries(stateParts)) {
    const part = state[name]
    // Its value stays out of the message, as a conversation is in it.
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

/** A state that is about to be gone on from. Whether something has waited too long is judged once, by the time of the decisions. */
export interface DecidedState extends RunState {
  asOf: number
}

export interface DecisionTerms {
  registry: ToolSet
  logger: Logger
  /** How long a decision is waited for, in milliseconds. Default: for ever. */
  timeoutMs?: number | undefined
}

/**
 * The state with the decisions that are for it. One on a call that doesn't wait, was made for other arguments or another run, or comes
 * after an earlier one or too late, is passed over and logged. Rejects with `invalid_option` for one that can't be carried out; nothing has
 * happened then.
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
      logger.warn({ runId: state.runId, toolCallId: decision.toolCallId }, 'a decision was passed over: no call waits for it')
      continue
    }
    taken[item.place] = (await verdictIn(decision, item, { registry, where })) as Json
  }
  return { ...state, decisions: { ...state.decisions, ...taken }, asOf: now }
}

/** Finds the item that a decision is made for. Ids of calls are unique within a run, but not among the runs inside its calls: fingerprints are. */
export function itemFinder<Item>(pending: readonly Item[]): (decision: Named) => Item | undefined {
  const items = new Map<string, Item>()
  const keyOf = ({ toolCallId, fingerprint }: Named): string => JSON.stringify([toolCallId, fingerprint])
  for (const item of pending) if (isJsonObject(item) && !items.has(keyOf(item))) items.set(keyOf(item), item)
  return (decision) => items.get(keyOf(decision))
}

/** What names an item: those that come from outside may have anything there. */
interface Named {
  toolCallId?: unknown
  fingerprint?: unknown
}

/** Whether the fingerprint is that of the item as it stands: a stored state may have been changed. An agent inside a call checks its own. */
export function isWhole(runId: string, item: PendingItem): boolean {
  return item.path !== undefined || item.fingerprint === fingerprintOf(runId, item)
}

/** Whether resuming carries anything out: something was decided, or has waited for longer than it may. */
export function continues({ pending, decisions, waitingSince, asOf }: DecidedState, timeoutMs: number = Number.POSITIVE_INFINITY): boolean {
  return pending.some(({ place }) => Object.hasOwn(decisions, place) || asOf - (waitingSince[place] ?? asOf) >= timeoutMs)
}
