import type { EventMeta, EventPayloads, RunEvent } from '../events.ts'
import type { JsonObject } from '../messages.ts'
import type { CallStatus } from './run-states.ts'
import {
  type CallView,
  emptyCallView,
  emptyRunView,
  emptyTurnView,
  type PendingView,
  type RunView,
  type Stretch,
  type TurnView,
} from './run-view.ts'

/**
 * Applies one event of a run, or of a run nested in it, to the view. Changes the view and returns it. The events may start in the middle of
 * the run. Ignores events of other runs and of unknown types.
 *
 * `id`: the number of the event in a stream of server-sent events. With `id`, an event that was already applied is ignored.
 */
export function reduceRun(view: RunView, event: RunEvent, id?: number): RunView {
  if (id !== undefined) {
    if (id <= view.lastEventId) return view
    view.lastEventId = id
  }
  const run = event.meta === undefined ? undefined : runOf(view, event.meta)
  if (run === undefined) return view
  const { time } = event.meta
  run.startedAt ??= time
  switch (event.type) {
    case 'RUN_START':
      beginRun(run, time)
      break
    case 'RUN_END':
      endRun(run, event, time)
      break
    case 'MODEL_START':
      beginTurn(run, event)
      break
    case 'MODEL_QUEUED':
      beginWait(turnOf(run, event.meta.iteration).waits, time)
      break
    case 'MODEL_RETRY':
      retryTurn(turnOf(run, event.meta.iteration), run, event)
      break
    case 'MODEL_END':
      endTurn(turnOf(run, event.meta.iteration), event)
      break
    case 'TEXT_DELTA':
      addText(openTurn(run, event.meta), 'text', event.text)
      break
    case 'REASONING_DELTA':
      addText(openTurn(run, event.meta), 'reasoning', event.text)
      break
    case 'GUARDRAIL':
    case 'HANDOFF':
      addNote(turnOf(run, event.meta.iteration), event)
      break
    case 'TOOL_INPUT_START':
      openTurn(run, event.meta)
      callIn(run, event.id, event)
      break
    case 'TOOL_INPUT_DELTA':
      addInput(run.calls.get(event.id), event.json)
      break
    case 'TOOL_CALL_START':
    case 'TOOL_PROGRESS':
    case 'TOOL_CALL_END':
    case 'TOOL_CALL_REJECTED':
      takeCall(run, event)
      break
    case 'DECISION_NEEDED':
      askFor(run, event)
      break
    case 'DECISION_MADE':
      decide(run, event)
      break
    default:
      break
  }
  return view
}

/** The run that an event belongs to. Undefined if that run is not part of this view. */
function runOf(view: RunView, { runId, parentRunId, parentToolCallId, depth }: EventMeta): RunView | undefined {
  const isInside = parentRunId !== undefined && parentRunId !== runId
  if (view.runId === '') view.runId = isInside ? (depth === 1 ? parentRunId : '') : runId
  if (runId === view.runId) return view
  if (!isInside) return undefined
  const run = runCalled(view, runId)
  if (run.parent !== undefined) return run
  run.parent = { runId: parentRunId, toolCallId: parentToolCallId }
  if (parentToolCallId !== undefined) callIn(runCalled(view, parentRunId), parentToolCallId).runs.push(run)
  return run
}

function runCalled(view: RunView, runId: string): RunView {
  if (runId === view.runId) return view
  const run = view.runs.get(runId) ?? emptyRunView(runId)
  view.runs.set(runId, run)
  return run
}

/** Returns the turn of this iteration, creating it if needed. Searches from the end, because the turn is usually the last one. */
function turnOf({ turns }: RunView, iteration: number): TurnView {
  let at = turns.length
  for (; at > 0; at--) {
    const turn = turns[at - 1]
    if (turn?.iteration === iteration) return turn
    if (turn !== undefined && turn.iteration < iteration) break
  }
  const turn = emptyTurnView(iteration)
  turns.splice(at, 0, turn)
  return turn
}

/** The turn that a piece of a response belongs to. */
function openTurn(run: RunView, { iteration, time }: EventMeta): TurnView {
  const turn = turnOf(run, iteration)
  turn.firstTokenAt ??= time
  endWait(turn, time)
  return turn
}

