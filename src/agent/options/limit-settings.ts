import { amount, checkOptions, expecting, integer, integerOrNone, oneOf, optionsOf } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/messages.ts'
import { Budget } from '../limits/budget.ts'
import { checksOf, type SettingRow, type SettingRows } from './setting-row.ts'

/** How much a run may use, and what happens at each limit. */
export interface LimitSettings {
  /** Maximum number of model requests in a run, each with its tool calls. An integer ≥ 1. Default 5. */
  maxIterations?: number
  /** The older name of `maxIterations`. Default 5. */
  maxToolRounds?: number
  /** `'answer'`: at the iteration limit, asks once more for an answer, without tools. Default `'stop'`. */
  onLimit?: 'stop' | 'answer'
  /**
   * The limits of a run: `deadlineMs`, `tokens`, `costUsd`, `toolCalls`, `repeatedCalls`, `repeatWindow`, `depth`. Default
   * `{ repeatedCalls: 3, repeatWindow: 8, depth: 5 }`.
   *
   * @see [limits](README.md#limits)
   */
  limits?: RunLimits
  /**
   * A `Budget` that several runs share. Nested runs draw on it, too. It is not stored: pass it to `resume` again.
   *
   * @see [budgets](docs/options.md#budgets-for-several-runs)
   */
  budget?: Budget
  /**
   * `'pause'`: if `budget` doesn't allow a request, the run pauses with a pending item of kind `budget`. Raise the budget, approve the
   * item, and resume the run. Default `'stop'`.
   */
  onBudget?: 'stop' | 'pause'
  /** Time limit of one attempt at a tool call, in milliseconds. A tool's `timeoutMs` overrides it. Default 30,000. */
  toolTimeoutMs?: number
  /** Maximum number of calls of one turn that run at once. Default 8; 1 for text calls. */
  toolConcurrency?: number
  /**
   * Maximum number of values in the arguments of one call. A larger call is refused, and the model is told to make several calls. Default:
   * none; 10,000 in the service.
   */
  maxArgumentValues?: number
  /**
   * Maximum size of the text that the model gets from one result, in bytes. If a text is longer, its middle is cut out. Default 65,536. The
   * note about the cut counts toward the limit.
   *
   * Images and documents have their own limit: in base64, 320 times `maxResultBytes` for one result. A result may have at most 256 parts.
   */
  maxResultBytes?: number
  /**
   * `true` or options: stores results that are too long, and lets the model read them in parts with the tool `read_result`, which is then
   * part of every request. Default: off.
   *
   * Hooks and guardrails see the whole result.
   *
   * @see [large results](docs/tools.md#large-results)
   */
  largeResults?: boolean | LargeResultOptions
  /** Maximum silence in a model's stream, in milliseconds. Default 60,000. */
  streamIdleTimeoutMs?: number
  /** Maximum time without an event in a model's stream, in milliseconds. Comments and pings are not events. Default 600,000. */
  streamStallTimeoutMs?: number
}

/**
 * The limits of a run. If several are reached at once, the stop reason is the first of `deadline`, `budget`, `max_iterations` and
 * `repeated_calls`.
 */
export interface RunLimits {
  /** The time for the whole run, in milliseconds. When this time has passed, running work is aborted and the run ends with `deadline`. */
  deadlineMs?: number
  /**
   * Maximum tokens of all model requests together, including those of nested runs. No request is sent once all tokens are used or reserved
   * for requests in flight. Each concurrent call can exceed the limit by at most one request. When `tokens` or `costUsd` is reached, the
   * run ends with `budget`.
   */
  tokens?: number
  /** Maximum cost of all model requests together, in US dollars, counted like `tokens`. The model must have a price, or report its cost. */
  costUsd?: number
  /** Maximum number of tool calls that run, including those of nested runs. The model is told that further calls were not run. */
  toolCalls?: number
  /**
   * How often the same call (name, arguments and result) may be repeated. When this number is reached, the model is told once. If the model
   * still repeats the call, the run ends with `repeated_calls`. A call is not a repeat if its result changed, or if the model has made a
   * new call since. `Infinity` turns this limit off. Default 3.
   */
  repeatedCalls?: number
  /**
   * Number of previous turns to search for repeated calls. A cycle of calls is found if the window holds it twice: a window of 4 finds the
   * calls A, B, A, B. A window of 1 finds only calls that the next turn repeats. Default 8.
   */
  repeatWindow?: number
  /** Maximum depth of runs nested in tool calls. The value of the outermost run applies to all runs nested in it. Default 5. */
  depth?: number
}

/**
 * Options for storing large results, which the model can read in parts with the tool `read_result`. Results are stored until the run ends.
 * A run with a journal stores them in the journal.
 */
export interface LargeResultOptions {
  /**
   * Results whose text exceeds this number of UTF-8 bytes are stored. `read_result` returns at most this many bytes at once. At most
   * `maxResultBytes`. Default: `maxResultBytes`.
   */
  overBytes?: number
  /**
   * Number of bytes that the model gets from the beginning of a stored result. `read_result` returns the same number of bytes if no length
   * is requested. Default 8,192.
   */
  shownBytes?: number
  /**
   * Maximum number of bytes that a run and its nested runs store together. A result that no longer fits is not stored: the model gets it
   * cut to `maxResultBytes`. `Infinity`: no limit. Default 33,554,432.
   */
  keptBytes?: number
}

export const runLimits: Readonly<Record<keyof RunLimits, Required<Pick<SettingRow, 'check' | 'default'>>>> = {
  deadlineMs: { check: amount, default: Number.POSITIVE_INFINITY },
  tokens: { check: amount, default: Number.POSITIVE_INFINITY },
  costUsd: { check: amount, default: Number.POSITIVE_INFINITY },
  toolCalls: { check: integerOrNone(0), default: Number.POSITIVE_INFINITY },
  repeatedCalls: { check: integerOrNone(1), default: 3 },
  repeatWindow: { check: integer(1), default: 8 },
  depth: { check: integer(0), default: 5 },
}

const largeResultChecks = { overBytes: integer(4), shownBytes: integer(4), keptBytes: integerOrNone(1) }

export const limitSettings: SettingRows<LimitSettings> = {
  maxIterations: { check: integer(1), default: 5, stored: 'json' },
  maxToolRounds: { check: integer(1), stored: 'not stored' }, // Stored as `maxIterations`.
  onLimit: { check: oneOf('stop', 'answer'), stored: 'json' },
  limits: { check: optionsOf(checksOf(runLimits), 'a run'), stored: 'numbers' },
  budget: { check: expecting('a Budget', (value) => value instanceof Budget), stored: 'not stored' },
  onBudget: { check: oneOf('stop', 'pause'), stored: 'json' },
  toolTimeoutMs: { check: amount, default: 30_000, stored: 'numbers' },
  toolConcurrency: { check: integer(1), default: 8, stored: 'json' },
  maxArgumentValues: { check: integerOrNone(1), default: Number.POSITIVE_INFINITY, stored: 'numbers' },
  maxResultBytes: { check: integer(1), default: 65_536, stored: 'json' },
  largeResults: { check: checkLargeResults, stored: 'numbers' },
  streamIdleTimeoutMs: { check: amount, default: 60_000, stored: 'numbers' },
  streamStallTimeoutMs: { check: amount, default: 600_000, stored: 'numbers' },
}

function checkLargeResults(value: unknown, at: string): void {
  if (typeof value === 'boolean') return
  if (!isJsonObject(value)) throw new InvalidOptionError(at, 'true, false or options', value)
  checkOptions(value, largeResultChecks satisfies Record<keyof LargeResultOptions, unknown>, 'a run', at)
}
