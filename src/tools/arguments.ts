import type { StandardSchemaV1 } from '@standard-schema/spec'
import pTimeout from 'p-timeout'
import type { ErrorCode } from '../core/errors.ts'
import { messageOf, show } from '../core/errors.ts'
import { JsonScanner } from '../core/json/json-scanner.ts'
import { hasMoreValues, parseUpTo } from '../core/json/value-count.ts'
import { isDeeperThan, jsonIn } from '../core/json.ts'
import { copyJson, isJsonObject, type Json, type JsonObject } from '../core/messages.ts'
import { nextTurn } from '../core/time/give-way.ts'
import { stoppedAfter } from '../core/time/stopped-after.ts'
import { coerceArguments, coercions, decodeArguments } from './schema/coerce.ts'
import { issuesInWords } from './schema/issues-in-words.ts'
import { compileSchema, mayTakeLong, parametersOf, standardSchemaOf, tooSlow } from './schema/schema.ts'
import { cancelledText, checkTimedOutText, invalidArgumentsText, unreadableArgumentsText } from './told.ts'
import type { AnyTool } from './tool.ts'

/** How deeply arguments may nest, so that code can recurse into them. */
export const maxDepth = 512

/** Characters of arguments that are read in a turn of the event loop with others. */
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
      const problem = `more than ${maxValues} values; make several calls of it`
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
  const json = new JsonScanner()
  for (let at = 0; at < text.length; at++) json.read(text.charCodeAt(at))
  return json.isInString || json.depth > 0
}

/** How a call's arguments are read. */
export interface ArgumentTerms {
  /** The call was written as text: values are put into the schema's types before. Default false. */
  asText?: boolean
  /**
   * A model made the call natively: arguments that were encoded twice are decoded, and so are texts in them that don't fit the schema and are
   * exactly the JSON of what it asks for. Default false.
   */
  asNative?: boolean
  /** Maximum number of values they may have. Default: no limit. */
  maxValues?: number
  /** How long a schema that checks asynchronously may take, in milliseconds, for a tool without a time limit of its own. Default 30,000. */
  timeoutMs?: number
  /** Ends such a check when it is aborted. */
  signal?: AbortSignal
}

/** Parses and validates, by the tool's own schema, which may transform, or by its JSON Schema. Never rejects. */
export async function prepareArguments(tool: AnyTool, raw: string, terms: ArgumentTerms = {}): Promise<Preparation> {
  // Many calls may be prepared at once.
  if (raw.length > mostReadAtOnce || mayTakeLong(parametersOf(tool))) await nextTurn()
  const preparing = prepareNow(tool, raw, terms)
  // A JSON Schema is checked at once.
  return standardSchemaOf(tool) === undefined ? preparing : inTime(tool, preparing, terms)
}

async function prepareNow(tool: AnyTool, raw: string, terms: ArgumentTerms): Promise<Preparation> {
  const { asText = false, asNative = false, maxValues } = terms
  const inner = asNative && !asText ? innerArguments(raw, maxValues) : undefined
  const parsed = parseArguments(inner ?? raw, maxValues)
  if (!parsed.ok) return unprepared(parsed.code, unreadableArgumentsText(tool.name, parsed.problem, show(raw)))
  const read = await (asText ? fitAsText(tool, parsed.args) : fitNative(tool, parsed.args, terms))
  return prepared(tool, read, inner === undefined ? [] : ['arguments decoded, which were encoded twice'])
}

/** Arguments as they are taken for the tool. */
interface ReadArguments {
  args: JsonObject
  fitted: FittedArguments
  /** What was read otherwise than it was written. */
  repairs: string[]
}

async function fitAsText(tool: AnyTool, given: JsonObject): Promise<ReadArguments> {
  const args = coerceArguments(given, parametersOf(tool))
  return { args, fitted: await fitArguments(tool, args), repairs: coercions(given, args) }
}

async function fitNative(tool: AnyTool, given: JsonObject, { asNative, maxValues }: ArgumentTerms): Promise<ReadArguments> {
  const asGiven: ReadArguments = { args: given, fitted: await fitArguments(tool, given), repairs: [] }
  if (asNative !== true || !('problems' in asGiven.fitted)) return asGiven
  const args = decodeArguments(given, parametersOf(tool), (text) => valueIn(text, maxValues))
  const repairs = coercions(given, args)
  if (repairs.length === 0 || isDeeperThan(maxDepth, args) || hasMoreValues(maxValues ?? Number.POSITIVE_INFINITY, args)) return asGiven
  const fitted = await fitArguments(tool, args)
  // The model is told what is wrong with what it wrote.
  return 'problems' in fitted ? asGiven : { args, fitted, repairs }
}

