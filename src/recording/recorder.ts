import { isDeepStrictEqual } from 'node:util'
import { undecided } from '../agent/decisions/decisions.ts'
import { aroundSteps, type Durable, type StepContext } from '../agent/journal/journal.ts'
import type { RecordedScope, RunRecorder } from '../agent/observe/recorder.ts'
import { compareSteps, isSteering, isTurn } from '../agent/step-keys.ts'
import type { TurnRequest } from '../agent/types/model-call.ts'
import type { FinishedCall, Steering } from '../agent/types/recorded.ts'
import type { PendingItem, RunResult, ToolCallRecord } from '../agent/types/result.ts'
import type { CallOutcome, RunningCall } from '../agent/types/running-call.ts'
import { messageOf } from '../core/errors.ts'
import { copyAsJson, toJson } from '../core/json.ts'
import { copyJson, isJsonObject, type Json, type JsonObject, withoutUndefined } from '../core/messages.ts'
import { atOnce } from '../core/time/give-way.ts'
import { version } from '../core/version.ts'
import type { ChatModel, ModelResponse } from '../models/chat-model.ts'
import type { ToolSet } from '../tools/registry.ts'
import type { ToolCallEnd } from '../tools/tool-runner.ts'
import { describeError, describeInput, describeModel, describeRequest, describeResponse, describeTools } from './describe.ts'
import {
  callsOf,
  formatName,
  formatVersion,
  isCall,
  type RecordedCall,
  type RecordedDecision,
  type RecordedModelRequest,
  type RecordedPart,
  type RecordedRequest,
  type RecordedRun,
  type RecordedSteering,
  type RecordedStep,
  type RunRecording,
  requestsOf,
} from './format.ts'
import { NotedPieces } from './noted-pieces.ts'
import { RecordingSecrets } from './secrets.ts'

interface OpenRun {
  recorded: RecordedRun
  /** The tools of the agent that made the previous request. */
  offered: ToolSet | undefined
  /** The key of the current turn. */
  turn: string
  /** Stops recording the current request. */
  endRequest: (() => void) | undefined
}

export interface RecorderOptions {
  /** Texts to redact. */
  secrets?: Iterable<string>
  /** A recording to continue. The recording of another run is ignored. */
  earlier?: RunRecording | undefined
  /** Called with each run before any part of the run is recorded. */
  begun?: (run: RecordedScope) => void
}

/** Records one run and the runs inside it. */
export class RecordingRecorder implements RunRecorder {
  readonly #secrets: readonly string[]
  readonly #earlier: RunRecording | undefined
  readonly #begun: (run: RecordedScope) => void
  readonly #runs = new Map<string, OpenRun>()
  readonly #underWay = new Set<string>()
  #outermost: string | undefined
  #strangers = 0
  #isStopped = false
  #hasFailed = false

  constructor({ secrets = [], earlier, begun = () => {} }: RecorderOptions = {}) {
    this.#secrets = [...secrets]
    this.#earlier = earlier
    this.#begun = begun
  }

  /** The number of unrelated runs that used this recorder. They were not recorded. */
  get strangers(): number {
    return this.#strangers
  }

  get isUnderWay(): boolean {
    return this.#outermost !== undefined && this.#underWay.has(this.#outermost)
  }

  /** Whether recording has stopped. The end of the run is still recorded. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Stops recording, except for the end of the run. `why` becomes `given.partial` of the recording. */
  stop(why: string): void {
    this.#isStopped = true
    const { given } = this.live ?? {}
    if (given !== undefined) given.partial ??= why
  }

  /** The recorded run in its current state, not redacted. Undefined if no run has started. */
  get live(): RecordedRun | undefined {
    return this.#outermost === undefined ? undefined : this.#runs.get(this.#outermost)?.recorded
  }

