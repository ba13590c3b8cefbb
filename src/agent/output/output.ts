import type { StandardSchemaV1 } from '@standard-schema/spec'
import pTimeout from 'p-timeout'
import { InvalidOptionError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import type { ModelCapabilities } from '../../models/chat-model.ts'
import { type FittedArguments, fitArguments, parseArguments } from '../../tools/arguments.ts'
import { type ToolSet, ToolView } from '../../tools/registry.ts'
import type { FromSchema } from '../../tools/schema/infer.ts'
import { compileSchema, isStandardSchema, standardSchemaOf } from '../../tools/schema/schema.ts'
import { jsonSchemaOf } from '../../tools/schema/standard-schema.ts'
import { acceptSchema, problemOfWritten } from '../../tools/schema/written-schema.ts'
import { type AnyTool, defineTool, type JsonSchema } from '../../tools/tool.ts'
import { answerGivenText } from '../run-texts.ts'

/** The schema of an answer: a Standard Schema (zod, valibot, arktype, …) or a plain JSON Schema. */
export type OutputSchema = StandardSchemaV1 | JsonSchema

/** The value that a schema returns for an answer. */
export type OutputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : FromSchema<S>

/**
 * The type of `output` of a run with the schema `S`: the type of the answer, or undefined if no answer fits the schema. Without a schema
 * (`never`): a string.
 */
export type AnswerOf<S> = [S] extends [never] ? string : OutputOf<S> | undefined

/** JSON that has partly arrived: anything may be missing, and texts may be cut off. */
type PartOf<T> = T extends string
  ? string
  : T extends readonly (infer Item)[]
    ? PartOf<Item>[]
    : T extends object
      ? { [K in keyof T]?: PartOf<T[K]> }
      : T

/** The type of an answer with the schema `S` while it arrives. It is derived from the schema's input type, not from its output type. */
export type PartialAnswerOf<S> = [S] extends [never]
  ? never
  : S extends StandardSchemaV1
    ? PartOf<StandardSchemaV1.InferInput<S>>
    : PartOf<FromSchema<S>>

/** The format in which the model gives an answer with a schema. */
export interface OutputFormat {
  /** The schema in requests: always an object schema, because providers accept no other schema. */
  readonly schema: JsonSchema
  /** Whether the model returns an object with the answer as its field `value`. */
  readonly wrapped: boolean
  /** The tool through which models answer if they can't enforce a schema. */
  readonly tool: AnyTool
}

const wanted = 'final_answer'

/**
 * Creates the format of an answer with this schema. `tools`: the run's tools; the answer tool gets a name that none of them has. Throws
 * `invalid_option` for anything but a schema.
 */
export function openOutput(output: OutputSchema, tools: Pick<ToolSet, 'get'>): OutputFormat {
  const { standard, given, wrapped } = readSchema(output)
  const problem = standard === undefined ? problemOfWritten(given) : undefined
  if (problem !== undefined) throw new InvalidOptionError('output', `a schema (${problem})`, given)
  const schema = acceptSchema(wrapped ? wrap(given) : given)
  const name = freeName(tools)
  try {
    if (standard === undefined) compileSchema(schema, name)
  } catch (error) {
    throw new InvalidOptionError('output', `a schema that compiles (${error instanceof Error ? error.message : String(error)})`, given)
  }
  const base = defineTool({
    name,
    description: 'Gives the final answer. Call it once, when you have the answer: only what you give here is read.',
    parameters: schema,
    effect: 'read',
    final: true,
    toContent: () => answerGivenText,
    execute: () => null,
  })
  const tool: AnyTool = standard === undefined ? base : { ...base, schema: wrapped ? wrapStandard(standard) : standard }
  return { schema, wrapped, tool }
}

/** Throws `invalid_option` for anything but a schema. */
function readSchema(output: OutputSchema): { standard: StandardSchemaV1 | undefined; given: JsonSchema; wrapped: boolean } {
  if (typeof output !== 'function' && !isJsonObject(output))
    throw new InvalidOptionError('output', 'a Standard Schema or a JSON Schema', output)
  const standard = isStandardSchema(output) ? output : undefined
  const given = standard === undefined ? (output as JsonSchema) : jsonSchemaOf(standard, 'output')
  return { standard, given, wrapped: given.type !== 'object' }
}

/** Whether the model is asked for an object that has the answer as its `value`. Throws `invalid_option` for anything but a schema. */
export function isWrapped(output: OutputSchema): boolean {
  return readSchema(output).wrapped
}

/** Whether this is one of the names that answer tools can have. */
export function isNameOfAnswerTool(name: string): boolean {
  return name === wanted || (name.startsWith(`${wanted}_`) && /^\d+$/.test(name.slice(wanted.length + 1)))
}

/** Renames the answer tool if one of `tools` has the same name. */
export function namedBeside(format: OutputFormat, tools: Pick<ToolSet, 'get'>): OutputFormat {
  const name = freeName(tools)
  return name === format.tool.name ? format : { ...format, tool: { ...format.tool, name } }
}

/** The last result of `withAnswerTool`, by answer tool. `of`: the tools that were passed in. */
const views = new WeakMap<AnyTool, { of: ToolSet; view: ToolSet }>()

/**
 * Adds the tool that gives the answer. Returns the same object for the same tools, so that the tools are converted for a provider only
 * once.
 */
export function withAnswerTool({ tool }: OutputFormat, tools: ToolSet): ToolSet {
  const known = views.get(tool)
  if (known?.of === tools) return known.view
  const view = new ToolView(tools, { also: [tool] })
  views.set(tool, { of: tools, view })
  return view
}

function freeName(tools: Pick<ToolSet, 'get'>): string {
  let name = wanted
  for (let n = 2; tools.get(name) !== undefined; n++) name = `${wanted}_${n}`
  return name
}

/** Whether the model itself enforces the schema in a request, with or without tools. */
export function takesSchema({ structuredOutput }: ModelCapabilities, hasTools: boolean): boolean {
  return structuredOutput === 'with-tools' || (structuredOutput === 'alone' && !hasTools)
}

/** The answer's JSON, taken from the arguments of the answer tool. */
export function jsonOf({ wrapped }: Pick<OutputFormat, 'wrapped'>, args: JsonObject): string {
  return JSON.stringify(wrapped ? args.value : args)
}

/** The arguments for the answer tool, made from the answer's JSON. */
export function argumentsFor({ wrapped }: Pick<OutputFormat, 'wrapped'>, json: string): string {
  return wrapped ? `{"value":${json}}` : json
}

/** The value that the schema returns for an answer's JSON. Undefined if the answer does not fit the schema. */
export async function outputOf(format: OutputFormat, json: string, terms: FittingTerms): Promise<{ value: unknown } | undefined> {
  const { tool, wrapped } = format
  const parsed = parseArguments(argumentsFor(format, json))
  const fitted = parsed.ok ? await fitInTime(tool, parsed.args, terms) : { problems: [] }
  if (!('input' in fitted)) return undefined
  return { value: wrapped && isJsonObject(fitted.input) ? fitted.input.value : fitted.input }
}

/** Limits for a validation. An asynchronous validation might never end on its own. */
export interface FittingTerms {
  timeoutMs: number
  /** Aborting this signal ends the validation. */
  signal?: AbortSignal
}

/** Validates arguments within these limits. Never rejects. */
export async function fitInTime(tool: AnyTool, args: JsonObject, { timeoutMs, signal }: FittingTerms): Promise<FittedArguments> {
  const fitting = fitArguments(tool, args)
  if (standardSchemaOf(tool) === undefined) return fitting
  try {
    return await pTimeout(fitting, { milliseconds: timeoutMs, signal })
  } catch {
    // The validation itself never rejects, so a rejection here means that it timed out or that the run ended.
    return { problems: [`it could not be checked within ${timeoutMs} ms`] }
  }
}

/**
 * Wraps the schema as an object's `value`. Definitions stay at the top level, so references to them stay valid. Other references are
 * adjusted.
 */
function wrap(whole: JsonSchema): JsonSchema {
  const { $schema, $defs, definitions, $id, ...schema } = whole
  const atTop = Object.entries({ $defs, definitions }).filter(([, value]) => value !== undefined)
  const moved = (part: unknown) => withMovedReferences(part, typeof $id === 'string' ? $id.replace(/#$/, '') : '')
  return {
    ...withoutUndefined({ $schema }),
    ...Object.fromEntries(atTop.map(([name, value]) => [name, moved(value)])),
    type: 'object',
    properties: { value: moved(schema) },
    required: ['value'],
    additionalProperties: false,
  }
}

/** Adjusts the references inside `part` to the wrapped schema. `id`: the `$id` of the original schema. References may begin with it. */
function withMovedReferences(part: unknown, id: string): unknown {
  if (Array.isArray(part)) return part.map((item) => withMovedReferences(item, id))
  if (!isJsonObject(part)) return part
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string' ? movedReference(value, id) : withMovedReferences(value, id),
    ]),
  )
}

function movedReference(reference: string, id: string): string {
  const local = id !== '' && (reference === id || reference.startsWith(`${id}#`)) ? reference.slice(id.length) || '#' : reference
  const isMoved = local === '#' || (local.startsWith('#/') && !/^#\/(\$defs|definitions)\//.test(local))
  return isMoved ? `#/properties/value${local.slice(1)}` : local
}

function wrapStandard(inner: StandardSchemaV1): StandardSchemaV1 {
  return {
    '~standard': {
      version: 1,
      vendor: 'toolloop',
      validate: async (object) => {
        const { value, ...others } = object as JsonObject
        if (value === undefined) return { issues: [{ message: 'it has the answer', path: ['value'] }] }
        const unknown = Object.keys(others).map((key) => ({ message: `unknown \`${key}\`` }))
        if (unknown.length > 0) return { issues: unknown }
        const result = await inner['~standard'].validate(value)
        if (result.issues === undefined) return { value: { value: result.value } }
        return { issues: result.issues.map((issue) => ({ ...issue, path: ['value', ...(issue.path ?? [])] })) }
      },
    },
  }
}
