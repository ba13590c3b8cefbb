import { isDeepStrictEqual } from 'node:util'
import { AgentRunner } from '../agent/agent-runner.ts'
import { RunControl } from '../agent/conversation/run-input.ts'
import type { Decision } from '../agent/decisions/decisions.ts'
import type { RecordedScope } from '../agent/observe/recorder.ts'
import type { OutputSchema } from '../agent/output/output.ts'
import { inputFromJson } from '../agent/runner/durable-run.ts'
import { isApproval, iterationOf, iterationStep } from '../agent/step-keys.ts'
import type { ApprovalDecision, PendingItem, RunOptions, RunResult, RunSettings } from '../agent/types/options.ts'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError, messageOf } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import { isJsonObject, type JsonObject, withoutUndefined } from '../core/messages.ts'
import { REDACTED } from '../core/redaction/spans.ts'
import type { ChatModel } from '../models/chat-model.ts'
import { type AnyModel, openModel } from '../models/create-model.ts'
import type { ToolSet } from '../tools/registry.ts'
import type { AnyTool, ToolContext } from '../tools/tool.ts'
import { type Difference, firstDifferenceOfRuns } from './difference.ts'
import { openRecording } from './file/recording-file.ts'
import {
  callsOf,
  decisionsOf,
  isCall,
  isDecision,
  type RecordedCall,
  type RecordedDecision,
  type RecordedRun,
  type RecordedSteering,
  type RecordedStep,
  type RunRecording,
  requestsOf,
  withSteps,
} from './format.ts'
import { RecordedModel } from './recorded-model.ts'
import { RecordedCalls } from './recorded-tools.ts'
import { ordered, RecordingRecorder } from './recorder.ts'
import { type RecordingSecrets, secretsOf } from './secrets.ts'

/** Options of `replayRun`, such as replacements for the recorded model and tools. */
export interface ReplayOptions {
  /**
   * A model to use instead of the recorded responses. Only the text and the calls of this model's responses are compared with the
   * recording.
   */
  model?: AnyModel
  /** The tools to use instead of the recorded tools. */
  tools?: readonly AnyTool[] | ToolSet
  /** The instructions to use instead of the recorded instructions. */
  instructions?: string
  /** The texts that are known to be secret. They are redacted before anything is compared. */
  secrets?: Iterable<string>
  /** The logger of the replay. Default: nothing is logged. */
  logger?: Logger
  signal?: AbortSignal
}

const optionNames: OptionNames<ReplayOptions> = { model: true, tools: true, instructions: true, secrets: true, logger: true, signal: true }

/** The result of a replay. */
export interface Replay {
  /**
   * The first difference from the recording. Undefined if the replay does not differ. The replay ends at the first difference, unless only
   * the wording of a live model differs.
   */
  difference: Difference | undefined
  /** The recording of the replay. */
  recording: RunRecording
  result: RunResult<unknown>
}

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/**
 * Replays a recorded run, with the responses, results and decisions of the recording. Calls no model and no tool, except those passed in
 * `options`. Takes a recording or its file. A recording does not contain hooks, guardrails and other code (`given.code` lists what was left
 * out). To replay with your own code, use a runner with `replayModel` and `replayTools`. Rejects with `invalid_option` if the argument is
 * not a recording, or if the recording is incomplete.
 */
export async function replayRun(recorded: RunRecording | string | URL, options: ReplayOptions = {}): Promise<Replay> {
  checkOptionNames(options, optionNames, '`replayRun`')
  const known = secretsOf(options.secrets)
  const { recording, secrets } = openRecording(recorded, known)
  const partial = partialOf(recording)
  if (partial !== undefined) throw new InvalidOptionError('recording', `one of a whole run (${partial})`)
  const { model: live, signal } = options
  const scopes = new Map<string, RecordedScope>()
  const begun = new Map<string, () => void>()
  const hidden = hasHiddenChange(recording) ? [changedSecret] : []
  secrets.add(hidden)
  const recorder = new RecordingRecorder({
    secrets: [...known, ...hidden],
    begun: (run) => {
      scopes.set(run.runId, run)
      begun.get(run.runId)?.()
    },
  })
  const model = live === undefined ? undefined : openModel(live)
  const { tools, instructions } = options
  const given = withoutUndefined({ tools, instructions })
  const parts: Parts = { ...given, model, logger: options.logger ?? silent, scopes, begun, secrets }
  const begin = { recorder, ...withoutUndefined({ signal }) }
  const run = new PlayedRun(recording, recording.runId, parts)
  let result = await run.start(begin)
  while (run.canResume) result = await run.resume(begin)
  const played = recorder.recording()
  if (played === undefined) throw new InvalidOptionError('recording', 'of a run that can be begun')
  const again = withSettings(played, recording)
  return { difference: firstDifferenceOfRuns(recording, again, { liveModel: model !== undefined }), recording: again, result }
}