  /** Returns the redacted recording. Returns undefined if no run has started. */
  recording(): RunRecording | undefined {
    const recorded = this.recorded()
    if (recorded === undefined) return undefined
    const { runId, run } = recorded
    const secrets = new RecordingSecrets(this.#secrets)
    atOnce(secrets.learn(run))
    return { ...headOf(runId), ...atOnce(secrets.cleanRun(run)) }
  }

  /** Returns the recorded run, not redacted. Returns undefined if no run has started. */
  recorded(): { runId: string; run: RecordedRun } | undefined {
    const runId = this.#outermost
    const run = this.live
    return runId === undefined || run === undefined ? undefined : { runId, run: ordered(run) }
  }

  /** Called when a part of the recording has changed. `value` is its new value. */
  protected noted(_run: RecordedScope, _part: string, _value: RecordedPart | undefined): void {}

  /** Called when a step, a wait or the run has ended, before the journal records the end. Contract: awaited. Must not reject. */
  protected async stepEnded(_run: RecordedScope): Promise<void> {}

  async aroundExecution(run: RecordedScope, input: Json, steps: Durable, next: (steps: Durable) => Promise<RunResult>): Promise<RunResult> {
    const watched = aroundSteps(steps, {
      step: async (key, fn, about) => {
        let isNew = false
        const carryOut = (step: StepContext) => {
          isNew = true
          return this.#aroundStep(run, key, about, () => fn(step))
        }
        const value = await steps.step(key, carryOut, about)
        if (!isNew) this.#attempt(run, () => this.#passed(run, key, value))
        return value
      },
      wait: async <T extends Json>(...given: Parameters<Durable['wait']>) => {
        const value = await steps.wait<T>(...given)
        const [place, { about } = {}] = given
        return value === undefined || !isJsonObject(about) ? value : this.#aroundStep(run, place, about, async () => value)
      },
    })
    const begin = () => {
      this.#begin(run, input, steps.resumed === true)
      return (result: RunResult) => this.#end(run, result)
    }
    const result = await this.#around(run, begin, () => next(watched))
    await this.stepEnded(run)
    return result
  }

  async #aroundStep<T>(run: RecordedScope, key: string, about: object | undefined, work: () => Promise<T>): Promise<T> {
    const value = await this.#around(run, () => this.#step(run, key, about), work)
    await this.stepEnded(run)
    return value
  }

  aroundHooks<Response extends ModelResponse>(run: RecordedScope, asked: TurnRequest, next: () => Promise<Response>): Promise<Response> {
    return this.#around(run, () => this.#asked(run, asked), next)
  }

  aroundRequest<Response extends ModelResponse>(
    run: RecordedScope,
    { model }: TurnRequest,
    next: (model: ChatModel) => Promise<Response>,
  ): Promise<Response> {
    return next(this.#watched(run, model))
  }

  aroundCall(run: RecordedScope, call: RunningCall, next: () => Promise<CallOutcome>): Promise<CallOutcome> {
    return this.#around(run, () => this.#called(run, call), next)
  }

  /** Calls `begin` before `work`. `begin` returns a function that records the result of `work`. */
  async #around<T>(run: RecordedScope, begin: () => (value: T) => void, work: () => Promise<T>): Promise<T> {
    const end = this.#attempt(run, begin)
    const value = await work()
    this.#attempt(run, () => end?.(value))
    return value
  }