/** Returns the call with this id, creating it if needed. `event`: an event of the call, with its turn and tool. */
function callIn(run: RunView, id: string, event?: { meta: EventMeta; tool: string }): CallView {
  let call = run.calls.get(id)
  if (call === undefined) {
    call = emptyCallView(id)
    run.calls.set(id, call)
  }
  if (event !== undefined) {
    if (event.tool !== '') call.tool = event.tool
    if (call.iteration === undefined) turnOf(run, event.meta.iteration).parts.push({ type: 'call', call })
    call.iteration ??= event.meta.iteration
  }
  return call
}

function beginRun(run: RunView, time: number): void {
  run.status = 'running'
  run.stopReason = undefined
  run.errorCode = undefined
  run.endedAt = undefined
  for (const pause of run.pauses) pause.to ??= time
}

function endRun(run: RunView, { stopReason, usage, errorCode }: EventPayloads['RUN_END'], time: number): void {
  run.stopReason = stopReason
  run.usage = usage
  run.errorCode = errorCode
  if (stopReason === 'paused') {
    run.status = 'waiting'
    beginWait(run.pauses, time)
  }
  settle(run, time)
}

/** Ends everything that is still open when the run ends, because events may be missing. In a paused run, waiting calls keep waiting. */
function settle(run: RunView, time: number): void {
  const isPaused = run.stopReason === 'paused'
  if (!isPaused) {
    run.status = 'ended'
    run.endedAt = time
    clearPending(run)
  }
  const turn = run.turns.at(-1)
  if (turn !== undefined && turn.startedAt !== undefined) turn.endedAt ??= time
  for (const call of run.calls.values()) {
    if (call.status === 'ended' || (isPaused && call.status === 'waiting')) continue
    endCall(call, time)
    for (const inside of call.runs) if (inside.status !== 'ended') settle(inside, time)
  }
}

function beginTurn(run: RunView, event: Extract<RunEvent, { type: 'MODEL_START' }>): void {
  const { meta, provider, model } = event
  const { iteration, time } = meta
  const continues = event.continues === true
  if (run.status !== 'running') beginRun(run, time)
  // A run continues only after everything that it waited for has been decided. The events of the decisions may be missing.
  clearPending(run)
  let turn = turnOf(run, iteration)
  // Only a request that continues a response starts another turn. Any other request repeats the turn, because the response broke off.
  if (turn.startedAt !== undefined && continues && !turn.continues) {
    run.turns.splice(run.turns.indexOf(turn) + 1, 0, emptyTurnView(iteration))
    turn = turnOf(run, iteration)
  }
  discard(turn, run)
  turn.startedAt ??= time
  turn.endedAt = undefined
  turn.durationMs = undefined
  turn.finishReason = undefined
  turn.errorCode = undefined
  Object.assign(turn, { provider, model, continues })
}

/** Removes the parts of a response that arrived before it broke off. */
function discard(turn: TurnView, run: RunView): void {
  turn.firstTokenAt = undefined
  turn.parts = turn.parts.filter((part) => {
    if (part.type !== 'call') return part.type !== 'text' && part.type !== 'reasoning'
    if (part.call.status === 'writing') run.calls.delete(part.call.id)
    return part.call.status !== 'writing'
  })
}

function retryTurn(turn: TurnView, run: RunView, { type: _, meta: { time }, ...retry }: Extract<RunEvent, { type: 'MODEL_RETRY' }>): void {
  if (retry.discards) discard(turn, run)
  turn.retries.push({ ...retry, time })
  turn.provider = retry.provider
  turn.model = retry.model
  endWait(turn, time)
}

function endTurn(
  turn: TurnView,
  { meta, provider, model, finishReason, usage, errorCode }: Extract<RunEvent, { type: 'MODEL_END' }>,
): void {
  const { time, durationMs } = meta
  Object.assign(turn, { provider, model, finishReason, usage, errorCode, endedAt: time, durationMs })
  endWait(turn, time)
}

function addText({ parts }: TurnView, type: 'text' | 'reasoning', text: string): void {
  const last = parts.at(-1)
  if (last?.type === type) last.text += text
  else if (text !== '') parts.push({ type, text })
}

function addNote({ parts }: TurnView, event: Extract<RunEvent, { type: 'GUARDRAIL' | 'HANDOFF' }>): void {
  const { meta: _, ...payload } = event
  if (payload.type === 'GUARDRAIL') parts.push({ ...payload, type: 'guardrail' })
  else parts.push({ ...payload, type: 'handoff' })
}

function addInput(call: CallView | undefined, json: string): void {
  if (call?.status === 'writing' && call.args === undefined) call.written += json
}

