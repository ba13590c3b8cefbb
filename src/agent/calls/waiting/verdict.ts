import pTimeout from 'p-timeout'
import { checkOptionNames, type OptionNames } from '../../../core/check-options.ts'
import { InvalidOptionError } from '../../../core/errors.ts'
import { Event, type EventPlace } from '../../../core/events.ts'
import { copyAsJson, isDeepEqual, toJson } from '../../../core/json.ts'
import { copyJson, isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../../core/messages.ts'
import { secretTexts } from '../../../core/redaction/redact.ts'
import { type ArgumentTerms, type PreparedCall, prepareArguments } from '../../../tools/arguments.ts'
import { cancelledText, loggedFailure } from '../../../tools/call-texts.ts'
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
import { approvalFailed, otherArgumentsNote, refusedText, unansweredText } from '../../run-texts.ts'
import { approveStep, askedStep, iterationOf, iterationStep, madeStep } from '../../step-keys.ts'
import type { Execution } from '../../types/execution.ts'
import type { ApprovalDecision } from '../../types/options.ts'
import type { FinishedCall, PlannedCall } from '../../types/recorded.ts'
import type { PendingItem } from '../../types/result.ts'
import type { CallWork } from '../../types/running-call.ts'

/** An item and the decision on it, made by `approve` or by the caller of `resume`. */
export interface DecidedItem {
  item: PendingItem
  verdict: Verdict
}

interface VerdictTerms {
  registry: ToolSet
  /** The name of the option that supplied the decision, for error messages. */
  where: string
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

/** The arguments that replace the arguments of the call. Undefined if the decision does not change them. */
function changedArguments(decision: Decision, item: PendingItem): JsonObject | undefined {
  const given = 'args' in decision ? decision.args : undefined
  const meant = given === undefined ? undefined : withHidden(given, item)
  return meant === undefined || isDeepEqual(meant, item.args) ? undefined : meant
}

/** Returns the fields of the decision that apply to this kind of item. Fields that were copied from the item are left out. */
function readByKind(decision: Decision, { kind }: PendingItem, args: JsonObject | undefined): Verdict {
  if ('approved' in decision && !decision.approved) return { approved: false, reason: decision.reason }
  if (kind === 'client_tool' && 'result' in decision)
    return { result: decision.result, ...(decision.isError === true ? { isError: true } : {}) }
  if (kind === 'question' && 'answer' in decision) return { answer: decision.answer }
  const isRemembered = 'remember' in decision && decision.remember === true
  return { approved: true, args, ...(isRemembered ? { remember: true } : {}) }
}

/** Maximum number of characters of the model's text that an item quotes. */
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

/** Returns the end of a long text, where models announce their calls. Undefined for an empty text. */
function endOf(text: string): string | undefined {
  if (text === '') return undefined
  return text.length <= mostSaid ? text : `…${text.slice(-mostSaid).toWellFormed()}`
}

/** Remembers an approval for later calls. A nested agent remembers its own approvals. */
function remember({ remembered }: Pick<LoopState, 'remembered'>, { item, verdict }: DecidedItem): void {
  const isRemembered = 'approved' in verdict && verdict.approved && verdict.remember === true
  if (isRemembered && item.path === undefined) remembered.add(approvalKey(item.tool, item.args))
}

interface DecidedCall {
  call: PlannedCall
  decided: readonly DecidedItem[]
  question?: FinishedCall['question']
}

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

/** The decision on an item of a nested agent, in the form that the nested agent gets. */
function decisionWithin({ item: { toolCallId, fingerprint }, verdict }: DecidedItem): JsonObject {
  return { toolCallId, fingerprint, ...(verdict as JsonObject) }
}

function withArguments(run: RunContext, call: PlannedCall, args: JsonObject): PlannedCall {
  run.prepared.delete(call.id)
  // The plan's decision is removed, because it was about other arguments.
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

/** Returns the decision on an item. Waits for the decision if this process can wait. Otherwise returns undefined for an undecided item. */
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
function tellDecision(run: RunContext, { item, verdict }: DecidedItem, tags: StepTags): void {
  const { place, toolCallId, tool } = item
  run.events.emit(Event.DECISION_MADE, { ...madeDecision(item, verdict), toolCallId, tool, place }, metaOf(item, tags))
}

/** For an item of a nested agent, the event names the call that runs the agent. */
function metaOf({ place, path, toolCallId }: PendingItem, tags: StepTags): EventPlace {
  return { iteration: iterationOf(place), toolCallId: path?.[0]?.toolCallId ?? toolCallId, ...tags }
}

/** Whether the run has an `approve`. The answer is recorded, because a resumed run must not ask a new `approve` about earlier calls. */
export function hasApprover({ durable, run }: Execution, iteration: number): Promise<boolean> {
  return durable.step(iterationStep(iteration, 'approver'), async () => run.settings.approve !== undefined)
}

/**
 * Asks `approve` about each call that needs an approval, one after another, and applies the decisions. `times`: how often calls of this
 * turn have been decided, including this time.
 */
export async function decideApprovals(
  execution: Execution,
  iteration: number,
  planned: readonly PlannedCall[],
  times: number,
): Promise<readonly PlannedCall[]> {
  const calls: PlannedCall[] = []
  for (const [index, call] of planned.entries()) {
    const place = approveStep(iteration, index, times)
    const isNew = call.approval !== undefined && (times === 1 || call.plan?.ask !== undefined)
    calls.push(isNew ? await decideApproval(execution, call, place) : call)
  }
  return calls
}

/** Returns the decided call: free to run, refused, or still waiting. */
async function decideApproval(execution: Execution, call: PlannedCall, place: string): Promise<PlannedCall> {
  const { durable, run, state } = execution
  const item = itemOf(execution, call, 'approval', place)
  const answer = await durable.step(
    place,
    async () => {
      const verdict = await askApprove(run, item)
      if (verdict !== 'cancelled' && verdict !== 'waits') tellDecision(run, { item, verdict }, tagsOf(durable, place))
      return verdict
    },
    item,
  )
  if (answer === 'waits') return call
  if (answer === 'cancelled') {
    const { approval: _, ...rest } = call
    return { ...rest, action: 'reject', refusal: { code: 'tool_cancelled', text: cancelledText(call.name) } }
  }
  const decided = { item, verdict: answer }
  remember(state, decided)
  return applyVerdicts(run, { call, decided: [decided] }).call
}

/**
 * Asks `approve` once. Fails closed: if it throws or returns an invalid decision, the call is refused. `cancelled`: the run ended before a
 * decision. `waits`: the run was resumed in a process without `approve`.
 */
async function askApprove(run: RunContext, item: PendingItem): Promise<Verdict | 'cancelled' | 'waits'> {
  const { approve, context } = run.settings
  const { toolCallId, tool: name, args, about, effect, said, script } = item
  if (run.interruption !== undefined) return 'cancelled'
  if (approve === undefined) return 'waits'
  let answer: ApprovalDecision | undefined
  try {
    const { runId, metadata, signal } = run
    const call = { toolCallId, tool: name, args: copyJson(args), about, effect, said, script }
    const request = { ...call, runId, context: context as never, metadata, signal }
    answer = await run.untilInterrupted(Promise.resolve(approve(request)))
    if (run.interruption !== undefined) return 'cancelled'
    return await verdictIn({ ...item, ...decisionOf(answer) }, item, {
      registry: run.agent.registry,
      where: 'approve',
      arguments: { timeoutMs: run.limits.toolTimeoutMs, signal },
    })
  } catch (error) {
    const tool = run.agent.registry.get(name)
    // The error may quote the call's arguments, which can be secret.
    const failure = tool === undefined ? {} : loggedFailure({ tool, args: { asked: args, answer: toJson(answer) } }, error)
    run.logger.error({ runId: run.runId, tool: name, ...failure }, 'approve threw; the call is refused')
    return { approved: false, reason: approvalFailed }
  }
}

const approvalNames: OptionNames<Exclude<ApprovalDecision, boolean>> = {
  approved: true,
  reason: true,
  args: true,
  remember: true,
  by: true,
  note: true,
}

/** Converts the return value of `approve` to a decision. Throws `invalid_option` for a decision with unknown fields. */
function decisionOf(answer: ApprovalDecision | undefined): Exclude<ApprovalDecision, boolean> {
  if (typeof answer !== 'object' || answer === null) return { approved: answer === true }
  checkOptionNames(answer, approvalNames, 'an approval', 'approve')
  return answer
}

/**
 * Whether a call has to be approved. Fails closed: if the tool's `approval` function throws or takes longer than `toolTimeoutMs`, the call
 * needs an approval.
 */
export async function needsApproval(
  run: RunContext,
  remembered: ReadonlySet<string>,
  { tool, args }: PreparedCall,
): Promise<PlannedCall['approval']> {
  if (tool.approval === undefined || tool.approval === false || isRemembered(tool.name, args, remembered)) return undefined
  if (typeof tool.approval !== 'function') return true
  try {
    const { metadata, settings } = run
    const place = { context: settings.context as never, metadata }
    const asked = run.untilInterrupted(Promise.resolve(tool.approval(structuredClone(args), place)))
    const needed = await pTimeout(asked, { milliseconds: run.limits.toolTimeoutMs })
    if (typeof needed === 'object' && needed !== null && 'about' in needed) return { about: toJson(needed.about) }
    return needed === false ? undefined : true
  } catch (error) {
    const failure = loggedFailure({ tool, args }, error)
    run.logger.error({ runId: run.runId, tool: tool.name, ...failure }, 'approval predicate failed; the call needs an approval')
    return true
  }
}

/**
 * Whether an approval of this call is remembered. Hashing large arguments takes long, so they are hashed only if any approval is
 * remembered.
 */
function isRemembered(tool: string, args: JsonObject, remembered: ReadonlySet<string>): boolean {
  return remembered.size > 0 && remembered.has(approvalKey(tool, args))
}

/**
 * Returns a function that finds the item of a decision. The id of a call is unique only within its run, so fingerprints of nested runs are
 * compared too.
 */
export function itemFinder<Item>(pending: readonly Item[]): (decision: Named) => Item | undefined {
  const items = new Map<string, Item>()
  const keyOf = ({ toolCallId, fingerprint }: Named): string => JSON.stringify([toolCallId, fingerprint])
  for (const item of pending) if (isJsonObject(item) && !items.has(keyOf(item))) items.set(keyOf(item), item)
  return (decision) => items.get(keyOf(decision))
}

/** The fields that identify an item. The caller supplies them, so they may have any type. */
interface Named {
  toolCallId?: unknown
  fingerprint?: unknown
}

/** Whether the fingerprint matches the item. It does not match if a stored state was modified. Nested agents check their own items. */
export function isWhole(runId: string, item: PendingItem): boolean {
  return item.path !== undefined || item.fingerprint === fingerprintOf(runId, item)
}

/** Emits each item that waits and each decision exactly once. */
export class DecisionDesk {
  readonly #execution: Execution
  readonly #opened = new Set<string>()
  readonly #decided = new Map<string, DecidedItem>()

  constructor(execution: Execution) {
    this.#execution = execution
  }

  async open(item: PendingItem): Promise<void> {
    if (this.#opened.has(item.place)) return
    this.#opened.add(item.place)
    await publishItem(this.#execution, item)
  }

  async decided(items: readonly PendingItem[]): Promise<DecidedItem[]> {
    const decided: DecidedItem[] = []
    for (const item of items) {
      const one = this.#decided.get(item.place) ?? (await this.#look(item))
      if (one !== undefined) decided.push(one)
    }
    return decided
  }

  async #look(item: PendingItem): Promise<DecidedItem | undefined> {
    const verdict = await askDecision(this.#execution, item)
    if (verdict === undefined) return undefined
    const one = { item, verdict }
    this.#decided.set(item.place, one)
    await publishDecision(this.#execution, one)
    remember(this.#execution.state, one)
    return one
  }
}
