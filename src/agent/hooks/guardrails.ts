import pTimeout from 'p-timeout'
import { InvalidOptionError, messageOf } from '../../core/errors.ts'
import { Event } from '../../core/events.ts'
import { isContent, type MessageInput, toChatMessages } from '../../core/message-input.ts'
import { type ChatMessage, type Content, copyJson, isJsonObject, type JsonObject } from '../../core/messages.ts'
import { checkCallbackNames, type OptionNames } from '../../core/option-names.ts'
import type { LiveRun } from '../run/run-context.ts'
import type { HookPlace, ToolEnding, ToolTurn } from './hooks.ts'

/** What a check says: nothing, and all is well; or what is to be done. */
export type GuardrailVerdict<T> =
  | undefined
  /** Goes on with this instead. */
  | { replace: T }
  /** Not this; the model is told why, and goes on. */
  | { refuse: string }
  /** The run ends: stop reason `refused`, error code `guardrail`. */
  | { stop: string }

type Verdict<T> = GuardrailVerdict<T> | Promise<GuardrailVerdict<T>>

/**
 * Checks by a name, asked one after the other, each seeing what those before it left. A check that throws, rejects, puts something in place
 * of its subject that can't be there, or takes longer than an attempt at a tool may take has not passed: the call is refused, the result
 * withheld, the run stopped. Asked once for each step, and not again when a run is taken up from its record.
 */
export interface Guardrail<Context = unknown> {
  /** In events, in the log, and in what the model and the result are told. */
  readonly name: string
  /**
   * What the run was started with, before anything is sent, and what a `RunControl` sends to it. `refuse` is `stop` here: there is no one
   * to go on. What has not passed is in the result as a note that it was withheld, so that a run that goes on from there does not send it.
   */
  input?(check: HookPlace<Context> & { readonly messages: readonly ChatMessage[] }): Verdict<readonly MessageInput[]>
  /**
   * The text of each response, and an answer with a schema as JSON, however it is given; with such a check they are given out only when they
   * have passed. `refuse` on an answer: it is withheld, and the model answers again (at most `outputRetries` times, then the run ends
   * `refused`); beside calls: the text is left out. Reasoning is not checked.
   */
  output?(check: HookPlace<Context> & { readonly text: string }): Verdict<string>
  /** A call that is about to be run, after all hooks. Replaced arguments are validated again. */
  call?(call: ToolTurn<Context>): Verdict<JsonObject>
  /** What the model is to be given, after all hooks. */
  result?(ending: ToolEnding<Context>): Verdict<Content>
}

const places = ['input', 'output', 'call', 'result'] as const
type Place = (typeof places)[number]

/** What came of all checks: what is left of the subject, or which of them ended it. */
export type Checked<T> = { passed: true; subject: T } | { passed: false; how: 'refuse' | 'stop'; reason: string }

export function hasGuardrail({ settings }: LiveRun, place: Place): boolean {
  return settings.guardrails?.some((guardrail) => guardrail[place] !== undefined) === true
}

export function checkInput(run: LiveRun, messages: readonly ChatMessage[], iteration: number): Promise<Checked<readonly ChatMessage[]>> {
  const place = placeOf(run, iteration)
  return askAll(run, place, 'input', messages, async (guardrail, asked) =>
    taken(await guardrail.input?.({ ...place, messages: copyJson(asked) })),
  )
}

export function checkOutput(run: LiveRun, iteration: number, text: string): Promise<Checked<string>> {
  const place = placeOf(run, iteration)
  return askAll(run, place, 'output', text, (guardrail, asked) => guardrail.output?.({ ...place, text: asked }))
}

export function checkCall(run: LiveRun, call: ToolTurn<never>): Promise<Checked<JsonObject>> {
  return askAll(run, call, 'call', call.args, (guardrail, args) => guardrail.call?.({ ...call, args: copyJson(args) }))
}

export function checkResult(run: LiveRun, ending: ToolEnding<never>): Promise<Checked<Content>> {
  return askAll(run, ending, 'result', ending.content, (guardrail, content) =>
    guardrail.result?.({ ...ending, args: copyJson(ending.args), content: copyJson(content) }),
  )
}

/** Stands in the conversation for what has not passed. */
export function withheld(reason: string): string {
  return `[Withheld: ${reason}]`
}

const guardrailNames: OptionNames<Guardrail> = { name: true, input: true, output: true, call: true, result: true }

