import { isDeepStrictEqual } from 'node:util'
import { undecided } from '../agent/decisions/decisions.ts'
import type { RecordedScope, RunRecorder } from '../agent/observe/recorder.ts'
import { isSteering } from '../agent/step-keys.ts'
import type { FinishedCall, Steering } from '../agent/types/recorded.ts'
import type { PendingItem, RunResult, ToolCallRecord } from '../agent/types/result.ts'
import { copyAsJson, toJson } from '../core/json.ts'
import { copyJson, isJsonObject, type Json, type JsonObject, withoutUndefined } from '../core/messages.ts'
import { atOnce } from '../core/time/give-way.ts'
import { version } from '../core/version.ts'
import type { ChatModel, ModelResponse } from '../models/chat-model.ts'
import type { ToolSet } from '../tools/registry.ts'
import type { ToolCallEnd } from '../tools/tool-runner.ts'
import { describeError, describeInput, describeModel, describeRequest, describeResponse, describeTools } from './describe.ts'
import { formatName, formatVersion, type RecordedCall, type RecordedRun, type RecordedTurn, type RunRecording } from './format.ts'
import { NotedPieces } from './noted-pieces.ts'
import { RecordingSecrets } from './secrets.ts'

type Asked = Parameters<RunRecorder['asks']>[1]
type Calls = Parameters<RunRecorder['calls']>[1]

interface OpenRun {
  recorded: RecordedRun
  /** The tools of the agent that was asked last. */
  offered: ToolSet | undefined
  /** Ends what is noted of the request under way. */
  endTurn: (() => void) | undefined
}

export interface RecorderOptions {
  /** Texts that are known to be secret. */
  secrets?: Iterable<string>
  /** A recording to go on with, if the run is the one it is of. */
  earlier?: RunRecording | undefined
  /** Told of each run, before anything of it is recorded. */
  begun?: (run: RecordedScope) => void
}

/** Records one run, with the runs inside it. */
export class RecordingRecorder implements RunRecorder {
  readonly #secrets: readonly string[]
  readonly #earlier: RunRecording | undefined
  readonly #begun: (run: RecordedScope) => void
  readonly #runs = new Map<string, OpenRun>()
  readonly #underWay = new Set<string>()
  #outermost: string | undefined
  #strangers = 0

  constructor({ secrets = [], earlier, begun = () => {} }: RecorderOptions = {}) {
    this.#secrets = [...secrets]
    this.#earlier = earlier
    this.#begun = begun
  }

  /** How many runs it was given besides the first, and has not recorded. */
  get strangers(): number {
    return this.#strangers
  }

  /** Whether the run has begun, or goes on, and has not ended. */
  get isUnderWay(): boolean {
    return this.#outermost !== undefined && this.#underWay.has(this.#outermost)
  }

  /** The run as it is being recorded, with its secrets; undefined where none has begun. */
  get live(): RecordedRun | undefined {
    return this.#outermost === undefined ? undefined : this.#runs.get(this.#outermost)?.recorded
  }

