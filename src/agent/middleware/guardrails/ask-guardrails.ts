import { isDeepStrictEqual } from 'node:util'
import pTimeout from 'p-timeout'
import type { Awaitable } from '../../../core/callbacks/callbacks.ts'
import { messageOf } from '../../../core/errors.ts'
import { Event } from '../../../core/events.ts'
import { isContent, type MessageInput, toChatMessages } from '../../../core/message-input.ts'
import { type ChatMessage, type Content, copyJson, isJsonObject, type JsonObject, withoutUndefined } from '../../../core/messages.ts'
import type { Guardrail, GuardrailPlace, GuardrailVerdict } from '../../callbacks/guardrails.ts'
import type { ToolEnding, ToolTurn } from '../../callbacks/hooks.ts'
import { placeOf, type RunContext } from '../../run/run-context.ts'
import { checkFailed, endedBeforeCheck, shownAlready, withheldText } from '../../run-texts.ts'
import type { Beside } from '../../types/recorded.ts'

/** The result of all checks: the subject after replacements, or the reason why the subject did not pass. */
export type Checked<T> = { passed: true; subject: T } | { passed: false; how: 'refuse' | 'stop'; reason: string }

function checkInput(
  run: RunContext,
  messages: readonly ChatMessage[],
  iteration: number,
  guardrails = run.agent.guardrails.input,
): Promise<Checked<readonly ChatMessage[]>> {
  const place = placeOf(run, iteration)
  const check = async (guardrail: Guardrail<never>, asked: readonly ChatMessage[]) =>
    asMessages(await guardrail.input?.({ ...place, messages: copyJson(asked) }))
  return askAll(run, place, 'input', messages, check, guardrails)
}

/**
 * Asks the guardrails of an agent about the conversation that it is about to take over. Returns the reason if the agent must not take over.
 * Replacing a message counts as a refusal, because the conversation can no longer be changed.
 */
export async function checkHandoff(
  run: RunContext,
  guardrails: readonly Guardrail<never>[],
  messages: readonly ChatMessage[],
  iteration: number,
): Promise<string | undefined> {
  const checked = await checkInput(run, messages, iteration, guardrails)
  // If the run was interrupted, it ends for that reason, not because of the guardrail.
  if (run.interruption !== undefined) return undefined
  if (!checked.passed) return checked.reason
  return isDeepStrictEqual(checked.subject, messages) ? undefined : shownAlready
}

export function checkOutput(run: RunContext, iteration: number, text: string): Promise<Checked<string>> {
  const place = placeOf(run, iteration)
  return askAll(run, place, 'output', text, (guardrail, asked) => guardrail.output?.({ ...place, text: asked }))
}

/** Asks one guardrail about a piece of a text. */
export function checkPiece(run: RunContext, iteration: number, guardrail: Guardrail<never>, text: string): Promise<Checked<string>> {
  const place = placeOf(run, iteration)
  return askAll(run, place, 'output', text, (one, asked) => one.output?.({ ...place, text: asked }), [guardrail])
}

export function checkCall(run: RunContext, call: ToolTurn<never>): Promise<Checked<JsonObject>> {
  return askAll(run, call, 'call', call.args, (guardrail, args) => guardrail.call?.({ ...call, args: copyJson(args) }))
}

export function checkResult(run: RunContext, ending: ToolEnding<never>): Promise<Checked<Content>> {
  return askAll(run, ending, 'result', ending.content, (guardrail, content) =>
    guardrail.result?.({ ...ending, args: copyJson(ending.args), content: copyJson(content) }),
  )
}

async function askAll<T>(
  run: RunContext,
  { iteration, toolCallId }: { iteration: number; toolCallId?: string },
  place: GuardrailPlace,
  first: T,
  check: (guardrail: Guardrail<never>, subject: T) => Awaitable<GuardrailVerdict<T>>,
  guardrails: readonly Guardrail<never>[] = run.agent.guardrails[place],
): Promise<Checked<T>> {
  let subject = first
  for (const guardrail of guardrails) {
    const verdict = await ask(run, guardrail, place, async () => check(guardrail, subject))
    if (run.interruption !== undefined) return { passed: false, how: 'refuse', reason: `${guardrail.name}: ${endedBeforeCheck}` }
    if (verdict === undefined) continue
    const { name } = guardrail
    const meta = { iteration, ...withoutUndefined({ toolCallId }) }
    if ('stop' in verdict || 'refuse' in verdict) {
      const how = 'stop' in verdict ? 'stop' : 'refuse'
      const reason = String('stop' in verdict ? verdict.stop : verdict.refuse)
      run.events.emit(Event.GUARDRAIL, { guardrail: name, place, verdict: how, reason }, meta)
      return { passed: false, how, reason: `${name}: ${reason}` }
    }
    run.events.emit(Event.GUARDRAIL, { guardrail: name, place, verdict: 'replace' }, meta)
    subject = verdict.replace
  }
  return { passed: true, subject }
}

/** Returns the verdict with normalized messages. Throws `invalid_message`. */
function asMessages(verdict: GuardrailVerdict<readonly MessageInput[]>): GuardrailVerdict<readonly ChatMessage[]> {
  if (typeof verdict !== 'object' || verdict === null || !('replace' in verdict)) return verdict
  return { replace: toChatMessages(verdict.replace, 'replace') }
}

/** Throws if the value that a guardrail returned as `replace` has the wrong type for its place. */
function checkReplacement(place: GuardrailPlace, value: unknown): void {
  if (place === 'output' && typeof value !== 'string') throw new TypeError('Expected `replace` to be a string')
  else if (place === 'call' && !isJsonObject(value)) throw new TypeError('Expected `replace` to be the arguments, an object')
  else if (place === 'result' && !isContent(value)) throw new TypeError('Expected `replace` to be a string or an array of parts')
  // Throws for a value that is not JSON, such as an object that contains itself.
  else JSON.stringify(value)
}

/** Asks one guardrail. If the guardrail fails, the subject has not passed. */
async function ask<T>(
  run: RunContext,
  { name }: Guardrail<never>,
  place: GuardrailPlace,
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
    return place === 'input' || place === 'output' ? { stop: checkFailed } : { refuse: checkFailed }
  }
}

/** Passes the input of a run, or messages sent to it, through the guardrails. `refused`: the reason why the run does not continue. */
export async function checkedInput(
  run: RunContext,
  messages: readonly ChatMessage[],
  iteration = 0,
): Promise<{ messages: readonly ChatMessage[]; refused?: string } & Beside> {
  if (run.agent.guardrails.input.length === 0) return { messages }
  const checked = await checkInput(run, messages, iteration)
  const beside = run.budget.beside
  if (checked.passed) return { messages: checked.subject, ...beside }
  const noted: ChatMessage[] = [{ role: 'user', content: withheldText(checked.reason) }]
  // If the run was interrupted, it ends for that reason, not because of the guardrail.
  return run.interruption === undefined ? { messages: noted, refused: checked.reason, ...beside } : { messages: noted, ...beside }
}
