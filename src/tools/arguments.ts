import type { StandardSchemaV1 } from '@standard-schema/spec'
import pTimeout from 'p-timeout'
import type { ErrorCode } from '../core/errors.ts'
import { messageOf, show } from '../core/errors.ts'
import { JsonScanner } from '../core/json/json-scanner.ts'
import { hasMoreValues, isDeeperThan, jsonIn, parseUpTo } from '../core/json.ts'
import { copyJson, isJsonObject, type Json, type JsonObject } from '../core/messages.ts'
import { yieldNow } from '../core/time/give-way.ts'
import { stoppedAfter } from '../core/time/stopped-after.ts'
import { cancelledText, checkTimedOutText, invalidArgumentsText, unreadableArgumentsText } from './call-texts.ts'
import { coerceArguments, coercions, decodeArguments } from './schema/coerce.ts'
import { issuesInWords } from './schema/issues-in-words.ts'
import { compileSchema, mayTakeLong, parametersOf, standardSchemaOf, tooSlow } from './schema/schema.ts'
import type { AnyTool } from './tool.ts'

/** Maximum nesting depth of arguments. Within this limit, recursive code can process them safely. */
export const maxDepth = 512

/** Length in characters above which argument texts are parsed in a separate turn of the event loop. */
const mostReadAtOnce = 100_000

/** A call that is ready to run. `input` is passed to `execute`: the arguments, or the output of the tool's Standard Schema. */
export interface PreparedCall {
  tool: AnyTool
  args: JsonObject
  input: unknown
}

interface ArgumentsProblem {
  code: ErrorCode
  /** The problem, worded for the model. */
  message: string
  /** The arguments, if they could be parsed. */
  args?: JsonObject
}

/** The result of preparing a call. `repairs` describes each correction that was made to the arguments. */
export type Preparation = { ok: true; call: PreparedCall; repairs?: string[] } | { ok: false; problem: ArgumentsProblem }

/**
 * Parses the arguments of a call as a JSON object. Refuses all other texts, and never guesses. An empty text means no arguments, because
 * several providers send an empty text for a tool without parameters.
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
  // A text of at most `maxDepth` characters can't be nested deeper than `maxDepth`.
  if (raw.length > maxDepth && isDeeperThan(maxDepth, value)) {
    return { ok: false, code: 'invalid_arguments_json', problem: `nested deeper than ${maxDepth} levels` }
  }
  if (isJsonObject(value)) return { ok: true, args: value }
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
  return { ok: false, code: 'invalid_arguments_json', problem: `expected a JSON object, got ${kind}` }
}

/** Whether a JSON text was cut off inside a string, object or array. */
export function isCutJson(text: string): boolean {
  const json = new JsonScanner()
  for (let at = 0; at < text.length; at++) json.read(text.charCodeAt(at))
  return json.isInString || json.depth > 0
}

/** Options for reading the arguments of a call. */
export interface ArgumentTerms {
  /** Whether the model wrote the call as text. If so, values are converted to the types in the schema before validation. Default false. */
  asText?: boolean
  /**
   * Whether the model made the call natively. Malformed arguments are then accepted if they contain exactly one JSON object (see
   * `innerArguments`). A string is decoded if the schema requires the JSON value that it contains. Default false.
   */
  asNative?: boolean
  /** Maximum number of values in the arguments. Default: no limit. */
  maxValues?: number
  /** Time limit for an asynchronous schema, in milliseconds, if the tool has no time limit of its own. Default 30,000. */
  timeoutMs?: number
  /** Cancels an asynchronous check. */
  signal?: AbortSignal
}

/**
 * Parses arguments, and validates them against the tool's Standard Schema, which may transform the arguments. If the tool has no Standard
 * Schema, validates them against its JSON Schema. Never rejects.
 */
export async function prepareArguments(tool: AnyTool, raw: string, terms: ArgumentTerms = {}): Promise<Preparation> {
  // Yields to the event loop before slow work, because many calls may be prepared at once.
  if (raw.length > mostReadAtOnce || mayTakeLong(parametersOf(tool))) await yieldNow()
  const { asText = false, asNative = false, maxValues } = terms
  const inner = asNative && !asText ? innerArguments(raw, maxValues) : undefined
  const parsed = parseArguments(inner ?? raw, maxValues)
  if (!parsed.ok) return unprepared(parsed.code, unreadableArgumentsText(tool.name, parsed.problem, show(raw)))
  const decoded = inner === undefined ? [] : [innerRepair(raw)]
  const isCheckedAtOnce = standardSchemaOf(tool) === undefined
  // Most arguments match the schema unchanged.
  const asGiven = isCheckedAtOnce && !asText ? fitToSchema(tool, parsed.args) : undefined
  if (asGiven !== undefined && 'input' in asGiven) return prepared(tool, parsed.args, asGiven.input, decoded)
  const reading = readArguments(tool, parsed.args, terms, asGiven)
  const read = await (isCheckedAtOnce ? reading : inTime(tool, reading, terms))
  if ('problem' in read) return { ok: false, problem: read.problem }
  const { args, fitted, repairs } = read
  if ('problems' in fitted) return unprepared('invalid_arguments', invalidArgumentsText(tool.name, fitted.problems), args)
  return prepared(tool, args, fitted.input, [...decoded, ...repairs])
}

function prepared(tool: AnyTool, args: JsonObject, input: unknown, repairs: string[]): Preparation {
  const call = { tool, args, input }
  return repairs.length === 0 ? { ok: true, call } : { ok: true, call, repairs }
}

/** The arguments of a call after repairs, and the result of checking them. */
interface ReadArguments {
  args: JsonObject
  fitted: FittedArguments
  /** Describes how `args` differs from the arguments that the model wrote. */
  repairs: string[]
}