/**
 * Returns the reason why the recording of the run, or of a run inside it, is incomplete. Returns undefined if the recording is complete.
 */
function partialOf(run: RecordedRun): string | undefined {
  const inside = callsOf(run).flatMap(({ runs = [] }) => runs)
  return run.given.partial ?? inside.map(partialOf).find((partial) => partial !== undefined)
}

interface Parts extends Pick<ReplayOptions, 'tools' | 'instructions'> {
  model: ChatModel | undefined
  logger: Logger
  /** The runs that have been started, by id. */
  scopes: ReadonlyMap<string, RecordedScope>
  /** Functions to call when a run has started, by the id of the run. */
  begun: Map<string, () => void>
  secrets: RecordingSecrets
}

type Begin = Pick<RunOptions, 'recorder' | 'parent' | 'signal'>

/** A recorded run that is being replayed with its recorded decisions. */
class PlayedRun {
  readonly #recorded: RecordedRun
  readonly #runId: string
  readonly #parts: Parts
  readonly #runner: AgentRunner
  readonly #options: Pick<RunOptions, 'control'> & { output?: OutputSchema }
  /** The step keys of the decisions that have not been replayed yet. */
  readonly #undecided: Set<string>
  /** The runs inside calls, by the id of the call. */
  readonly #nested = new Map<string, PlayedRun[]>()
  #result: RunResult<unknown> | undefined

