import type { EventPayloads, FinishReason, RunEvent, StopReason, ToolCallOutcome } from '../events.ts'
import type { Json, JsonObject, Usage } from '../messages.ts'
import type { CallStatus, RunStatus } from './run-states.ts'

/** A period of time, in milliseconds since 1970. `to` is undefined until the period ends. */
export interface Stretch {
  from: number
  to: number | undefined
}

/** An item that a run waits for: the payload of a `DECISION_NEEDED` event. */
export type PendingView = EventPayloads['DECISION_NEEDED']

/** A request that failed and was retried. */
export type RetryView = EventPayloads['MODEL_RETRY'] & { time: number }

/** The state of a run, built from its events. Times are in milliseconds since 1970. */
export interface RunView {
  /** `''` until an event provides it. */
  runId: string
  status: RunStatus
  /** How the run ended. `paused` while the run waits. */
  stopReason: StopReason | undefined
  errorCode: string | undefined
  /** The usage of the whole run. Undefined until the run has ended or waits. */
  usage: Usage | undefined
  /**
   * The turns, in the order of their iterations. Iteration 0 contains events before the first request, such as the intervention of a
   * guardrail on the input.
   */
  turns: TurnView[]
  /** The run's own calls by id, in the order in which they started. */
  calls: Map<string, CallView>
  /** The items that the run currently waits for, by `place`, in the order in which they were requested. */
  pending: Map<string, PendingView>
  /** The periods in which the whole run waited and nothing was executed. */
  pauses: Stretch[]
  startedAt: number | undefined
  endedAt: number | undefined
  /** Set for a run inside a call: the outer run and the call. */
  parent: { runId: string; toolCallId: string | undefined } | undefined
  /** All nested runs, at any depth, by id. Filled only in the view of the outermost run. */
  runs: Map<string, RunView>
  /** The highest `id` passed to `reduceRun`. After a reconnect, continue after this event. */
  lastEventId: number
}

/** One request to the model, with its response and the calls in it. */
export interface TurnView {
  iteration: number
  /** The model that was asked. Undefined if the turn's `MODEL_START` event is missing. */
  provider: string | undefined
  model: string | undefined
  /** Whether the text of this turn continues the text of the previous turn, which was cut off. */
  continues: boolean
  /** The parts in the order in which they arrived. */
  parts: TurnPart[]
  usage: Usage | undefined
  finishReason: FinishReason | undefined
  errorCode: string | undefined
  retries: RetryView[]
  /** The periods in which the turn waited: for the rate limits of its model, and then for the first piece of the response. */
  waits: Stretch[]
  startedAt: number | undefined
  firstTokenAt: number | undefined
  endedAt: number | undefined
  durationMs: number | undefined
}

/** A part of a turn. */
export type TurnPart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'call'; call: CallView }
  | ({ type: 'guardrail' } & EventPayloads['GUARDRAIL'])
  | ({ type: 'handoff' } & EventPayloads['HANDOFF'])

/** A tool call. */
export interface CallView {
  id: string
  /** `''` while the call is known only from events of nested runs. */
  tool: string
  status: CallStatus
  /** How the call ended. Undefined while the call has not ended, or if the event is missing. */
  outcome: ToolCallOutcome | undefined
  errorCode: string | undefined
  /** The JSON text of the arguments that the model has written so far. Empty once `args` is known. */
  written: string
  /** The arguments. Undefined until they are complete. A text if the arguments are not a JSON object or are too long for an event. */
  args: JsonObject | string | undefined
  /** The latest progress report of the call's tool. Undefined once the call has ended. */
  progress: Json | undefined
  /** The text that the model gets as the result. */
  result: string
  /** The return value of the function, if the event contains it. */
  value: Json | undefined
  /** The items that the call and the agents inside it currently wait for, by `place`. */
  pending: Map<string, PendingView>
  /** The kind of decision that the call waits for, or last waited for. */
  waitsFor: PendingView['kind'] | undefined
  /** Decisions on the call, and on questions of agents inside it, by `place`, oldest first. */
  decisions: Map<string, EventPayloads['DECISION_MADE'] & { time: number }>
  waits: Stretch[]
  /** Undefined if the call has not started to run, or if the event is missing. */
  startedAt: number | undefined
  endedAt: number | undefined
  durationMs: number | undefined
  /** The turn of the call. Undefined until an event of the call itself arrives. */
  iteration: number | undefined
  /** The runs of agents inside the call. */
  runs: RunView[]
}

/** Creates a view without events. If `runId` is given, events of other runs are ignored from the start. */
export function emptyRunView(runId = ''): RunView {
  return {
    runId,
    status: 'running',
    stopReason: undefined,
    errorCode: undefined,
    usage: undefined,
    turns: [],
    calls: new Map(),
    pending: new Map(),
    pauses: [],
    startedAt: undefined,
    endedAt: undefined,
    parent: undefined,
    runs: new Map(),
    lastEventId: 0,
  }
}

export function emptyTurnView(iteration: number): TurnView {
  return {
    iteration,
    provider: undefined,
    model: undefined,
    continues: false,
    parts: [],
    usage: undefined,
    finishReason: undefined,
    errorCode: undefined,
    retries: [],
    waits: [],
    startedAt: undefined,
    firstTokenAt: undefined,
    endedAt: undefined,
    durationMs: undefined,
  }
}

export function emptyCallView(id: string): CallView {
  return {
    id,
    tool: '',
    status: 'writing',
    outcome: undefined,
    errorCode: undefined,
    written: '',
    args: undefined,
    progress: undefined,
    result: '',
    value: undefined,
    pending: new Map(),
    waitsFor: undefined,
    decisions: new Map(),
    waits: [],
    startedAt: undefined,
    endedAt: undefined,
    durationMs: undefined,
    iteration: undefined,
    runs: [],
  }
}

/** Returns the call that an event is about. The call belongs to the run that emitted the event. */
export function callOf(view: RunView, event: RunEvent): CallView | undefined {
  const { runId } = event.meta
  const run = runId === view.runId ? view : view.runs.get(runId)
  const id = callIdOf(event)
  return id === undefined ? undefined : run?.calls.get(id)
}

/** The text of a turn. */
export function turnText({ parts }: TurnView): string {
  return parts.reduce((text, part) => (part.type === 'text' ? text + part.text : text), '')
}

/** Returns the model's latest text: the text of the last turn, preceded by the text of the turns that it continues. */
export function lastText({ turns }: RunView): string {
  let text = ''
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at]
    if (turn !== undefined) text = turnText(turn) + text
    if (!turn?.continues) break
  }
  return text
}

function callIdOf(event: RunEvent): string | undefined {
  if (event.type === 'TOOL_INPUT_START' || event.type === 'TOOL_INPUT_DELTA') return event.id
  return event.meta.toolCallId
}
