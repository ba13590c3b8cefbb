import type { ErrorCode } from '../core/errors.ts'
import { clip, messageOf, show } from '../core/errors.ts'
import { isDeeperThan, parseUpTo } from '../core/json.ts'
import { copyJson, isJsonObject, type JsonObject } from '../core/messages.ts'
import { coerceArguments, coercions } from './schema/coerce.ts'
import { firstProblems } from './schema/problems-in-words.ts'
import { compileSchema, mayHoldUp, parametersOf, standardSchemaOf } from './schema/schema.ts'
import { invalidArgumentsText, unreadableArgumentsText } from './told.ts'
import type { AnyTool } from './tool.ts'
import { Pauses } from './yield-to-event-loop.ts'

/** How deeply arguments may nest, so that code can recurse into them. */
const maxDepth = 512

/** Characters of arguments that are read whatever else is done in this turn of the event loop. */
const mostReadAtOnce = 100_000

/** A call that may run: its tool, the arguments as JSON, and the tool's input (the same, or what its Standard Schema made of a copy). */
export interface PreparedCall {
  tool: AnyTool
  args: JsonObject
  input: unknown
}

interface ArgumentsProblem {
  code: ErrorCode
  /** In words the model can act on. */
  message: string
  /** The arguments, where they could at least be parsed. */
  args?: JsonObject
}

/** `repairs`: what was corrected in the arguments. */
export type Preparation = { ok: true; call: PreparedCall; repairs?: string[] } | { ok: false; problem: ArgumentsProblem }

/**
 * Parses a call's arguments strictly: they are a JSON object, or refused; nothing is guessed. Empty text means no arguments, as several
 * providers send it for a tool that takes none.
 */
export function parseArguments(
  raw: string,
  maxValues: number = Number.POSITIVE_INFINITY,
): { ok: true; args: JsonObject } | { ok: false; code: ErrorCode; problem: string } {
  if (raw.trim() === '') return { ok: true, args: {} }
  let value: unknown
  try {
    value = Number.isFinite(maxValues) ? parseUpTo(maxValues, raw) : JSON.parse(raw)
    if (value === undefined) {
      const problem = `more than ${maxValues} values (a field of an object counts ten times); make several calls of it`
      return { ok: false, code: 'invalid_arguments_json', problem }
    }
  } catch (error) {
    if (isCutJson(raw)) return { ok: false, code: 'tool_call_truncated', problem: 'the text ends before the JSON object does' }
    return { ok: false, code: 'invalid_arguments_json', problem: `not valid JSON (${messageOf(error)})` }
  }
  // A text that is no longer than that can't nest deeper.
  if (raw.length > maxDepth && isDeeperThan(maxDepth, value)) {
    return { ok: false, code: 'invalid_arguments_json', problem: `nested deeper than ${maxDepth} levels` }
  }
  if (isJsonObject(value)) return { ok: true, args: value }
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
  return { ok: false, code: 'invalid_arguments_json', problem: `expected a JSON object, got ${kind}` }
}

/** Whether a text that is not JSON only lacks its end: brackets or a string are still open when it stops. */
export function isCutJson(text: string): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (inString) {
      if (code === 0x5c) i++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) depth++
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return inString || depth > 0
}

/** How a call's arguments are read. */
export interface ArgumentTerms {
  /** The call was written as text: values are put into the schema's types before. Default false. */
  asText?: boolean
  /** Most values they may have: items, and fields, which count ten times. Default: no limit. */
  maxValues?: number
}

/**
 * Parses and validates: first the JSON Schema, then the tool's own schema, which may transform. Values of a call that was written as text
 * (`asText`) are first converted to the schema's types. Never throws.
 */
export async function prepareArguments(
  tool: AnyTool,
  raw: string,
  { asText = false, maxValues }: ArgumentTerms = {},
): Promise<Preparation> {
  const pauses = new Pauses()
  // Many calls may be prepared at once: what takes long for one of them is done in a turn of the event loop of its own.
  if (raw.length > mostReadAtOnce || (mayHoldUp(parametersOf(tool)) && pauses.areDue())) await pauses.turn()
  const parsed = parseArguments(raw, maxValues)
  if (!parsed.ok) {
    return { ok: false, problem: { code: parsed.code, message: unreadableArgumentsText(tool.name, parsed.problem, show(raw)) } }
  }
  const args = asText ? coerceArguments(parsed.args, parametersOf(tool)) : parsed.args
  const fitted = await fitArguments(tool, args)
  if ('input' in fitted) {
    const repairs = asText ? coercions(parsed.args, args) : []
    return { ok: true, call: { tool, args, input: fitted.input }, ...(repairs.length === 0 ? {} : { repairs }) }
  }
  return { ok: false, problem: { code: 'invalid_arguments', message: invalidArgumentsText(tool.name, fitted.problems), args } }
}

/** The tool's input for these arguments, or what in them is not valid. Never throws. */
export async function fitArguments(tool: AnyTool, args: JsonObject): Promise<{ input: unknown } | { problems: string[] }> {
  try {
    const problems = compileSchema(parametersOf(tool), tool.name)(args)
    if (problems.length > 0) return { problems }
    const schema = standardSchemaOf(tool)
    if (schema === undefined) return { input: args }
    const checked = await schema['~standard'].validate(copyJson(args))
    if (checked.issues === undefined) return { input: checked.value }
    return { problems: firstProblems(checked.issues.map(issueInWords)) }
  } catch (error) {
    return { problems: [`the check failed: ${messageOf(error)}`] }
  }
}

function issueInWords({
  path,
  message,
}: {
  message: string
  path?: ReadonlyArray<PropertyKey | { key: PropertyKey }> | undefined
}): string {
  if (path === undefined || path.length === 0) return `arguments: ${clip(message)}`
  return `\`${clip(path.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.'))}\`: ${clip(message)}`
}
