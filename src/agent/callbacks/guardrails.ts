import type { Awaitable } from '../../core/callbacks/callbacks.ts'
import { checkCallbackNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { ChatMessage, Content, JsonObject } from '../../core/messages.ts'
import type { HookPlace, ToolEnding, ToolTurn } from './hooks.ts'

/** The result of a check: nothing if the value passed, otherwise the action to take. */
export type GuardrailVerdict<T> =
  | undefined
  /** Continues with this value instead. */
  | { replace: T }
  /** Refuses the value. The model is told the reason, and continues. */
  | { refuse: string }
  /** Ends the run: stop reason `refused`, error code `guardrail`. */
  | { stop: string }

/**
 * A named set of checks, called in order, after the hooks and the `plan` and `around` functions. Each check sees the changes made by
 * earlier checks. The checks are called once for each step, and not again when a recorded run is resumed.
 *
 * Contract of all checks: awaited for at most `toolTimeoutMs`. A check fails if it throws, rejects, takes longer, or returns an invalid
 * replacement. If a check of a call fails, the call is refused. If a check of a result fails, the result is withheld. If a check of input
 * or output fails, the run is stopped. A value passes if the check returns nothing.
 */
export interface Guardrail<Context = unknown> {
  /** The guardrail's name in events, in the log, in messages to the model and in the result. */
  readonly name: string
  /**
   * Checks the input of a run before anything is sent, and later the messages that a `RunControl` sends. `refuse` acts like `stop` here,
   * because there is no model to tell. In the result, a note replaces messages that did not pass, so that a later run does not send them.
   */
  input?(check: HookPlace<Context> & { readonly messages: readonly ChatMessage[] }): Awaitable<GuardrailVerdict<readonly MessageInput[]>>
  /**
   * Checks the text of each response before the text is shown. If the answer has a schema, the text is the answer as JSON. Reasoning is not
   * checked.
   *
   * `refuse` withholds an answer and asks the model for another, at most `outputRetries` times. After that, the run ends `refused`. If the
   * response also has calls, `refuse` only removes the response's text.
   */
  output?(check: HookPlace<Context> & { readonly text: string }): Awaitable<GuardrailVerdict<string>>
  /**
   * If set, text is shown before the response is complete. `output` is called with one piece at a time, and each piece is shown when it has
   * passed. `'sentences'`: `text` is one sentence, or 1,000 characters of a long sentence. `{ window: n }`: `text` is n further characters,
   * preceded by the last n characters that have passed.
   *
   * A refused piece is not shown, nor is anything after it. If part of a refused answer was already shown, the event `MODEL_RETRY` with
   * `discards` tells viewers to discard it, and the model answers again. If the part was already delivered through `.text` or `onText`,
   * which can't discard it, the run ends `refused` instead.
   *
   * Default: the whole text is checked at once. `stream` has no effect if the answer has a schema, or if another guardrail with `output`
   * has no `stream`.
   */
  readonly stream?: 'sentences' | { readonly window: number }
  /** Checks each call of a turn, before any of them runs. Replaced arguments are validated again. */
  call?(call: ToolTurn<Context>): Awaitable<GuardrailVerdict<JsonObject>>
  /** Checks the result of a call, in the form that the model gets. Called after all hooks. */
  result?(ending: ToolEnding<Context>): Awaitable<GuardrailVerdict<Content>>
}

const places = ['input', 'output', 'call', 'result'] as const
export type GuardrailPlace = (typeof places)[number]

/** The guardrails of a run, grouped by what they check. Each group is in the order in which its guardrails are called. */
export type GuardrailsByPlace = Readonly<Record<GuardrailPlace, readonly Guardrail<never>[]>>

const guardrailNames: OptionNames<Guardrail> = { name: true, input: true, output: true, stream: true, call: true, result: true }

/** Throws `invalid_option` if a guardrail is invalid or has an unknown field. */
export function checkGuardrails(guardrails: readonly Guardrail<never>[] | undefined): void {
  if (guardrails === undefined) return
  if (!Array.isArray(guardrails)) throw new InvalidOptionError('guardrails', 'an array of guardrails', guardrails)
  for (const [at, guardrail] of guardrails.entries()) {
    if (typeof guardrail?.name !== 'string' || guardrail.name === '')
      throw new InvalidOptionError(`guardrails[${at}].name`, 'a string', guardrail?.name)
    checkCallbackNames(guardrail, guardrailNames, 'a guardrail', `guardrails[${at}]`)
    checkStream(guardrail, `guardrails[${at}].stream`)
    for (const place of places) {
      const check: unknown = guardrail[place]
      if (check !== undefined && typeof check !== 'function')
        throw new InvalidOptionError(`guardrails[${at}].${place}`, 'a function', check)
    }
  }
}

function checkStream({ stream, output }: Guardrail<never>, name: string): void {
  if (stream === undefined || stream === 'sentences') {
    if (stream === undefined || output !== undefined) return
    throw new InvalidOptionError(name, 'absent without `output`', stream)
  }
  const window: unknown = typeof stream === 'object' && stream !== null ? stream.window : undefined
  if (!Number.isSafeInteger(window) || Number(window) < 1)
    throw new InvalidOptionError(name, "'sentences' or `{ window }`, an integer ≥ 1", stream)
  if (output === undefined) throw new InvalidOptionError(name, 'absent without `output`', stream)
}
