import type { EventPayloads } from '../../core/events.ts'
import { isLargerThan, toJson } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject, textOf } from '../../core/messages.ts'
import { redact, redactText, secretTexts } from '../../core/redaction/redact.ts'
import { REDACTED } from '../../core/redaction/spans.ts'
import { resultText } from '../../tools/result-text.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { ToolCallEnd } from '../../tools/tool-runner.ts'
import { shownAbout } from '../nested/nested-items.ts'
import type { RunningCall } from '../types/running-call.ts'

/** The maximum size, in characters, of arguments or values that are searched for secrets. */
export const mostShown = 65_536

/** The arguments as listeners see them before the call runs, and the texts that were removed. */
export function shownInput({ secrets = [] }: Pick<AnyTool, 'secrets'>, args: JsonObject): { args: JsonObject; hidden: readonly string[] } {
  const names = new Set(secrets)
  if (names.size === 0 && isLargerThan(mostShown, args)) return { args, hidden: [] }
  const hidden = secretTexts(args, names)
  const isOpen = names.size === 0 && hidden.length === 0
  return { args: isOpen ? args : (redact(args, names) as JsonObject), hidden }
}

/** A tool's progress report as listeners see it. */
export function shownUpdate({ secrets = [] }: Pick<AnyTool, 'secrets'>, args: JsonObject, update: Json): Json {
  const names = new Set(secrets)
  return names.size === 0 ? update : toJson(redact(update, names, secretTexts(args, names)))
}

/** The text of a result, without the secrets of the call. */
export function shownResult({ secrets = [] }: Pick<AnyTool, 'secrets'>, args: JsonObject, text: string): string {
  const names = new Set(secrets)
  const hidden = secretTexts(args, names)
  return names.size === 0 && hidden.length === 0 ? text : redactText(text, hidden, names)
}

/** The arguments as listeners see them. Undefined if they are too long. */
function shownArguments({ secrets }: Pick<AnyTool, 'secrets'>, args: JsonObject): JsonObject | undefined {
  return isLargerThan(mostShown, args) ? undefined : (redact(args, new Set(secrets)) as JsonObject)
}

/** A function's return value as listeners see it. Undefined if it is too long. */
function shownValue({ secrets }: Pick<AnyTool, 'secrets'>, args: JsonObject, value: unknown): Json | undefined {
  if (isLargerThan(mostShown, value)) return undefined
  const names = new Set(secrets)
  return toJson(redact(value, names, secretTexts(args, names)))
}

type RanEnd = Exclude<ToolCallEnd, { outcome: 'rejected' }>

/** The end of a call as listeners see it, without the secrets of the call. */
export function shownEnd({ prepared: { tool }, call }: RunningCall, end: RanEnd): EventPayloads['TOOL_CALL_END'] {
  const text = end.outcome === 'question' ? resultText(shownAbout(end.question.about)) : textOf(end.content)
  const result = shownResult(tool, call.args ?? {}, text)
  const payload: EventPayloads['TOOL_CALL_END'] = {
    tool: call.name,
    result,
    bytes: Buffer.byteLength(result),
    outcome: end.outcome,
  }
  const args = shownArguments(tool, call.args ?? {})
  if (args !== undefined) payload.args = args
  if ('code' in end) payload.errorCode = end.code
  if (end.outcome === 'ok' && end.value !== undefined) {
    const value = shownValue(tool, call.args ?? {}, end.value)
    if (value !== undefined) payload.value = value
  }
  return payload
}

/** A call that did not run, as listeners see it. `hidden`: the secret texts that were removed. */
export interface ShownRejection {
  args: JsonObject | string
  error: string
  hidden: readonly string[]
}

/**
 * Returns a rejected call as listeners see it. `args`: the raw text if the arguments could not be parsed. For a tool with secrets, raw text
 * is not shown at all, because the secrets in it can't be located.
 */
export function shownRejection(tool: Pick<AnyTool, 'secrets'> | undefined, args: JsonObject | string, error: string): ShownRejection {
  const names = new Set(tool?.secrets)
  const length = () => (typeof args === 'string' ? args : JSON.stringify(args)).length
  if (isJsonObject(args)) {
    const hidden = secretTexts(args, names)
    const shown = isLargerThan(mostShown, args) ? `${REDACTED} (${length()} characters)` : (redact(args, names) as JsonObject)
    return { args: shown, error: hidden.length === 0 ? error : redactText(error, hidden), hidden }
  }
  if (names.size === 0) return { args, error, hidden: [] }
  const shown = args === '' ? '' : `${REDACTED} (${length()} characters that are not a JSON object)`
  // A text of fewer than three characters is not treated as a secret, because it occurs in too many other texts.
  const hidden = args.length >= 3 ? [args] : []
  return { args: shown, error: redactText(error, hidden), hidden }
}
