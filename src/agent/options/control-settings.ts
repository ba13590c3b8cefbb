import { boolean, callback, expecting, milliseconds, oneOf, text, unchecked } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { ScriptLine } from '../../core/events.ts'
import { type ChatMessage, isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { ToolEffect } from '../../tools/tool.ts'
import { checkEntries } from '../callbacks/check-entries.ts'
import { checkGuardrails, type Guardrail } from '../callbacks/guardrails.ts'
import { checkHooks, type Hooks } from '../callbacks/hooks.ts'
import type { Signature } from '../decisions/decisions.ts'
import type { Telemetry } from '../observe/telemetry.ts'
import type { AroundEntry, PlanEntry } from '../types/middleware.ts'
import type { RunStep } from '../types/result.ts'
import type { SettingRows } from './setting-row.ts'

/** Settings for hooks, guardrails, approvals and telemetry. */
export interface ControlSettings<Context = unknown> {
  /**
   * Functions that wrap model requests and tool calls, in order.
   *
   * @see [hooks and guardrails](docs/hooks-and-guardrails.md)
   */
  hooks?: readonly Hooks<Context>[]
  /**
   * Middleware that allows, changes or refuses each model request and tool call before it is carried out.
   *
   * @see [Middleware: plan and around](docs/middleware.md)
   */
  plan?: readonly PlanEntry<Context>[]
  /**
   * Middleware that wraps model requests and tool functions.
   *
   * @see [Middleware: plan and around](docs/middleware.md)
   */
  around?: readonly AroundEntry<Context>[]
  /**
   * Checks of input, output, calls and results, in order.
   *
   * @see [hooks and guardrails](docs/hooks-and-guardrails.md)
   */
  guardrails?: readonly Guardrail<Context>[]
  /**
   * Identifies the user or the purpose of the run. JSON of at most 16,384 characters. Tools, hooks, guardrails and approvals can read it
   * (`ctx.metadata`), and the `meta` of every event contains it.
   *
   * It is stored with the run when the run pauses or is recorded. It is never sent to a model. A nested run that sets no metadata gets the
   * metadata of the outer run.
   *
   * @see [audit](docs/streaming-and-events.md#audit)
   */
  metadata?: JsonObject
  /**
   * Decides on calls that need an approval. The run waits for the decision. Without `approve`, the run pauses.
   *
   * To resume a paused run, pass `decisions` on its pending items, even if you also pass `approve`.
   *
   * Contract: awaited until the run is aborted or its deadline passes. Throwing or returning nothing refuses the call.
   *
   * @see [approvals](docs/approvals.md)
   */
  approve?(request: ApprovalRequest<Context>): ApprovalDecision | Promise<ApprovalDecision>
  /** How long a run waits for a decision before the call is refused, in milliseconds. Default: forever. */
  decisionTimeoutMs?: number
  /**
   * `'preview'`: carries out only calls of `read` tools. All other calls become the run's plan, and the run pauses. `resume` carries out
   * the approved calls. Default `'apply'`: carries out all calls.
   *
   * @see [preview](docs/preview.md)
   */
  effects?: 'apply' | 'preview'
  /**
   * Fingerprints of calls that need no further approval. Pass `remembered` of an earlier result, which lists the calls that were approved
   * with `remember`.
   */
  remembered?: readonly string[]
  /**
   * Called after the calls of each turn. If it returns true, the run ends with `stopped`.
   *
   * Contract: not awaited. If it throws, the error is logged and the run continues. Returning nothing continues the run. A journal records
   * the return values, so they stay the same if the run continues in another process.
   */
  stopWhen?(state: { iteration: number; steps: readonly RunStep[]; messages: readonly ChatMessage[] }): boolean
  /**
   * `true`: a run whose result has an `error` rejects with a `RunError`, which has the `result`. Default false.
   *
   * Results with the stop reason `model_error`, `refused` or `aborted` have an error. If the last request of `onLimit: 'answer'` fails, the
   * result also has an error. Reaching a limit (`deadline`, `budget`, `max_iterations`, `repeated_calls`) is not an error, and neither are
   * `stopped` and `paused`.
   */
  throwOnError?: boolean
  /** The agent's name in telemetry. Default: none; in a nested run, the name of the tool. */
  name?: string
  /**
   * Traces and metrics of the run and its nested runs: the return value of `telemetry()` of `toolloop/telemetry`.
   *
   * @see [telemetry](docs/telemetry.md)
   */
  telemetry?: Telemetry
}

/** A call that needs an approval, as passed to `approve`. */
export interface ApprovalRequest<Context = unknown> {
  toolCallId: string
  tool: string
  args: JsonObject
  /** The declared effect of the tool. */
  effect?: ToolEffect
  /** The model's text before the call: at most the last 300 characters. Absent if the model wrote no text. */
  said?: string
  /** Information for the approver, from the tool or from an entry of `plan`. */
  about?: Json
  runId: string
  context: Context
  /** The run's `metadata`. A nested run that sets no metadata gets the metadata of the outer run. The object is frozen. */
  metadata?: JsonObject
  /** The line of the script that makes the call. Absent if no script makes the call. */
  script?: ScriptLine
  signal: AbortSignal
}

/**
 * The return value of `approve`. `true` approves the call, and `false` refuses it. The model is told the `reason`. With `args`, the
 * approved call runs with those arguments, and the model is told about the change. With `remember`, the same call needs no further approval
 * in this run. `by` and `note` are recorded with the call. A decision with unknown fields, or with arguments that don't fit the tool,
 * refuses the call.
 */
export type ApprovalDecision = boolean | ({ approved: boolean; reason?: string; args?: JsonObject; remember?: boolean } & Signature)

export const controlSettings: SettingRows<ControlSettings> = {
  hooks: { check: (value) => checkHooks(value as never), stored: 'not stored' },
  plan: { check: (value) => checkEntries('plan', value as never), stored: 'not stored' },
  around: { check: (value) => checkEntries('around', value as never), stored: 'not stored' },
  guardrails: { check: (value) => checkGuardrails(value as never), stored: 'not stored' },
  metadata: { check: checkMetadata, stored: 'json' },
  approve: { check: callback, stored: 'not stored' },
  decisionTimeoutMs: { check: milliseconds, stored: 'numbers' },
  effects: { check: oneOf('apply', 'preview'), stored: 'json' },
  remembered: { check: unchecked, stored: 'json' },
  stopWhen: { check: checkStopWhen, stored: 'not stored' },
  throwOnError: { check: boolean, stored: 'json' },
  name: { check: text, stored: 'json' },
  telemetry: { check: expecting('what `telemetry()` of `toolloop/telemetry` gives', isTelemetry), stored: 'not stored' },
}

const mostMetadata = 16_384

function checkMetadata(metadata: unknown, at: string): void {
  const expected = `a JSON object of at most ${mostMetadata} characters`
  if (!isJsonObject(metadata)) throw new InvalidOptionError(at, expected, metadata)
  const length = jsonLength(metadata)
  if (length === undefined) throw new InvalidOptionError(at, expected)
  if (length > mostMetadata) throw new InvalidOptionError(at, expected, `${length} characters`)
}

/** The length of the value as JSON. Undefined for a value that is not JSON, such as an object that contains itself. */
function jsonLength(value: object): number | undefined {
  try {
    return JSON.stringify(value).length
  } catch {
    return undefined
  }
}

function checkStopWhen(value: unknown, at: string): void {
  const hint = Array.isArray(value) ? ' (did you mean `maxIterations`?)' : ''
  if (typeof value !== 'function') throw new InvalidOptionError(at, `a function${hint}`, value)
}

function isTelemetry(value: unknown): boolean {
  return typeof (value as Telemetry | null)?.openRun === 'function'
}