  /** The recording, without secrets; undefined where no run has begun. */
  recording(): RunRecording | undefined {
    const recorded = this.recorded()
    if (recorded === undefined) return undefined
    const { runId, run } = recorded
    const secrets = new RecordingSecrets(this.#secrets)
    atOnce(secrets.learn(run))
    return { ...headOf(runId), ...atOnce(secrets.cleanRun(run)) }
  }

  /** The run as it was recorded, with its secrets; undefined where none has begun. */
  recorded(): { runId: string; run: RecordedRun } | undefined {
    const runId = this.#outermost
    const run = this.live
    return runId === undefined || run === undefined ? undefined : { runId, run: ordered(run) }
  }

  begins(run: RecordedScope, input: Json): void {
    this.#begun(run)
    this.#underWay.add(run.runId)
    if (this.#runs.has(run.runId)) return
    const recorded = this.#found(run) ?? { given: describeInput(run, input), turns: [] }
    if (!this.#place(run, recorded)) return
    this.#runs.set(run.runId, { recorded, offered: recorded.turns.length === 0 ? run.agent.offered : undefined, endTurn: undefined })
  }

  asks(run: RecordedScope, { model, request }: Asked): (response: ModelResponse) => void {
    const open = this.#runs.get(run.runId)
    const before = open?.recorded.turns.length
    return (response) => {
      if (open === undefined || open.recorded.turns.length !== before || run.interruption !== undefined) return
      const asked = { ...otherThan(open, run, model), ...describeRequest(request) }
      open.recorded.turns.push({ request: asked, response: describeResponse(response), answeredBy: 'hook' })
    }
  }

  watched(run: RecordedScope, model: ChatModel): ChatModel {
    const open = this.#runs.get(run.runId)
    if (open === undefined) return model
    const generate: ChatModel['generate'] = async (request, sink) => {
      const turn: RecordedTurn = { request: { ...otherThan(open, run, model), ...describeRequest(request) } }
      open.recorded.turns.push(turn)
      const pieces = new NotedPieces()
      const endTurn = () => {
        const stream = pieces.end()
        if (stream.length > 0) turn.stream = stream
        if (run.interruption !== undefined) turn.interrupted = run.interruption
        open.endTurn = undefined
      }
      open.endTurn = endTurn
      try {
        const response = await model.generate(request, pieces.noting(sink))
        // The run does not take what comes after its end.
        if (run.interruption === undefined) turn.response = describeResponse(response)
        return response
      } catch (error) {
        turn.error = describeError(error)
        throw error
      } finally {
        if (open.endTurn === endTurn) endTurn()
      }
    }
    return { provider: model.provider, model: model.model, capabilities: model.capabilities, generate }
  }

  calls(run: RecordedScope, { call, key: place, prepared, answered }: Calls): (end: ToolCallEnd) => void {
    const turn = this.#lastTurn(run)
    if (turn === undefined) return () => {}
    const recorded: RecordedCall = { place, id: call.id, tool: prepared.tool.name, args: copyAsJson(prepared.args) }
    if (answered !== undefined) recorded.answer = copyJson(answered.answer)
    turn.calls ??= []
    turn.calls.push(recorded)
    const isHooked = run.agent.callbacks.around.calls.length > 0
    return (end) => {
      if (end.outcome === 'cancelled' && run.interruption !== undefined) recorded.interrupted = run.interruption
      else Object.assign(recorded, describeEnd(end, { isHandoff: 'handsTo' in prepared.tool, isHooked }))
    }
  }

  step(run: RecordedScope, key: string, value: unknown, about?: object): void {
    if (about !== undefined) {
      if ('fingerprint' in about) this.#decided(run, about as PendingItem, value ?? undecided)
    } else if (isSteering(key)) this.#steered(run, value as Steering)
    else if (isJsonObject(value) && 'record' in value) this.#finished(run, key, (value as never as FinishedCall).record)
  }

  /** A call that an earlier execution may have run has ended without its tool being started. Whoever plays the run is told the same. */
  #finished(run: RecordedScope, place: string, { id, tool, args = {}, outcome, content }: ToolCallRecord): void {
    const turn = this.#lastTurn(run)
    const isHere = run.agent.offered.get(tool)?.execute !== undefined
    if (turn === undefined || !isHere || turn.calls?.some((call) => call.place === place)) return
    if (outcome !== 'ok' && outcome !== 'uncertain') return
    const shown = typeof content === 'string' ? content : copyAsJson(content)
    const call: RecordedCall = { place, id, tool, args: copyAsJson(args), outcome: 'ok', content: shown }
    turn.calls ??= []
    turn.calls.push(outcome === 'ok' ? call : { ...call, outcome: 'failed', errorCode: 'tool_uncertain' })
  }

  #decided(run: RecordedScope, { place, toolCallId, tool, args }: PendingItem, verdict: unknown): void {
    if (!isJsonObject(verdict)) return
    // A later execution comes to it again, when there may be further turns.
    const isIn = ({ decisions = [] }: RecordedTurn) => decisions.some((one) => one.place === place)
    const turn = this.#runs.get(run.runId)?.recorded.turns.find(isIn) ?? this.#lastTurn(run)
    if (turn === undefined) return
    const { args: changed, ...rest } = copyAsJson(verdict) as JsonObject
    // That they differ need not be seen any more where secrets are taken out.
    const isChanged = changed !== undefined && !isDeepStrictEqual(changed, args)
    turn.decisions = turn.decisions?.filter((one) => one.place !== place) ?? []
    turn.decisions.push({ place, call: toolCallId, tool, args: copyAsJson(args), verdict: isChanged ? { ...rest, args: changed } : rest })
  }

  #steered(run: RecordedScope, { messages, stops }: Steering): void {
    const turn = this.#lastTurn(run)
    if (turn !== undefined && (messages.length > 0 || stops))
      turn.steering = { messages: copyAsJson([...messages]), ...(stops ? { stops } : {}) }
  }