  constructor(recorded: RecordedRun, runId: string, parts: Parts) {
    this.#recorded = recorded
    this.#runId = runId
    this.#parts = parts
    const { given, result, steps } = recorded
    const requests = requestsOf(recorded)
    const interrupt = (why: 'aborted' | 'deadline') => parts.scopes.get(runId)?.interrupt(why)
    const ending = result?.stopReason === 'aborted' || result?.stopReason === 'deadline' ? result.stopReason : undefined
    const play = { secrets: parts.secrets, interrupt, ending }
    const played = new RecordedModel(requests, given.model, play)
    const calls = new RecordedCalls([recorded], play, (call, ctx) => this.#playRunsIn(call, ctx))
    const model = parts.model ?? played
    const instructions = parts.instructions ?? given.instructions
    try {
      this.#runner = new AgentRunner({
        ...settingsOf(recorded),
        ...(given.approve === true ? { approve: ({ toolCallId }: { toolCallId: string }) => approvalOf(recorded, toolCallId) } : {}),
        ...withoutUndefined({ instructions }),
        model,
        tools: parts.tools ?? given.tools.map((tool) => handingOver(calls, tool, model, played)),
        logger: parts.logger,
      })
    } catch (error) {
      checkSettings(recorded)
      throw error
    }
    this.#options = { control: new RecordedControl(played, steps), ...withoutUndefined({ output: given.output }) }
    this.#undecided = new Set(Object.keys(steps).filter((key) => isDecision(steps[key])))
    if (requests.length === 0) parts.begun.set(runId, () => played.endIfOver())
  }

  get canResume(): boolean {
    return this.#result?.stopReason === 'paused' && this.#result.pending.some(({ place }) => this.#undecided.has(place))
  }

  async start(begin: Begin): Promise<RunResult<unknown>> {
    const { messages, earlier } = this.#recorded.given
    const conversation = { messages: messages.slice(0, earlier), runId: this.#runId }
    this.#result = await this.#runner.run(messages.slice(earlier), { ...begin, ...this.#options, ...conversation })
    return this.#result
  }

  async resume(begin: Begin): Promise<RunResult<unknown>> {
    const { state, pending = [] } = this.#result ?? {}
    const decided = decidedFirst(
      this.#recorded,
      pending.filter(({ place }) => this.#undecided.has(place)),
    )
    for (const { place } of decided) this.#undecided.delete(place)
    const decisions = decided.map((item) => decisionOn(this.#recorded, item))
    const options = { ...begin, ...this.#options, decisions, claim: () => true }
    this.#result = await this.#runner.resume(state ?? this.#runId, options)
    return this.#result
  }

  /** Replays the runs inside a call. If the call is repeated, resumes its paused runs. */
  async #playRunsIn({ id, runs = [] }: RecordedCall, ctx: ToolContext): Promise<void> {
    const begun = this.#nested.get(id)
    if (begun !== undefined) for (const run of begun) if (run.canResume) await run.resume({ parent: ctx })
    if (begun !== undefined || runs.length === 0) return
    const { instructions: _, tools: __, ...parts } = this.#parts
    const played = runs.map((run) => new PlayedRun(run, `run_${crypto.randomUUID()}`, parts))
    this.#nested.set(id, played)
    for (const run of played) await run.start({ parent: ctx })
  }
}

/**
 * Returns the pending items that were decided next in the recorded run. The items of a nested agent may have been decided together or
 * separately.
 */
function decidedFirst(recorded: RecordedRun, pending: readonly PendingItem[]): PendingItem[] {
  return pending.filter((item) => {
    const within = item.path?.[0]?.toolCallId
    const answers = callsOf(recorded).filter(({ id }) => id === within)
    const first = answers.find((call) => pending.some((one) => isDecidedBy(call, one)))
    return first === undefined || isDecidedBy(first, item)
  })
}

/** Whether a call was repeated with a decision on this item. */
function isDecidedBy({ answer }: RecordedCall, { toolCallId, fingerprint }: PendingItem): boolean {
  const decisions = isJsonObject(answer) && Array.isArray(answer.decisions) ? answer.decisions.filter(isJsonObject) : []
  return decisions.some((one) => one.toolCallId === toolCallId && one.fingerprint === fingerprint)
}

function decisionOn({ steps }: RecordedRun, item: PendingItem): Decision {
  const { [item.place]: decision } = steps
  return { ...item, ...(isDecision(decision) ? verdictOf(decision) : {}) } as never
}

/**
 * The placeholder for a secret that a decision changed. A recording has the same placeholder for the old and the new secret, so the
 * arguments would seem unchanged.
 */
const changedSecret = REDACTED.toUpperCase()

/**
 * Returns the recorded decision. A recorded decision has `args` only if it changed them. If they equal the original arguments, only a
 * redacted secret was changed.
 */
function verdictOf({ args, verdict }: RecordedDecision): JsonObject {
  if (!isDeepStrictEqual(verdict.args, args)) return verdict
  const changed = JSON.stringify(verdict.args).replaceAll(REDACTED, changedSecret)
  return { ...verdict, args: JSON.parse(changed) as JsonObject }
}

function hasHiddenChange(run: RecordedRun): boolean {
  const isHidden = ({ args, verdict }: RecordedDecision) => isDeepStrictEqual(verdict.args, args)
  return decisionsOf(run).some(isHidden) || callsOf(run).some(({ runs = [] }) => runs.some(hasHiddenChange))
}

/** Returns the decision that `approve` made about a call. If none is recorded, returns a refusal. */
function approvalOf({ steps }: RecordedRun, toolCallId: string): Exclude<ApprovalDecision, boolean> {
  const approvals = Object.keys(steps).filter(isApproval)
  const decision = approvals.map((key) => steps[key]).find((step) => isDecision(step) && step.call === toolCallId)
  const verdict = isDecision(decision) ? verdictOf(decision) : undefined
  const { by, note } = verdict ?? {}
  const reason = typeof verdict?.reason === 'string' ? { reason: verdict.reason } : {}
  const { args: changed } = verdict ?? {}
  const args = isJsonObject(changed) ? { args: changed } : {}
  const signature = { ...withoutUndefined({ by }), ...(typeof note === 'string' ? { note } : {}) }
  return { approved: verdict?.approved === true, ...reason, ...args, ...signature }
}

/** Creates a tool that replays its recorded calls. A handoff tool hands the conversation to the agent of the next recorded turn. */
function handingOver(
  calls: RecordedCalls,
  recorded: RecordedRun['given']['tools'][number],
  model: ChatModel,
  played: RecordedModel,
): AnyTool {
  const tool = calls.toolOf(recorded)
  if (recorded.handoff !== true) return tool
  const tools = () => (played.next?.request.agent ?? []).map((one) => handingOver(calls, one, model, played))
  return Object.defineProperty(tool, 'handsTo', {
    value: {
      model,
      get tools() {
        return tools()
      },
    },
  })
}

/** Sends the recorded messages to the run after the same turns as in the recorded run. */
class RecordedControl extends RunControl {
  readonly #model: RecordedModel
  readonly #steps: RecordedRun['steps']
  #said: object | undefined

  constructor(model: RecordedModel, steps: RecordedRun['steps']) {
    super()
    this.#model = model
    this.#steps = steps
  }

  override take(options: { continues: boolean }): ReturnType<RunControl['take']> {
    if (options.continues) this.#model.endIfOver()
    const said = this.#steps[iterationStep(iterationOf(this.#model.last), 'steer')] as RecordedSteering | undefined
    if (said === undefined || said === this.#said) return super.take(options)
    this.#said = said
    return { messages: said.messages, stops: said.stops === true }
  }
}

/** Checks the recorded settings. Throws `invalid_option` if they are invalid. */
function checkSettings(recorded: RecordedRun): void {
  const { provider, model, capabilities } = recorded.given.model
  const generate = () => Promise.reject(new Error('not asked'))
  try {
    new AgentRunner({ ...settingsOf(recorded), model: { provider, model, capabilities, generate } })
  } catch (error) {
    throw new InvalidOptionError('recording: given.settings', `settings of a run (${messageOf(error)})`)
  }
}

/**
 * Returns the recorded settings of a run, without its time limits. Also leaves out `throwOnError`, so that the replay always returns a
 * result.
 */
function settingsOf({ given }: RecordedRun): RunSettings {
  const {
    decisionTimeoutMs: _,
    throwOnError: __,
    limits,
    ...settings
  } = inputFromJson({ messages: [], given: 0, settings: given.settings }).settings
  return { ...settings, limits: { ...limits, deadlineMs: Number.POSITIVE_INFINITY } } as RunSettings
}

/** Copies recorded data that a replay can't produce: the original settings, and values that came from hooks. */
function withSettings<Run extends RecordedRun>(played: Run, recorded: RecordedRun | undefined): Run {
  if (recorded === undefined) return played
  const { settings, code } = recorded.given
  const given = { ...played.given, settings, ...withoutUndefined({ code }) }
  const run = withSteps({ ...played, given, ...resultOf(played, recorded) }, (step, key) => withCode(step, recorded.steps[key]))
  return { ...run, ...ordered(run) }
}

function withCode(step: RecordedStep, original: RecordedStep | undefined): RecordedStep {
  if (Array.isArray(step)) {
    const requests = Array.isArray(original) ? original : []
    return step.map((request, at) => ({ ...request, ...withoutUndefined({ answeredBy: requests[at]?.answeredBy }) }))
  }
  if (!isCall(step) || !isCall(original)) return step
  const runs = step.runs?.map((run, at) => withSettings(run, original.runs?.[at]))
  return { ...step, ...withoutUndefined({ value: original.value, runs }) }
}

/**
 * Copies the usage and the abort error of the recorded result if they would always differ. Estimated usage differs because redacted texts
 * have other lengths. The abort error differs because the replay aborts the run itself.
 */
function resultOf({ result }: RecordedRun, recorded: RecordedRun): Pick<RecordedRun, 'result'> {
  if (result === undefined || recorded.result === undefined) return {}
  const { usage, error } = recorded.result
  const isAborted = error?.code === 'aborted' && result.error?.code === 'aborted'
  return { result: { ...result, ...(isEstimated(recorded) ? { usage } : {}), ...(isAborted ? { error } : {}) } }
}

function isEstimated(run: RecordedRun): boolean {
  const isUnknown = requestsOf(run).some(([, { response }]) => response !== undefined && response?.usage === undefined)
  return isUnknown || callsOf(run).some(({ runs = [] }) => runs.some(isEstimated))
}
