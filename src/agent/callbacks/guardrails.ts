import type { Awaitable } from '../../core/callbacks/callbacks.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { ChatMessage, Content, JsonObject } from '../../core/messages.ts'
import { checkCallbackNames, type OptionNames } from '../../core/option-names.ts'
import type { HookPlace, ToolEnding, ToolTurn } from './hooks.ts'

/** The result of a check: nothing if it passed, or what to do. */
export type GuardrailVerdict<T> =
  | undefined
  /** Goes on with this instead. */
  | { replace: T }
  /** Not this; the model is told why, and goes on. */
  | { refuse: string }
  /** The run ends: stop reason `refused`, error code `guardrail`. */
  | { stop: string }

/**
 * A named set of checks, called one after the other after all hooks and entries. Each sees what those before it changed. They are asked
 * once for each step, and not again when a run is resumed from its record.
 *
 * Contract of all checks: awaited, for as long as an attempt at a tool may take (`toolTimeoutMs`). A check that throws, rejects, takes longer, or
 * replaces its subject with what can't be there has not passed: the call is refused, the result withheld, the run stopped. Returning nothing
 * passes.
 */
export interface Guardrail<Context = unknown> {
  /** In events, in the log, and in what the model and the result are told. */
  readonly name: string
  /**
   * What the run was started with, before anything is sent, and what a `RunControl` sends to it. `refuse` is `stop` here: there is no one
   * to go on. What has not passed is in the result as a note that it was withheld, so that a run that goes on from there does not send it.
   */
  input?(check: HookPlace<Context> & { readonly messages: readonly ChatMessage[] }): Awaitable<GuardrailVerdict<readonly MessageInput[]>>
  /**
   * The text of each response, and an answer with a schema as JSON, however it is given; with such a check they are given out only when they
   * have passed. `refuse` on an answer: it is withheld, and the model answers again (at most `outputRetries` times, then the run ends
   * `refused`); beside calls: the text is left out. Reasoning is not checked.
   */
  output?(check: HookPlace<Context> & { readonly text: string }): Awaitable<GuardrailVerdict<string>>
  /**
   * Lets text be shown before the response is whole: `output` is asked about one piece after the other, and each is shown when it has passed.
   * `'sentences'`: `text` is one sentence, or 1 000 characters of one. `{ window: n }`: `text` is n characters more, behind the n characters before
   * them, which have passed. All guardrails with `output` need it, and an answer with a schema is checked whole in any case.
   *
   * A piece that is refused is not shown, nor is what comes behind it. What was shown of a refused answer is taken back (`MODEL_RETRY` with
   * `discards`) and the model answers again; if somebody watches who can't take it back (`.text`, `onText`), the run ends `refused`.
   * Default: the whole text is checked at once.
   */
  readonly stream?: 'sentences' | { readonly window: number }
  /** Called for each call of a turn, before any of them runs. Replaced arguments are validated again. */
  call?(call: ToolTurn<Context>): Awaitable<GuardrailVerdict<JsonObject>>
  /** What the model is to be given, after all hooks. */
  result?(ending: ToolEnding<Context>): Awaitable<GuardrailVerdict<Content>>
}

const places = ['input', 'output', 'call', 'result'] as const
export type GuardrailPlace = (typeof places)[number]

/** Whether there is a check of that kind. */
export function hasGuardrail(guardrails: readonly Guardrail<never>[] | undefined, place: GuardrailPlace): boolean {
  return guardrails?.some((guardrail) => guardrail[place] !== undefined) === true
}

const guardrailNames: OptionNames<Guardrail> = { name: true, input: true, output: true, stream: true, call: true, result: true }

/** Throws `invalid_option` for what are no guardrails, or have a function that would never be called. */
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