/** Throws `invalid_option` for what are no guardrails, or have a function that would never be called. */
export function checkGuardrails(guardrails: readonly Guardrail<never>[] | undefined): void {
  if (guardrails === undefined) return
  if (!Array.isArray(guardrails)) throw new InvalidOptionError('guardrails', 'an array of guardrails', guardrails)
  for (const [at, guardrail] of guardrails.entries()) {
    if (typeof guardrail?.name !== 'string' || guardrail.name === '')
      throw new InvalidOptionError(`guardrails[${at}].name`, 'a text', guardrail?.name)
    checkCallbackNames(guardrail, guardrailNames, 'a guardrail', `guardrails[${at}]`)
    for (const place of places) {
      const check: unknown = guardrail[place]
      if (check !== undefined && typeof check !== 'function')
        throw new InvalidOptionError(`guardrails[${at}].${place}`, 'a function', check)
    }
  }
}

function placeOf(run: LiveRun, iteration: number): HookPlace<never> {
  return { runId: run.runId, iteration, context: run.settings.context as never, signal: run.signal }
}

async function askAll<T>(
  run: LiveRun,
  { iteration, toolCallId }: { iteration: number; toolCallId?: string },
  place: Place,
  first: T,
  check: (guardrail: Guardrail<never>, subject: T) => Verdict<T>,
): Promise<Checked<T>> {
  let subject = first
  for (const guardrail of run.settings.guardrails ?? []) {
    if (guardrail[place] === undefined) continue
    const verdict = await ask(run, guardrail, place, async () => check(guardrail, subject))
    if (run.interruption !== undefined) return { passed: false, how: 'refuse', reason: `${guardrail.name}: the run ended before the check` }
    if (verdict === undefined) continue
    const { name } = guardrail
    const meta = { iteration, ...(toolCallId === undefined ? {} : { toolCallId }) }
    if ('stop' in verdict || 'refuse' in verdict) {
      const how = 'stop' in verdict ? 'stop' : 'refuse'
      const reason = String('stop' in verdict ? verdict.stop : verdict.refuse)
      run.emit(Event.GUARDRAIL, { guardrail: name, place, verdict: how, reason }, meta)
      return { passed: false, how, reason: `${name}: ${reason}` }
    }
    run.emit(Event.GUARDRAIL, { guardrail: name, place, verdict: 'replace' }, meta)
    subject = verdict.replace
  }
  return { passed: true, subject }
}

/** The verdict with its messages as they are kept. Throws `invalid_message`. */
function taken(verdict: GuardrailVerdict<readonly MessageInput[]>): GuardrailVerdict<readonly ChatMessage[]> {
  if (typeof verdict !== 'object' || verdict === null || !('replace' in verdict)) return verdict
  return { replace: toChatMessages(verdict.replace, 'replace') }
}

/** Throws for what can't be in the subject's place. */
function checkReplacement(place: Place, value: unknown): void {
  if (place === 'output' && typeof value !== 'string') throw new TypeError('Expected `replace` to be a text')
  else if (place === 'call' && !isJsonObject(value)) throw new TypeError('Expected `replace` to be the arguments, an object')
  else if (place === 'result' && !isContent(value)) throw new TypeError('Expected `replace` to be a text or an array of parts')
  // What is no JSON, such as an object that holds itself, throws here.
  else JSON.stringify(value)
}

/** One that fails has not passed. */
async function ask<T>(
  run: LiveRun,
  { name }: Guardrail<never>,
  place: Place,
  check: () => Promise<GuardrailVerdict<T>>,
): Promise<GuardrailVerdict<T>> {
  try {
    const verdict = await pTimeout(run.untilInterrupted(check()), { milliseconds: run.limits.toolTimeoutMs })
    if (verdict === undefined || verdict === null) return undefined
    if (typeof verdict === 'object' && ('refuse' in verdict || 'stop' in verdict)) return verdict
    if (typeof verdict === 'object' && 'replace' in verdict) {
      checkReplacement(place, verdict.replace)
      return verdict
    }
    throw new TypeError('Expected `undefined`, `{ replace }`, `{ refuse }` or `{ stop }`')
  } catch (error) {
    run.logger.error({ runId: run.runId, guardrail: name, place, error: messageOf(error) }, 'a guardrail failed: it counts as not passed')
    const reason = 'the check itself failed'
    return place === 'input' || place === 'output' ? { stop: reason } : { refuse: reason }
  }
}