/** `checked` is the result of checking the unchanged arguments, if they have already been checked. */
async function readArguments(
  tool: AnyTool,
  given: JsonObject,
  { asText, asNative, maxValues }: ArgumentTerms,
  checked: FittedArguments | undefined,
): Promise<ReadArguments> {
  if (asText === true) {
    const args = coerceArguments(given, parametersOf(tool))
    return { args, fitted: await fitArguments(tool, args), repairs: coercions(given, args) }
  }
  const asGiven: ReadArguments = { args: given, fitted: checked ?? (await fitArguments(tool, given)), repairs: [] }
  if (asNative !== true || !('problems' in asGiven.fitted)) return asGiven
  const args = decodeArguments(given, parametersOf(tool), (text) => valueIn(text, maxValues))
  const repairs = coercions(given, args)
  if (repairs.length === 0 || isDeeperThan(maxDepth, args) || hasMoreValues(maxValues ?? Number.POSITIVE_INFINITY, args)) return asGiven
  const fitted = await fitArguments(tool, args)
  // Reports the problems of the original arguments if the repaired arguments don't match the schema either.
  return 'problems' in fitted ? asGiven : { args, fitted, repairs }
}

/** Parses a JSON text. Returns undefined if the text is invalid or has more than `maxValues` values. */
function valueIn(text: string, maxValues: number = Number.POSITIVE_INFINITY): Json | undefined {
  try {
    return parseUpTo(maxValues, text) as Json | undefined
  } catch {
    return undefined
  }
}

/**
 * Extracts the JSON object from the malformed arguments of a native call. Accepts arguments that were encoded twice, and arguments followed
 * by other text. Returns undefined for all other arguments.
 */
export function innerArguments(raw: string, maxValues?: number): string | undefined {
  const inner = isQuoted.test(raw) ? quotedObject(raw) : objectBeforeText(raw)
  return inner !== undefined && isJsonObject(valueIn(inner, maxValues)) ? inner : undefined
}

function innerRepair(raw: string): string {
  return isQuoted.test(raw) ? 'arguments decoded, which were encoded twice' : 'text after the arguments left out'
}

const isQuoted = /^\s*"/
/** Matches JSON after the first object. With more JSON, it is unclear which value contains the arguments. */
const moreJson = /["{}[\]]/

function quotedObject(raw: string): string | undefined {
  const inner = jsonIn(raw)
  return typeof inner === 'string' && inner.startsWith('{') && inner.endsWith('}') ? inner : undefined
}

/** Returns the object without the control tokens, tags or prose after it. See https://github.com/librefang/librefang/pull/2995 */
function objectBeforeText(raw: string): string | undefined {
  if (!raw.startsWith('{') || raw.trimEnd().endsWith('}')) return undefined
  const end = endOfJson(raw)
  return end === undefined || moreJson.test(raw.slice(end)) ? undefined : raw.slice(0, end)
}

/** The end position of the JSON value at the start of a text. Undefined if the value is incomplete. */
function endOfJson(text: string): number | undefined {
  const json = new JsonScanner()
  for (let at = 0; at < text.length; at++) {
    json.read(text.charCodeAt(at))
    if (json.depth === 0) return at + 1
  }
  return undefined
}

function unprepared(code: ErrorCode, message: string, args?: JsonObject): Preparation & { ok: false } {
  return { ok: false, problem: { code, message, args } }
}

/** The default time limit of one attempt at a call. */
const defaultCheckMs = 30_000

/** Waits for an asynchronous check until the time limit of one attempt is reached or the run ends. The check itself might never settle. */
async function inTime(
  tool: AnyTool,
  checking: Promise<ReadArguments>,
  { timeoutMs = defaultCheckMs, signal }: ArgumentTerms,
): Promise<ReadArguments | { problem: ArgumentsProblem }> {
  const milliseconds = tool.timeoutMs ?? timeoutMs
  try {
    return await pTimeout(checking, { milliseconds, signal })
  } catch {
    // The check itself never rejects, so a rejection here means that it timed out or that the run ended.
    if (signal?.aborted) return unprepared('tool_cancelled', cancelledText(tool.name))
    return unprepared('tool_timeout', checkTimedOutText(tool.name, milliseconds))
  }
}

/** The tool's input, or the problems with the arguments. */
export type FittedArguments = { input: unknown } | { problems: string[] }

/**
 * How long a tool's own schema may block the event loop, in milliseconds. The limit is higher than for a JSON Schema, because the schema
 * may run application code.
 */
const maxCheckMs = 100

/**
 * Turns arguments into the tool's input. If the tool has a Standard Schema, the arguments are validated only against that schema, because
 * its JSON Schema is less precise. Otherwise they are validated against the JSON Schema. Never rejects.
 */
export async function fitArguments(tool: AnyTool, args: JsonObject): Promise<FittedArguments> {
  const standard = standardSchemaOf(tool)
  if (standard === undefined) return fitToSchema(tool, args)
  try {
    return await fitToStandard(standard, tool, args)
  } catch (error) {
    return checkFailed(error)
  }
}

function fitToSchema(tool: AnyTool, args: JsonObject): FittedArguments {
  try {
    const problems = compileSchema(parametersOf(tool), tool.name)(args)
    return problems.length > 0 ? { problems } : { input: args }
  } catch (error) {
    return checkFailed(error)
  }
}

function checkFailed(error: unknown): FittedArguments {
  return { problems: [`the check failed: ${messageOf(error)}`] }
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
    // A JSON Schema that can't be compiled adds no problems.
  }
  return { problems: problems ?? issuesInWords(issues, [], args) }
}
