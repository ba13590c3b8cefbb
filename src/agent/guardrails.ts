import pTimeout from 'p-timeout'
import { InvalidOptionError, messageOf } from '../errors.ts'
import { Event } from '../events.ts'
import { type ChatMessage, type Content, copyJson, type JsonObject } from '../messages.ts'
import type { HookPlace, ToolEnding, ToolTurn } from './hooks.ts'
import type { LiveRun } from './live-run.ts'

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
 * Checks by a name, asked one after the other, each seeing what those before it left. A check that throws, rejects or takes longer than an
 * attempt at a tool may take has not passed: the call is refused, the result withheld, the run stopped. Asked once for each step, and not
 * again when a run is taken up from its record.
 */
export interface Guardrail<Context = unknown> {
  /** In events, in the log, and in what the model and the result are told. */
  readonly name: string
  /** What the run was started with, before anything is sent. `refuse` is `stop` here: there is no one to go on. */
  input?(check: HookPlace<Context> & { readonly messages: readonly ChatMessage[] }): Verdict<readonly ChatMessage[]>
  /**
   * The text of each response; with such a check text is given out only when it has passed. `refuse` on an answer: it is withheld, and the
   * model answers again (at most `outputRetries` times, then the run ends `refused`); beside calls: the text is left out. Reasoning is not
   * checked.
   */
  output?(check: HookPlace<Context> & { readonly text: string }): Verdict<string>
  /** A call that is about to be run, after all hooks. Replaced arguments are validated again. */
  call?(call: ToolTurn<Context>): Verdict<JsonObject>
  /** What the model is to be given, after all hooks. */
  result?(ending: ToolEnding<Context>): Verdict<Content>
}

type Place = 'input' | 'output' | 'call' | 'result'

/** What came of all checks: what is left of the subject, or which of them ended it. */
export type Checked<T> = { passed: true; subject: T } | { passed: false; how: 'refuse' | 'stop'; reason: string }

export function hasGuardrail({ settings }: LiveRun, place: Place): boolean {
  return settings.guardrails?.some((guardrail) => guardrail[place] !== undefined) === true
}

export function checkInput(run: LiveRun, messages: readonly ChatMessage[]): Promise<Checked<readonly ChatMessage[]>> {
  const place = placeOf(run, 0)
  return askAll(run, place, 'input', messages, (guardrail, asked) => guardrail.input?.({ ...place, messages: copyJson(asked) }))
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

/** Throws `invalid_option` for what are no guardrails. */
export function checkGuardrails(guardrails: readonly Guardrail<never>[] | undefined): void {
  if (guardrails === undefined) return
  if (!Array.isArray(guardrails)) throw new InvalidOptionError('guardrails', 'an array of guardrails', guardrails)
  for (const [at, guardrail] of guardrails.entries()) {
    if (typeof guardrail?.name !== 'string' || guardrail.name === '')
      throw new InvalidOptionError(`guardrails[${at}].name`, 'a text', guardrail?.name)
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
    if (verdict === undefined) continue
    const how = 'replace' in verdict ? 'replace' : 'stop' in verdict ? 'stop' : 'refuse'
    const reason = 'replace' in verdict ? {} : { reason: String('stop' in verdict ? verdict.stop : verdict.refuse) }
    const meta = { iteration, ...(toolCallId === undefined ? {} : { toolCallId }) }
    run.emit(Event.GUARDRAIL, { guardrail: guardrail.name, place, verdict: how, ...reason }, meta)
    if ('replace' in verdict) subject = verdict.replace
    else return { passed: false, how: 'stop' in verdict ? 'stop' : 'refuse', reason: `${guardrail.name}: ${reason.reason}` }
  }
  return { passed: true, subject }
}

/** One that fails has not passed. Nothing is said once the run is interrupted: then it ends anyway. */
async function ask<T>(
  run: LiveRun,
  { name }: Guardrail<never>,
  place: Place,
  check: () => Promise<GuardrailVerdict<T>>,
): Promise<GuardrailVerdict<T>> {
  try {
    const verdict = await pTimeout(run.untilInterrupted(check()), { milliseconds: run.limits.toolTimeoutMs })
    if (verdict === undefined || verdict === null) return undefined
    if (typeof verdict === 'object' && ('replace' in verdict || 'refuse' in verdict || 'stop' in verdict)) return verdict
    throw new TypeError('Expected `undefined`, `{ replace }`, `{ refuse }` or `{ stop }`')
  } catch (error) {
    run.logger.error({ runId: run.runId, guardrail: name, place, error: messageOf(error) }, 'a guardrail failed: it counts as not passed')
    const reason = 'the check itself failed'
    return place === 'input' || place === 'output' ? { stop: reason } : { refuse: reason }
  }
}
