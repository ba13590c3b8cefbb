import type { EventPayloads, FinishReason, RunEvent, StopReason, ToolCallOutcome } from '../events.ts'
import type { Json, JsonObject, Usage } from '../messages.ts'
import type { CallStatus, RunStatus } from './run-states.ts'

/** A stretch of time, in milliseconds since 1970. `to` is undefined while it lasts. */
export interface Stretch {
  from: number
  to: number | undefined
}

/** What a run waits for: the payload of its `DECISION_NEEDED`. */
export type PendingView = EventPayloads['DECISION_NEEDED']

/** A request that failed and was made again. */
export type RetryView = EventPayloads['MODEL_RETRY'] & { time: number }

/** A run, as far as its events have told. Times are in milliseconds since 1970. */
export interface RunView {
  /** `''` until an event has told it. */
  runId: string
  status: RunStatus
  /** How it ended; `paused` while it waits. */
  stopReason: StopReason | undefined
  errorCode: string | undefined
  /** Of the whole run, once it has ended or waits. */
  usage: Usage | undefined
  /** In the order of their iterations. Iteration 0, if it is there, is what came before the first request, such as a guardrail of the input. */
  turns: TurnView[]
  /** Its own calls by id, in the order in which they began. */
  calls: Map<string, CallView>
  /** What it waits for now. */
  pending: PendingView[]
  /** While it waited as a whole: nothing of it was executed. */
  pauses: Stretch[]
  startedAt: number | undefined
  endedAt: number | undefined
  /** Of a run inside a call: the run outside, and that call. */
  parent: { runId: string; toolCallId: string | undefined } | undefined
  /** All runs inside its calls, at any depth, by id. Only in the view of the outermost run. */
  runs: Map<string, RunView>
  /** The highest `id` that `reduceRun` was given: where to continue after a reconnect. */
  lastEventId: number
}

/** One request to the model, with its response and the calls in it. */
export interface TurnView {
  iteration: number
  /** Of the model that is asked, or has answered. Undefined if no event told. */
  provider: string | undefined
  model: string | undefined
  /** Its text continues that of the turn before, which was cut off. */
  continues: boolean
  /** In the order in which they came. */
  parts: TurnPart[]
  usage: Usage | undefined
  finishReason: FinishReason | undefined
  errorCode: string | undefined
  retries: RetryView[]
  /** While it waited for the rate limits of its model, and for the first piece of the response after that. */
  waits: Stretch[]
  startedAt: number | undefined
  firstTokenAt: number | undefined
  endedAt: number | undefined
  durationMs: number | undefined
}

/** What a turn consists of. */
export type TurnPart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'call'; call: CallView }
  | ({ type: 'guardrail' } & EventPayloads['GUARDRAIL'])
  | ({ type: 'handoff' } & EventPayloads['HANDOFF'])

/** A tool call. */
export interface CallView {
  id: string
  /** `''` if only a run inside it has told of it so far. */
  tool: string
  status: CallStatus
  /** How it ended. Undefined before that, and if its run ended without telling. */
  outcome: ToolCallOutcome | undefined
  errorCode: string | undefined
  /** The JSON of its arguments, as far as the model has written it. Empty once `args` is there. */
  written: string
  /** Undefined until they are whole. A text if they are no JSON object, or too long for an event. */
  args: JsonObject | string | undefined
  /** The latest report of its tool. Undefined once it has ended. */
  progress: Json | undefined
  /** The text that the model gets. */
  result: string
  /** What the function returned, if the event had it. */
  value: Json | undefined
  /** What kind of decision it waits for, or waited for last. */
  waitsFor: PendingView['kind'] | undefined
  /** Decisions on it, and on what agents inside it asked, oldest first. */
  decisions: (EventPayloads['DECISION_MADE'] & { time: number })[]
  waits: Stretch[]
  /** Undefined if it has not begun to run, or no event told. */
  startedAt: number | undefined
  endedAt: number | undefined
  durationMs: number | undefined
  /** The turn it belongs to. Undefined if no event of its own has told yet. */
  iteration: number | undefined
  /** Runs of agents inside it. */
  runs: RunView[]
}

/** The view of a run of which no event is known yet. `runId`: events of other runs are then left out from the start. */
export function emptyRunView(runId = ''): RunView {
  return {
    runId,
    status: 'running',
    stopReason: undefined,
    errorCode: undefined,
    usage: undefined,
    turns: [],
    calls: new Map(),
    pending: [],
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
    waitsFor: undefined,
    decisions: [],
    waits: [],
    startedAt: undefined,
    endedAt: undefined,
    durationMs: undefined,
    iteration: undefined,
    runs: [],
  }
}

/** The call that an event is about, in the run that it came from. */
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

/** What the model has said since it was asked last: the text of the last turn, with what that continues. */
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