  /** Runs code of the recorder. An error in this code does not affect the run. The first error is logged. */
  #attempt<T>({ runId, logger }: RecordedScope, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      if (!this.#hasFailed) logger.error({ runId, error: messageOf(error) }, 'the recorder failed; the run continues')
      this.#hasFailed = true
      return undefined
    }
  }

  #begin(run: RecordedScope, input: Json, isResumed: boolean): void {
    if (this.#isStopped) return
    this.#begun(run)
    this.#underWay.add(run.runId)
    if (this.#runs.has(run.runId)) return
    const found = isResumed ? this.#found(run) : undefined
    const recorded = found ?? { given: describeInput(run, input, isResumed), steps: {} }
    if (!this.#place(run, recorded)) return
    const offered = requestsOf(recorded).length === 0 ? run.agent.offered : undefined
    this.#runs.set(run.runId, { recorded, offered, turn: '', endRequest: undefined })
    if (found === undefined) this.noted(run, 'given', recorded.given)
  }

  #asked(run: RecordedScope, { model, request }: TurnRequest): (response: ModelResponse) => void {
    const open = this.#open(run)
    const before = open && requestsIn(open)
    return (response) => {
      if (open === undefined || requestsIn(open) !== before || run.interruption !== undefined) return
      const asked = { ...otherThan(open, run, model), ...describeRequest(request) }
      addRequest(open, { request: asked, response: describeResponse(response), answeredBy: 'hook' })
    }
  }

  #watched(run: RecordedScope, model: ChatModel): ChatModel {
    const open = this.#open(run)
    if (open === undefined) return model
    const generate: ChatModel['generate'] = async (request, sink) => {
      const recorded = this.#attempt(run, () =>
        addRequest(open, { request: { ...otherThan(open, run, model), ...describeRequest(request) } }),
      )
      if (recorded === undefined) return model.generate(request, sink)
      const pieces = new NotedPieces()
      const endRequest = () => {
        const stream = pieces.end()
        if (stream.length > 0) recorded.stream = stream
        if (run.interruption !== undefined) recorded.interrupted = run.interruption
        open.endRequest = undefined
      }
      open.endRequest = endRequest
      try {
        const response = await model.generate(request, pieces.noting(sink))
        // A response that arrives after the end of the run is not recorded, because the run ignores it.
        if (run.interruption === undefined) recorded.response = this.#attempt(run, () => describeResponse(response))
        return response
      } catch (error) {
        recorded.error = this.#attempt(run, () => describeError(error))
        throw error
      } finally {
        if (open.endRequest === endRequest) endRequest()
      }
    }
    return { provider: model.provider, model: model.model, capabilities: model.capabilities, generate }
  }

  #called(run: RecordedScope, { call, key, prepared, answered }: RunningCall): (outcome: CallOutcome) => void {
    const open = this.#open(run)
    if (open === undefined) return () => {}
    const recorded: RecordedCall = { id: call.id, tool: prepared.tool.name, args: copyAsJson(prepared.args) }
    if (answered !== undefined) recorded.answer = copyJson(answered.answer)
    open.recorded.steps[key] = recorded
    const isHooked = run.agent.callbacks.around.calls.length > 0
    return ({ end }) => {
      if (end.outcome === 'uncertain') return
      if (end.outcome === 'cancelled' && run.interruption !== undefined) recorded.interrupted = run.interruption
      else Object.assign(recorded, describeEnd(end, { isHandoff: 'handsTo' in prepared.tool, isHooked }))
    }
  }

  #step(run: RecordedScope, key: string, about: object | undefined): (value: unknown) => void {
    const open = this.#open(run)
    if (open === undefined) return () => {}
    const { steps } = open.recorded
    if (isTurn(key)) open.turn = key
    // A process may crash after it has recorded a step here but not in the journal. The step is then repeated and recorded again.
    if (steps[key] !== undefined) {
      delete steps[key]
      this.noted(run, key, undefined)
    }
    return (value) => {
      const made =
        about === undefined ? madeIn(run, key, value) : 'fingerprint' in about && decided(about as PendingItem, value ?? undecided)
      if (made) steps[key] ??= made
      if (steps[key] !== undefined) this.noted(run, key, steps[key])
    }
  }

  /** Marks the recording as incomplete if an earlier execution ran this turn without a recorder. */
  #passed(run: RecordedScope, key: string, value: unknown): void {
    const { given, steps = {} } = this.#open(run)?.recorded ?? {}
    if (given === undefined || given.partial !== undefined || !isTurn(key) || key in steps) return
    if (!isJsonObject(value) || value.kind !== 'reply') return
    given.partial = 'a part of it was carried out without being recorded'
    this.noted(run, 'given', given)
  }

  #end(run: RecordedScope, { stopReason, text, usage, iterations, pending, agent, error }: RunResult): void {
    this.#underWay.delete(run.runId)
    const open = this.#runs.get(run.runId)
    if (open === undefined) return
    const { recorded, turn } = open
    if (open.endRequest !== undefined) {
      // Stops recording the request, because a model that ignores its signal may still be streaming.
      open.endRequest()
      this.noted(run, turn, recorded.steps[turn])
    }
    const waiting = pending.map(({ fingerprint: _, script: __, ...item }) => copyAsJson(item) as JsonObject)
    recorded.result = {
      stopReason,
      text,
      usage: copyAsJson(usage),
      iterations,
      ...(waiting.length === 0 ? {} : { pending: waiting }),
      ...withoutUndefined({ agent, error: error && { code: error.code, message: error.message } }),
    }
    this.noted(run, 'result', recorded.result)
  }

  /** Returns the earlier part of a resumed run, which another recorder recorded. */
  #found({ runId, within }: RecordedScope): RecordedRun | undefined {
    if (within === undefined) return this.#earlier?.runId === runId ? runOf(this.#earlier) : undefined
    const runs = this.#callsOf(within).flatMap((call) => call.runs ?? [])
    return runs.find((run) => run.result?.stopReason === 'paused' && ![...this.#runs.values()].some(({ recorded }) => recorded === run))
  }

  /** Adds a run to the recording. Returns false if the run doesn't belong to the recording. */
  #place({ runId, within }: RecordedScope, recorded: RecordedRun): boolean {
    const calls = within === undefined ? [] : this.#callsOf(within)
    if (calls.some(({ runs = [] }) => runs.includes(recorded))) return true
    const call = calls.at(-1)
    if (call !== undefined) {
      call.runs ??= []
      call.runs.push(recorded)
      return true
    }
    if (this.#outermost !== undefined) this.#strangers++
    this.#outermost ??= runId
    return this.#outermost === runId
  }

  #callsOf({ runId, toolCallId }: { runId: string; toolCallId: string | undefined }): RecordedCall[] {
    const open = this.#runs.get(runId)
    return open === undefined ? [] : callsOf(open.recorded).filter(({ id }) => id === toolCallId)
  }

  #open({ runId }: RecordedScope): OpenRun | undefined {
    return this.#isStopped ? undefined : this.#runs.get(runId)
  }
}

function requestsIn({ recorded, turn }: OpenRun): number {
  const { [turn]: step } = recorded.steps
  return Array.isArray(step) ? step.length : 0
}

