import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { hashOf } from '../../core/digest.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { MadeDecision } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { nobodyDecided } from '../run-texts.ts'
import type { PendingItem } from '../types/result.ts'

/** A decision on a pending item. Make it from the item: `{ ...item, approved: true }`. The decision is plain JSON. */
export type Decision = Pick<PendingItem, 'toolCallId' | 'fingerprint'> & Verdict

/** What was decided. The fields depend on the kind of the pending item. */
export type Verdict = Signature &
  /** The call runs. `args` replaces its arguments. `remember`: the same call needs no further approval. */
  (
    | { approved: true; args?: JsonObject; remember?: boolean }
    /**
     * The call does not run, and the model is told why. For a question: nobody answers. For a client tool: the app does not run the call.
     */
    | { approved: false; reason?: string }
    /** The return value of a client tool, or its failure. */
    | { result: Json; isError?: boolean }
    /** The answer to a question. The tool is called again, with the answer as `ctx.answer`. */
    | { answer: Json }
  )

/** The decision that applies if nobody decides in time. */
export const undecided: Verdict = { approved: false, reason: nobodyDecided }

/** The author of a decision, and a remark. Both are recorded with the decision, and never sent to the model. */
export type Signature = {
  /** Who made the decision, as a JSON value. */
  by?: Json
  /** A remark on the decision. */
  note?: string
}

/** Identifies one call of one run together with its arguments. A decision made for another call has another fingerprint. */
export function fingerprintOf(runId: string, { toolCallId, tool, args }: Pick<PendingItem, 'toolCallId' | 'tool' | 'args'>): string {
  return hashOf([runId, toolCallId, tool, args])
}

/** Identifies a tool and its arguments in any run. A remembered approval applies to all calls with the same key. */
export function approvalKey(tool: string, args: JsonObject): string {
  return hashOf([tool, args])
}

const itemNames: OptionNames<PendingItem> = {
  kind: true,
  toolCallId: true,
  tool: true,
  args: true,
  effect: true,
  said: true,
  about: true,
  schema: true,
  fingerprint: true,
  place: true,
  path: true,
  secrets: true,
  script: true,
  plan: true,
}

/**
 * The fields of a decision. They include the fields of the pending item, because a decision is made from the item: `{ ...item, approved:
 * true }`.
 */
const decisionNames: Readonly<Record<string, unknown>> = {
  ...itemNames,
  approved: true,
  reason: true,
  remember: true,
  result: true,
  isError: true,
  answer: true,
  by: true,
  note: true,
}

/** The fields of a verdict that are allowed for only one kind of item, with that kind. */
const kindOf: ReadonlyMap<string, PendingItem['kind']> = new Map([
  ['remember', 'approval'],
  ['result', 'client_tool'],
  ['isError', 'client_tool'],
  ['answer', 'question'],
])

/** Throws `invalid_option` if a decision has unknown fields, or lacks the fields that identify its pending item. */
export function checkNamesItem(decision: unknown, where: string): void {
  if (!isJsonObject(decision)) throw new InvalidOptionError(where, 'a pending item with a decision', decision)
  checkOptionNames(decision, decisionNames, 'a decision', where)
  for (const name of ['toolCallId', 'fingerprint']) {
    if (typeof decision[name] === 'string') continue
    const from = `the \`${name}\` of an item in \`pending\`: make the decision of the item, \`{ ...item, approved: true }\``
    throw new InvalidOptionError(`${where}.${name}`, from, decision[name])
  }
}

/** Throws `invalid_option` if a decision is malformed or doesn't match the pending item. */
export function checkDecision(decision: unknown, { kind }: Pick<PendingItem, 'kind'>, where: string): void {
  const got = isJsonObject(decision) ? decision : {}
  const { approved, args, reason } = got
  for (const [name, of] of kindOf) {
    if (got[name] !== undefined && kind !== of)
      throw new InvalidOptionError(`${where}.${name}`, `absent for an item of kind \`${kind}\``, got[name])
  }
  if (reason !== undefined && typeof reason !== 'string') throw new InvalidOptionError(`${where}.reason`, 'a string', reason)
  if (args !== undefined && !isJsonObject(args)) throw new InvalidOptionError(`${where}.args`, 'an object', args)
  const given = ['result', 'answer'].find((name) => got[name] !== undefined)
  if (approved === false && given !== undefined)
    throw new InvalidOptionError(`${where}.${given}`, 'absent beside `approved: false`', got[given])
  if (approved === false) return
  if ((kind === 'approval' || kind === 'budget') && approved !== true)
    throw new InvalidOptionError(`${where}.approved`, 'true or false', approved)
  if (kind === 'client_tool' && got.result === undefined) {
    throw new InvalidOptionError(where, 'the `result` of the tool, or `approved: false`', decision)
  }
  if (kind === 'question' && got.answer === undefined) throw new InvalidOptionError(where, 'an `answer`, or `approved: false`', decision)
}

/** Returns who decided, to record with the decision. Throws `invalid_option` for a `note` that is not a string. */
export function signatureOf({ by, note }: { by?: unknown; note?: unknown }, where: string): Signature {
  if (note !== undefined && typeof note !== 'string') throw new InvalidOptionError(`${where}.note`, 'a string', note)
  return { ...(by === undefined ? {} : { by: toJson(by) }), ...withoutUndefined({ note }) }
}

/** Returns the decision to record with the run. Leaves out answers and results, which are stored elsewhere. */
export function madeDecision({ kind, path }: Pick<PendingItem, 'kind' | 'path'>, verdict: Verdict, earlier?: MadeDecision): MadeDecision {
  const { by, note } = verdict
  const made: MadeDecision = { kind, approved: !('approved' in verdict) || verdict.approved }
  if ('reason' in verdict && verdict.reason !== undefined) made.reason = verdict.reason
  if (by !== undefined) made.by = by
  if (note !== undefined) made.note = note
  if (path !== undefined) made.path = path
  if (earlier !== undefined) {
    const { earlier: before = [], ...last } = earlier
    made.earlier = [...before, last]
  }
  return made
}
