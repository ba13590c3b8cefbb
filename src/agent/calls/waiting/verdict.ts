import { InvalidOptionError } from '../../../core/errors.ts'
import { Event, type EventPlace } from '../../../core/events.ts'
import { copyAsJson, isDeepEqual } from '../../../core/json.ts'
import { type Json, type JsonObject, withoutUndefined } from '../../../core/messages.ts'
import { secretTexts } from '../../../core/redaction/redact.ts'
import { type ArgumentTerms, prepareArguments } from '../../../tools/arguments.ts'
import type { ToolSet } from '../../../tools/registry.ts'
import {
  approvalKey,
  checkDecision,
  type Decision,
  fingerprintOf,
  madeDecision,
  signatureOf,
  undecided,
  type Verdict,
} from '../../decisions/decisions.ts'
import type { StepTags } from '../../journal/journal.ts'
import { shownItem, toolsOf, withHidden } from '../../nested/nested-items.ts'
import { type RunContext, tagsOf } from '../../run/run-context.ts'
import type { LoopState } from '../../run/run-state.ts'
import { askedStep, iterationOf, madeStep } from '../../step-keys.ts'
import { otherArgumentsNote, refusedText, unansweredText } from '../../told.ts'
import type { Execution } from '../../types/execution.ts'
import type { FinishedCall, PlannedCall } from '../../types/recorded.ts'
import type { PendingItem } from '../../types/result.ts'
import type { CallWork } from '../../types/running-call.ts'

/** An item and the decision on it, by `approve` or by the caller of `resume`. */
export interface DecidedItem {
  item: PendingItem
  verdict: Verdict
}

interface VerdictTerms {
  registry: ToolSet
  /** The option with the decision, for messages. */
  where: string
  /** Used to check changed arguments. */
  arguments?: ArgumentTerms
}

/** Reads the decision on an item. Rejects with `invalid_option` if it can't be carried out. */
export async function verdictIn(decision: Decision, item: PendingItem, terms: VerdictTerms): Promise<Verdict> {
  const { registry, where } = terms
  checkDecision(decision, item, where)
  const args = changedArguments(decision, item)
  const tool = args === undefined ? undefined : toolsOf(item, registry)?.get(item.tool)
  const prepared = tool === undefined ? undefined : await prepareArguments(tool, JSON.stringify(args), terms.arguments)
  if (prepared?.ok === false)
    throw new InvalidOptionError(`${where}.args`, `arguments of \`${item.tool}\` (${prepared.problem.message})`, args)
  return copyAsJson({ ...readByKind(decision, item, args), ...signatureOf(decision, where) })
}

/** The arguments that replace those of the call. Undefined if they were not changed. */
function changedArguments(decision: Decision, item: PendingItem): JsonObject | undefined {
  const given = 'args' in decision ? decision.args : undefined
  const meant = given === undefined ? undefined : withHidden(given, item)
  return meant === undefined || isDeepEqual(meant, item.args) ? undefined : meant
}

/** Leaves out the fields that were only copied from the pending item. */
function readByKind(decision: Decision, { kind }: PendingItem, args: JsonObject | undefined): Verdict {
  if ('approved' in decision && !decision.approved) return { approved: false, reason: decision.reason }
  if (kind === 'client_tool' && 'result' in decision)
    return { result: decision.result, ...(decision.isError === true ? { isError: true } : {}) }
  if (kind === 'question' && 'answer' in decision) return { answer: decision.answer }
  const isRemembered = 'remember' in decision && decision.remember === true
  return { approved: true, args, ...(isRemembered ? { remember: true } : {}) }
}

/** The largest number of characters of the model's text that an item quotes. */
const mostSaid = 300

/** Describes a call that waits for a decision. */
export function itemOf(
  { run, state }: Pick<Execution, 'run' | 'state'>,
  { id, name, args = {}, effect, approval, intent, plan, script }: PlannedCall,
  kind: PendingItem['kind'],
  place: string,
): PendingItem {
  const named = { toolCallId: id, tool: name, args }
  const { secrets = [] } = run.agent.registry.get(name) ?? {}
  const hides = secrets.length === 0 ? {} : { secrets: [...secrets] }
  const shows = approval ?? intent
  const { about } = plan?.ask ?? (typeof shows === 'object' ? shows : {})
  const said = script === undefined ? endOf(state.text.trim()) : undefined
  const fingerprint = fingerprintOf(run.runId, named)
  return { kind, ...named, effect, fingerprint, place, ...hides, ...withoutUndefined({ said, about, script }) }
}

