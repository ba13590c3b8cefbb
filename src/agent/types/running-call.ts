import type { Json } from '../../core/messages.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import type { Lanes } from '../../tools/concurrency.ts'
import type { CallTrace } from '../../tools/tool.ts'
import type { RawEnd, ToolCallEnd } from '../../tools/tool-runner.ts'
import type { StepTags } from '../journal/journal.ts'
import type { KeyOf } from '../run/call-keys.ts'
import type { FinishedCall, PlannedCall } from './recorded.ts'

/** A call that is to be carried out as the step `key`. */
export interface CallWork {
  call: PlannedCall
  /** Its position in the turn. */
  index: number
  key: string
  /** What was answered to its tool's question, and what that was. */
  answered?: { answer: Json; asked: Json | undefined }
  /** What its caller says came of it: it is not run here. */
  result?: { value: Json; isError: boolean }
}

/** Carries calls out, all of them started in one tick; resolves with what came of them, in the order of the work. */
export type CarryOut = (work: readonly CallWork[]) => Promise<FinishedCall[]>

/** How the calls of a round are carried out together. */
export interface CallTerms {
  /** Undefined where all may run at once. */
  lanes: Lanes | undefined
  /** Their idempotency keys; undefined: those of their places. */
  keyOf: KeyOf | undefined
  /** An earlier execution got as far as starting this batch of calls and did not record how this one ended. */
  mayHaveRun: boolean
  /** Called when the call has ended, before the next one may start. */
  ended?(): void
}

/** A call in its place: of which iteration, under which step of the journal. */
export interface CallPlace {
  readonly iteration: number
  /** As it will be in the record: with the arguments that it is run with, and what was put right in them. */
  readonly call: PlannedCall
  /** In the meta of its events. */
  readonly tags: StepTags
}

/** A call on its way to its tool's function. */
export interface RunningCall extends CallPlace, Omit<CallTerms, 'keyOf'> {
  /** Of its step. */
  readonly key: string
  readonly idempotencyKey: string
  readonly prepared: PreparedCall
  readonly answered: CallWork['answered']
  /** What it saves, where that outlives the process. */
  readonly saved?: SavedValue
  /** Its place in the run's trace, where that is measured. */
  readonly trace?: CallTrace
}

/** What a call has saved in its run's journal. */
export interface SavedValue {
  read(): Promise<Json | undefined>
  write(value: Json): Promise<void>
}

/** What came of it, before it is recorded. */
export interface CallOutcome {
  /** As it was run in the end. */
  call: RunningCall
  /** `uncertain`: an earlier execution may have run it. */
  end: ToolCallEnd | { outcome: 'uncertain' }
  /** When its function was started, by `performance.now()`; undefined where it was not. */
  startedAt?: number
  durationMs?: number
  /** What the function returned, where guardrails changed what is shown of it. */
  returned?: unknown
  /** What its function came to, as it is; there in a run with hooks or telemetry. */
  raw?: RawEnd
  /** A guardrail ends the run: its name and why. */
  stop?: string
}

/** Runs a call. Never rejects for a fault of its tool. */
export type RunCall = (call: RunningCall) => Promise<CallOutcome>

/** Stands around a call: may change it, answer or refuse it in the function's place, and change the outcome. */
export type AroundTool = (next: RunCall) => RunCall