type CallEvent = Extract<RunEvent, { type: 'TOOL_CALL_START' | 'TOOL_PROGRESS' | 'TOOL_CALL_END' | 'TOOL_CALL_REJECTED' }>

function takeCall(run: RunView, event: CallEvent): void {
  const { toolCallId, time, durationMs } = event.meta
  if (toolCallId === undefined) return
  const call = callIn(run, toolCallId, event)
  // No tool runs while its run waits, so the event that continued the run is missing.
  if (event.type === 'TOOL_CALL_START' && run.status === 'waiting') beginRun(run, time)
  // The call no longer waits, so the decision on it has been made.
  if (call.status === 'waiting') {
    for (const place of call.pending.keys()) run.pending.delete(place)
    call.pending.clear()
  }
  endWait(call, time)
  switch (event.type) {
    case 'TOOL_CALL_START':
      reopen(call, 'running')
      giveArguments(call, event.args)
      call.startedAt ??= time
      break
    case 'TOOL_PROGRESS':
      if (call.status !== 'ended') call.status = 'running'
      call.progress = event.update
      break
    case 'TOOL_CALL_END':
      if (event.args !== undefined && call.args === undefined) giveArguments(call, event.args)
      // The question of a tool is not the result of its call.
      if (event.outcome === 'question') {
        reopen(call, 'waiting')
        call.waitsFor = 'question'
        break
      }
      endCall(call, time)
      Object.assign(call, { outcome: event.outcome, result: event.result, value: event.value, errorCode: event.errorCode, durationMs })
      break
    case 'TOOL_CALL_REJECTED':
      giveArguments(call, event.args)
      endCall(call, time)
      Object.assign(call, { outcome: event.outcome, result: event.error, errorCode: event.errorCode, durationMs })
  }
}

function askFor(run: RunView, { type: _, meta, ...item }: Extract<RunEvent, { type: 'DECISION_NEEDED' }>): void {
  run.pending.set(item.place, item)
  const call = callOfItem(run, meta, item)
  if (call === undefined) return
  call.pending.set(item.place, item)
  reopen(call, 'waiting')
  call.waitsFor = item.kind
  // If the item belongs to an agent inside the call, `args` are the arguments of a call that this agent made, not of `call`.
  if (item.path === undefined) giveArguments(call, item.args)
  beginWait(call.waits, meta.time)
}

function decide(run: RunView, { type: _, meta, ...decision }: Extract<RunEvent, { type: 'DECISION_MADE' }>): void {
  run.pending.delete(decision.place)
  const call = callOfItem(run, meta, decision)
  if (call === undefined) return
  call.pending.delete(decision.place)
  call.decisions.set(decision.place, call.decisions.get(decision.place) ?? { ...decision, time: meta.time })
  if (call.pending.size === 0) endWait(call, meta.time)
}

type Decided = Pick<PendingView, 'kind' | 'toolCallId' | 'tool' | 'path'>

/**
 * Returns the call that a decision is about. If an agent inside a call requested the decision, returns the call that runs the agent.
 * Undefined if the decision is about the run's own budget.
 */
function callOfItem(run: RunView, meta: EventMeta, { kind, toolCallId, tool, path }: Decided): CallView | undefined {
  if (kind === 'budget' && path === undefined) return undefined
  return callIn(run, meta.toolCallId ?? toolCallId, { meta, tool: path === undefined ? tool : '' })
}

function clearPending(run: RunView): void {
  for (const item of run.pending.values()) run.calls.get(ownerOf(item))?.pending.clear()
  run.pending.clear()
}

function ownerOf({ path, toolCallId }: Decided): string {
  return path?.[0]?.toolCallId ?? toolCallId
}

function giveArguments(call: CallView, args: JsonObject | string): void {
  call.args = args
  call.written = ''
}

/** Clears the call's earlier outcome. */
function reopen(call: CallView, status: CallStatus): void {
  const nothing = { outcome: undefined, errorCode: undefined, value: undefined, endedAt: undefined, durationMs: undefined }
  Object.assign(call, { status, result: '', ...nothing })
}

function endCall(call: CallView, time: number): void {
  call.status = 'ended'
  call.endedAt = time
  call.progress = undefined
  call.written = ''
  endWait(call, time)
}

function beginWait(waits: Stretch[], time: number): void {
  const last = waits.at(-1)
  if (last === undefined || last.to !== undefined) waits.push({ from: time, to: undefined })
}

function endWait({ waits }: { waits: Stretch[] }, time: number): void {
  const last = waits.at(-1)
  if (last !== undefined) last.to ??= time
}