/** The end of a long text, because what a model says last is closest to its calls. Undefined if there is none. */
function endOf(text: string): string | undefined {
  if (text === '') return undefined
  return text.length <= mostSaid ? text : `…${text.slice(-mostSaid).toWellFormed()}`
}

/** Remembers an approval for later calls. A nested agent remembers its own. */
export function remember({ remembered }: Pick<LoopState, 'remembered'>, { item, verdict }: DecidedItem): void {
  const isRemembered = 'approved' in verdict && verdict.approved && verdict.remember === true
  if (isRemembered && item.path === undefined) remembered.add(approvalKey(item.tool, item.args))
}

/** A call and the decisions on its items. */
interface DecidedCall {
  call: PlannedCall
  decided: readonly DecidedItem[]
  /** Its tool's question. */
  question?: FinishedCall['question']
}

/** Applies the decisions: the call runs, runs with other arguments, is answered, or is refused. */
export function applyVerdicts(run: RunContext, { call, decided, question }: DecidedCall): Pick<CallWork, 'call' | 'answered' | 'result'> {
  const { approval: _, intent: __, ...free }: PlannedCall = call
  for (const { item, verdict } of decided) free.decision = madeDecision(item, verdict, free.decision)
  const asked = question?.about
  const within = decided.filter(({ item }) => item.path !== undefined)
  if (within.length > 0) return { call: free, answered: { answer: { decisions: within.map(decisionWithin) }, asked } }
  const [only] = decided
  if (only === undefined) return { call: free }
  const { item, verdict } = only
  if (item.kind === 'client_tool' && 'result' in verdict)
    return { call: free, result: { value: verdict.result, isError: verdict.isError === true } }
  if (item.kind === 'question' && 'answer' in verdict) return { call: free, answered: { answer: verdict.answer, asked } }
  if ('approved' in verdict && verdict.approved) return { call: verdict.args === undefined ? free : withArguments(run, free, verdict.args) }
  const reason = 'reason' in verdict ? verdict.reason : undefined
  const text = (item.kind === 'question' ? unansweredText : refusedText)(call.name, reason)
  return { call: { ...free, action: 'reject', refusal: { code: 'tool_denied', text } } }
}

/** The decision on an item of a nested agent, for that agent. */
function decisionWithin({ item: { toolCallId, fingerprint }, verdict }: DecidedItem): JsonObject {
  return { toolCallId, fingerprint, ...(verdict as JsonObject) }
}

function withArguments(run: RunContext, call: PlannedCall, args: JsonObject): PlannedCall {
  run.prepared.delete(call.id)
  // The plan was asked about other arguments.
  const { asText: _, plan: __, ...edited } = call
  const repairs = [...(call.repairs ?? []), 'arguments changed by whoever approved the call']
  const edits = (call.edits ?? 0) + 1
  return { ...edited, args, rawArguments: JSON.stringify(args), repairs, note: otherArgumentsNote(args), edits }
}

export async function publishItem({ durable, run }: Execution, item: PendingItem): Promise<void> {
  const key = askedStep(item.place)
  await durable.step(key, async () => {
    run.events.hide(secretTexts(item.args, new Set(item.secrets)))
    run.events.emit(Event.DECISION_NEEDED, shownItem(item), metaOf(item, tagsOf(durable, key)))
    return null
  })
}

/** Waits for a decision. Undefined if there is none, and this process can't wait. */
export async function askDecision({ durable, run }: Execution, item: PendingItem): Promise<Verdict | undefined> {
  const { decisionTimeoutMs: timeoutMs } = run.settings
  const about = (durable.survivesCrashes ? copyAsJson(item) : item) as never as Json
  const verdict: Verdict | null | undefined = await durable.wait<never>(item.place, { about, timeoutMs })
  return verdict === null ? undecided : verdict
}

export async function publishDecision({ durable, run }: Execution, decided: DecidedItem): Promise<void> {
  const key = madeStep(decided.item.place)
  await durable.step(key, async () => {
    tellDecision(run, decided, tagsOf(durable, key))
    return null
  })
}

/** Emits a decision, no matter who made it. Called inside a step. */
export function tellDecision(run: RunContext, { item, verdict }: DecidedItem, tags: StepTags): void {
  const { place, toolCallId, tool } = item
  run.events.emit(Event.DECISION_MADE, { ...madeDecision(item, verdict), toolCallId, tool, place }, metaOf(item, tags))
}

/** The meta names the run's own call. The payload has the call of a nested agent. */
function metaOf({ place, path, toolCallId }: PendingItem, tags: StepTags): EventPlace {
  return { iteration: iterationOf(place), toolCallId: path?.[0]?.toolCallId ?? toolCallId, ...tags }
}
