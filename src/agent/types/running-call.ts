import type { Content, Json } from '../../core/messages.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import type { Lanes } from '../../tools/concurrency.ts'
import type { CallTrace } from '../../tools/tool.ts'
import type { RawEnd, ToolCallEnd } from '../../tools/tool-runner.ts'
import type { StepTags } from '../journal/journal.ts'
import type { KeyOf } from '../run/call-keys.ts'
import type { FinishedCall, PlannedCall } from './recorded.ts'

/** A call to carry out. `key` is the key of its step in the journal. */
export interface CallWork {
  call: PlannedCall
  /** The call's position in the turn. */
  index: number
  key: string
  /** The question that the tool asked, and the answer. */
  answered?: { answer: Json; asked: Json | undefined }
  /** The result from the caller, who has run the tool. */
  result?: { value: Json; isError: boolean }
}

/** Carries out calls, all started in the same tick. Resolves with their results in the order of `work`. */
export type CarryOut = (work: readonly CallWork[]) => Promise<FinishedCall[]>

/** Settings that the calls of a round share. */
export interface CallTerms {
  /** Undefined if all calls may run at once. */
  lanes: Lanes | undefined
  /** Creates the idempotency keys of the calls. If undefined, the keys derive from the positions of the calls. */
  keyOf: KeyOf | undefined
  /** Whether an earlier execution may have started this call without recording its end. */
  mayHaveRun: boolean
  /** Called when the call has ended, before the next call may start. */
  ended?(): void
}

/** A call's place: its iteration and its step in the journal. */
export interface CallPlace {
  readonly iteration: number
  /** The call as it is recorded, with its final arguments and the repairs. */
  readonly call: PlannedCall
  /** The tags in the meta of the call's events. */
  readonly tags: StepTags
}

/** A call that is being carried out. @internal */
export interface RunningCall extends CallPlace, Omit<CallTerms, 'keyOf'> {
  /** The key of the call's step. */
  readonly key: string
  readonly idempotencyKey: string
  readonly prepared: PreparedCall
  readonly answered: CallWork['answered']
  /** Reads and writes the value that the tool saves. Undefined if the journal does not survive a crash. */
  readonly saved?: SavedValue
  /** The call's place in the trace of the run, if there is one. */
  readonly trace?: CallTrace
}

/** A value that a tool saves in the run's journal while its call runs. */
export interface SavedValue {
  read(): Promise<Json | undefined>
  write(value: Json): Promise<void>
}

/** The outcome of a call before it is recorded. @internal */
export interface CallOutcome {
  /** The call as it finally ran. */
  call: RunningCall
  /** `uncertain`: an earlier execution may have run the call. */
  end: ToolCallEnd | { outcome: 'uncertain' }
  /** When the function started, by `performance.now()`. Undefined if it did not start. */
  startedAt?: number
  durationMs?: number
  /** The return value of the function. Set if a guardrail changed the result. */
  returned?: unknown
  /** How the function ended, before hooks or guardrails changed the outcome. Set in a run with hooks or telemetry. */
  raw?: RawEnd
  /** The name of the guardrail that ends the run, and its reason. */
  stop?: string
  /** The text for the model about a call that became part of a preview's plan. */
  noted?: Content
}

/** Runs a call. Never rejects because its tool failed. */
export type RunCall = (call: RunningCall) => Promise<CallOutcome>

/** Wraps a call. The wrapper may change the call or its outcome. It may also return a result or a refusal without running the function. */
export type AroundTool = (next: RunCall) => RunCall