function addRequest({ recorded: { steps }, turn }: OpenRun, request: RecordedRequest): RecordedRequest {
  const { [turn]: step } = steps
  if (Array.isArray(step)) step.push(request)
  else steps[turn] = [request]
  return request
}

function madeIn(run: RecordedScope, key: string, value: unknown): RecordedStep | undefined {
  if (isSteering(key)) return steered(value as Steering)
  // A preview lists calls without executing them. Such calls are not recorded.
  return isJsonObject(value) && 'record' in value && value.noted !== true
    ? finished(run, (value as never as FinishedCall).record)
    : undefined
}

function steered({ messages, stops }: Steering): RecordedSteering | undefined {
  return messages.length === 0 && !stops ? undefined : { messages: copyAsJson([...messages]), ...(stops ? { stops } : {}) }
}

/** Describes a call that an earlier execution of the run started. Returns undefined for any other call. */
function finished({ agent }: RecordedScope, { id, tool, args = {}, outcome, content }: ToolCallRecord): RecordedCall | undefined {
  if (agent.offered.get(tool)?.execute === undefined || (outcome !== 'ok' && outcome !== 'uncertain')) return undefined
  const shown = typeof content === 'string' ? content : copyAsJson(content)
  const call: RecordedCall = { id, tool, args: copyAsJson(args), outcome: 'ok', content: shown }
  return outcome === 'ok' ? call : { ...call, outcome: 'failed', errorCode: 'tool_uncertain' }
}

function decided({ toolCallId, tool, args }: PendingItem, verdict: unknown): RecordedDecision | undefined {
  if (!isJsonObject(verdict)) return undefined
  const { args: changed, ...rest } = copyAsJson(verdict) as JsonObject
  // Compared here because redaction can later make changed arguments equal to the original arguments.
  const isChanged = changed !== undefined && !isDeepStrictEqual(changed, args)
  return { call: toolCallId, tool, args: copyAsJson(args), verdict: isChanged ? { ...rest, args: changed } : rest }
}

export function headOf(runId: string): Pick<RunRecording, 'format' | 'version' | 'toolloop' | 'runId'> {
  return { format: formatName, version: formatVersion, toolloop: version, runId }
}

/**
 * Returns the fields `model` and `agent` of a recorded request. `model` is set only if the run started with another model. `agent` is set
 * only if the agent has changed since the previous request.
 */
function otherThan(open: OpenRun, { agent }: RecordedScope, model: ChatModel): Pick<RecordedModelRequest, 'model' | 'agent'> {
  const { provider, model: name } = open.recorded.given.model
  const isOther = model.provider !== provider || model.model !== name
  const handed = open.offered !== undefined && open.offered !== agent.offered
  open.offered = agent.offered
  return { ...(isOther ? { model: describeModel(model) } : {}), ...(handed ? { agent: describeTools(agent.offered) } : {}) }
}

function describeEnd(end: ToolCallEnd, { isHandoff, isHooked }: { isHandoff: boolean; isHooked: boolean }): Partial<RecordedCall> {
  const { outcome } = end
  if (outcome === 'rejected') return { outcome, content: end.content, errorCode: end.code }
  const tries = end.attempts === 1 ? {} : { attempts: end.attempts }
  if (outcome === 'question') return { outcome, question: toJson(end.question) as never, ...tries }
  const { content } = end
  const copied = typeof content === 'string' ? content : copyAsJson(content)
  if (outcome !== 'ok') return { outcome, content: copied, errorCode: end.code, ...tries }
  const value = isHooked && end.value !== undefined && end.value !== content ? { value: toJson(end.value) } : {}
  return { outcome, content: copied, ...tries, ...(isHandoff ? { handedTo: toJson(end.value) } : {}), ...value }
}

function runOf({ given, steps }: RunRecording): RecordedRun {
  return { given, steps: { ...steps } }
}

/** Copies a run, with its steps and their fields in the order of the recording file. */
export function ordered({ given, steps, result }: RecordedRun): RecordedRun {
  const inOrder = Object.entries(steps).toSorted(([a], [b]) => compareSteps(a, b))
  return { given, steps: Object.fromEntries(inOrder.map(([key, step]) => [key, orderedStep(step)])), ...withoutUndefined({ result }) }
}

/** Copies a step, with its fields in the order of the recording file. */
export function orderedStep(step: RecordedStep): RecordedStep {
  if (Array.isArray(step))
    return step.map(({ request, response, answeredBy, stream, error, interrupted }) => ({
      request,
      ...withoutUndefined({ response, answeredBy, stream, error, interrupted }),
    }))
  if (!isCall(step)) return step
  const { runs, ...call } = step
  return runs === undefined ? call : { ...call, runs: runs.map(ordered) }
}