/** The value of a JSON text; undefined for any other, and for one of more values than that. */
function valueIn(text: string, maxValues: number = Number.POSITIVE_INFINITY): Json | undefined {
  try {
    return parseUpTo(maxValues, text) as Json | undefined
  } catch {
    return undefined
  }
}

/** The arguments' text in the text of arguments that were encoded twice; undefined for all others. */
export function innerArguments(raw: string, maxValues?: number): string | undefined {
  if (!/^\s*"/.test(raw)) return undefined
  const inner = jsonIn(raw)
  if (typeof inner !== 'string' || !inner.startsWith('{') || !inner.endsWith('}')) return undefined
  return isJsonObject(valueIn(inner, maxValues)) ? inner : undefined
}

function prepared(tool: AnyTool, { args, fitted, repairs }: ReadArguments, decoded: string[]): Preparation {
  if ('problems' in fitted) return unprepared('invalid_arguments', invalidArgumentsText(tool.name, fitted.problems), args)
  const call = { tool, args, input: fitted.input }
  const all = [...decoded, ...repairs]
  return all.length === 0 ? { ok: true, call } : { ok: true, call, repairs: all }
}

function unprepared(code: ErrorCode, message: string, args?: JsonObject): Preparation {
  return { ok: false, problem: { code, message, args } }
}

/** As long as one attempt at a call has by default. */
const defaultCheckMs = 30_000

/** An asynchronous check may never be done: it has as long as one attempt at the call has, and not longer than the run. */
async function inTime(
  tool: AnyTool,
  checking: Promise<Preparation>,
  { timeoutMs = defaultCheckMs, signal }: ArgumentTerms,
): Promise<Preparation> {
  const milliseconds = tool.timeoutMs ?? timeoutMs
  try {
    return await pTimeout(checking, { milliseconds, signal })
  } catch {
    // The check never rejects: it took too long, or the run is over.
    if (signal?.aborted) return unprepared('tool_cancelled', cancelledText(tool.name))
    return unprepared('tool_timeout', checkTimedOutText(tool.name, milliseconds))
  }
}

/** A tool's input, or what in the arguments is not valid. */
export type FittedArguments = { input: unknown } | { problems: string[] }

/** How long a tool's own schema may hold up the process, in milliseconds. It may run code of the program's, which takes longer than a pattern. */
const maxCheckMs = 100

/**
 * The tool's input for these arguments. A tool's own Standard Schema decides alone, because its JSON Schema says less than the schema does; for
 * any other tool, its JSON Schema decides. Never rejects.
 */
export async function fitArguments(tool: AnyTool, args: JsonObject): Promise<FittedArguments> {
  try {
    const standard = standardSchemaOf(tool)
    if (standard !== undefined) return await fitToStandard(standard, tool, args)
    const problems = compileSchema(parametersOf(tool), tool.name)(args)
    return problems.length > 0 ? { problems } : { input: args }
  } catch (error) {
    return { problems: [`the check failed: ${messageOf(error)}`] }
  }
}

async function fitToStandard(standard: StandardSchemaV1, tool: AnyTool, args: JsonObject): Promise<FittedArguments> {
  const validate = () => standard['~standard'].validate(copyJson(args))
  const checking = mayTakeLong(parametersOf(tool)) ? stoppedAfter(maxCheckMs, validate) : { value: validate() }
  if (checking === undefined) return { problems: [tooSlow] }
  const checked: unknown = await checking.value
  if (!isResult(checked)) throw new TypeError(`Expected the schema to return a result, got \`${show(checked)}\``)
  return fittedBy(checked, tool, args)
}

function isResult(checked: unknown): checked is StandardSchemaV1.Result<unknown> {
  return typeof checked === 'object' && checked !== null
}

function fittedBy(checked: StandardSchemaV1.Result<unknown>, tool: AnyTool, args: JsonObject): FittedArguments {
  const { issues } = checked
  if (issues === undefined) return { input: checked.value }
  let problems: string[] | undefined
  try {
    compileSchema(parametersOf(tool), tool.name)(args, (errors) => {
      problems = issuesInWords(issues, errors, args)
      return problems
    })
  } catch {
    // A JSON Schema that doesn't compile has nothing to say.
  }
  return { problems: problems ?? issuesInWords(issues, [], args) }
}
