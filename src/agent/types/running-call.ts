import type { Content, Json } from '../../core/messages.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import type { Lanes } from '../../tools/concurrency.ts'
import type { CallTrace } from '../../tools/tool.ts'
import type { RawEnd, ToolCallEnd } from '../../tools/tool-runner.ts'
import type { StepTags } from '../journal/journal.ts'
import type { KeyOf } from '../run/call-keys.ts'
import type { FinishedCall, PlannedCall } from './recorded.ts'

/** A call to carry out as the step `key`. */
export interface CallWork {
  call: PlannedCall
  /** Its position in the turn. */
  index: number
  key: string
  /** The answer to its tool's question, and the question. */
  answered?: { answer: Json; asked: Json | undefined }
  /** The result that the caller supplied. The call does not run here. */
  result?: { value: Json; isError: boolean }
}

/** Carries out calls, all started in the same tick. Resolves with their results in the order of `work`. */
export type CarryOut = (work: readonly CallWork[]) => Promise<FinishedCall[]>

/** How the calls of a round run together. */
export interface CallTerms {
  /** Undefined if all may run at once. */
  lanes: Lanes | undefined
  /** Makes their idempotency keys. Undefined: from their places. */
  keyOf: KeyOf | undefined
  /** An earlier execution may have started this batch of calls without recording how this one ended. */
  mayHaveRun: boolean
  /** Called when the call has ended, before the next one may start. */
  ended?(): void
}

/** A call's place: its iteration and its step in the journal. */
export interface CallPlace {
  readonly iteration: number
  /** The call as it is recorded: with its final arguments and their repairs. */
  readonly call: PlannedCall
  /** In the meta of its events. */
  readonly tags: StepTags
}

/** A call on its way to its tool's function. */
export interface RunningCall extends CallPlace, Omit<CallTerms, 'keyOf'> {
  /** The key of its step. */
  readonly key: string
  readonly idempotencyKey: string
  readonly prepared: PreparedCall
  readonly answered: CallWork['answered']
  /** The value it saves, if that outlives the process. */
  readonly saved?: SavedValue
  /** Its place in the run's trace, if there is one. */
  readonly trace?: CallTrace
}

/** What a call has saved in its run's journal. */
export interface SavedValue {
  read(): Promise<Json | undefined>
  write(value: Json): Promise<void>
}

/** The outcome of a call before it is recorded. */
export interface CallOutcome {
  /** The call as it finally ran. */
  call: RunningCall
  /** `uncertain`: an earlier execution may have run it. */
  end: ToolCallEnd | { outcome: 'uncertain' }
  /** When its function was started, by `performance.now()`. Undefined if it was not. */
  startedAt?: number
  durationMs?: number
  /** What the function returned, if guardrails changed what is shown. */
  returned?: unknown
  /** The unchanged end of its function. Set in a run with hooks or telemetry. */
  raw?: RawEnd
  /** A guardrail ends the run: its name and why. */
  stop?: string
  /** What the model is told of a call that was noted and not carried out. */
  noted?: Content
}

/** Runs a call. Never rejects for a fault of its tool. */
export type RunCall = (call: RunningCall) => Promise<CallOutcome>

/** Notes a call of a preview instead of running it. `paused`: the outcome of a call whose agent has noted calls of its own. */
export type NoteCall = (call: RunningCall, paused?: CallOutcome) => Promise<CallOutcome>

/** Wraps a call: may change it, answer or refuse it instead of the function, and change the outcome. */
export type AroundTool = (next: RunCall) => RunCall