  ended(run: RecordedScope, { stopReason, text, usage, iterations, pending, agent, error }: RunResult): void {
    this.#underWay.delete(run.runId)
    const open = this.#runs.get(run.runId)
    if (open === undefined) return
    // A model that ignores its signal may still be at it.
    open.endTurn?.()
    const waiting = pending.map(({ fingerprint: _, ...item }) => copyAsJson(item) as JsonObject)
    open.recorded.result = {
      stopReason,
      text,
      usage: copyAsJson(usage),
      iterations,
      ...(waiting.length === 0 ? {} : { pending: waiting }),
      ...withoutUndefined({ agent, error: error && { code: error.code, message: error.message } }),
    }
  }

  /** What is recorded already of a run that goes on, but not by this recorder. */
  #found({ runId, resumed, within }: RecordedScope): RecordedRun | undefined {
    if (!resumed) return undefined
    if (within === undefined) return this.#earlier?.runId === runId ? runOf(this.#earlier) : undefined
    const runs = this.#callsOf(within).flatMap((call) => call.runs ?? [])
    return runs.find((run) => run.result?.stopReason === 'paused' && ![...this.#runs.values()].some(({ recorded }) => recorded === run))
  }

  /** False where it is no part of what is recorded. */
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
    const turns = this.#runs.get(runId)?.recorded.turns ?? []
    return turns.flatMap(({ calls = [] }) => calls).filter(({ id }) => id === toolCallId)
  }

  #lastTurn({ runId }: RecordedScope): RecordedTurn | undefined {
    return this.#runs.get(runId)?.recorded.turns.at(-1)
  }
}

/** What a recording begins with. */
export function headOf(runId: string): Pick<RunRecording, 'format' | 'version' | 'toolloop' | 'runId'> {
  return { format: formatName, version: formatVersion, toolloop: version, runId }
}

/** What of a request is another than the run began with. */
function otherThan(open: OpenRun, { agent }: RecordedScope, model: ChatModel): Pick<RecordedTurn['request'], 'model' | 'agent'> {
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

function runOf({ given, turns }: RunRecording): RecordedRun {
  return { given, turns: turns.map((turn) => ({ ...turn })) }
}

/** With fields in their order, and what happened at once in that of its places, whichever ended first. */
export function ordered(run: RecordedRun): RecordedRun {
  const turns = run.turns.map(({ request, response, answeredBy, stream, error, interrupted, decisions, calls, steering }): RecordedTurn => {
    const inOrder = calls && byPlace(calls).map(({ runs, ...call }) => (runs === undefined ? call : { ...call, runs: runs.map(ordered) }))
    return {
      request,
      ...withoutUndefined({
        response,
        answeredBy,
        stream,
        error,
        interrupted,
        decisions: decisions && byPlace(decisions),
        calls: inOrder,
        steering,
      }),
    }
  })
  return { given: run.given, turns, ...withoutUndefined({ result: run.result }) }
}

function byPlace<Placed extends { place: string }>(placed: readonly Placed[]): Placed[] {
  // The first decision on a call has no number.
  const numbered = (place: string) => place.replace(/\.decision(?!\.\d)/, '.decision.1')
  return placed.toSorted((a, b) => numbered(a.place).localeCompare(numbered(b.place), 'en', { numeric: true }))
}
