import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import { defaultLogger } from '../../core/logger.ts'
import { isJsonObject } from '../../core/messages.ts'
import { stoppedAfter } from '../../core/time/stopped-after.ts'
import { type Dialect, forgetAjv, type Origin, openAjv } from './open-ajv.ts'
import { withoutUnreadablePatterns } from './patterns/unreadable-patterns.ts'
import { isPlainSchema } from './plain-schema.ts'
import { problemsOf } from './problems-in-words.ts'
import { jsonSchemaOf } from './standard-schema.ts'

/** A JSON Schema object (2020-12 or draft-07). */
export type JsonSchema = Record<string, unknown>

/** Whether a value is a schema of zod, valibot, arktype or another library with Standard Schema. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value
}

const converted = new WeakMap<StandardSchemaV1, JsonSchema>()

/**
 * Returns the JSON Schema of a tool's `parameters`. Converts a Standard Schema only once. Throws `invalid_tool` if the schema can't be
 * converted.
 */
export function parametersOf({ name, parameters }: { name: string; parameters: JsonSchema | StandardSchemaV1 }): JsonSchema {
  if (!isStandardSchema(parameters)) return parameters
  const known = converted.get(parameters)
  if (known !== undefined) return known
  const schema = jsonSchemaOf(parameters, name, 'give it as `schema` beside a JSON Schema as `parameters`')
  converted.set(parameters, schema)
  return schema
}

/** Returns the Standard Schema of a tool, which validates its arguments and may transform them. */
export function standardSchemaOf(tool: {
  parameters: JsonSchema | StandardSchemaV1
  schema?: StandardSchemaV1
}): StandardSchemaV1 | undefined {
  return tool.schema ?? (isStandardSchema(tool.parameters) ? tool.parameters : undefined)
}

/** Validates a value against a compiled schema. Returns the problems, worded for the model. The list is empty if the value is valid. */
export type Validator = (value: unknown, inWords?: ReadErrors) => string[]

/** Describes the errors of an invalid value. Default: `problemsOf`. */
type ReadErrors = (errors: readonly ErrorObject[]) => string[]

const compiled = new WeakMap<JsonSchema, Validator>()
/**
 * Validators by the JSON text of their schema, least recently used first. An application that creates its agents for each request compiles
 * its schemas only once. Foreign schemas are not cached here, so they can't fill the cache.
 */
const compiledTexts = new Map<string, Validator>()
const maxTexts = 256
const maxTextLength = 20_000
/** Maximum time for validating a value, in milliseconds. */
const maxCheckMs = 30

let compilations = 0
/** Number of compilations after which the compilers are replaced, because each keeps data of every schema that it has compiled. */
const maxCompilations = 100

/** Returns the compilers for the dialects that a schema may use, most likely first. */
function compilersFor(schema: JsonSchema, origin: Origin): Ajv[] {
  const dialects = (): Dialect[] => {
    // Many schemas don't declare their dialect.
    if (schema?.$schema === undefined) return ['draft2020', 'draft7']
    return typeof schema.$schema === 'string' && /draft-0\d/.test(schema.$schema) ? ['draft7'] : ['draft2020']
  }
  return dialects().map((dialect) => openAjv(origin, dialect))
}

let ids = 0

function compileIn(ajv: Ajv, schema: JsonSchema): ValidateFunction {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw new Error('it is not an object')
  // ajv refuses dialects that it doesn't know, and needs an id to resolve `$ref: '#'`.
  const { $schema: _, $id, ...rest } = schema
  const id = $id === undefined || $id === '' ? `urn:toolloop:schema:${++ids}` : $id
  if (typeof id !== 'string') throw new Error('its `$id` is not a string')
  const key = id.replace(/#\/?$/, '')
  if (ajv.refs[key] !== undefined || ajv.schemas[key] !== undefined) throw new Error(`its \`$id\` is that of a dialect, \`${id}\``)
  const own: JsonSchema = { ...rest, $id: id }
  try {
    const validate = ajv.compile(own)
    if ('$async' in validate) throw new Error('`$async` schemas are not supported')
    return validate
  } finally {
    // ajv would otherwise keep the schema forever and refuse another schema with the same `$id`.
    ajv.removeSchema(own)
  }
}

/** Compiles a schema, or returns the validator of the same or an equal schema. Throws `invalid_tool` for an invalid schema. */
export function compileSchema(schema: JsonSchema, toolName: string): Validator {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const validator = compileEqual(schema, toolName)
  compiled.set(schema, validator)
  return validator
}

export function isCompiled(schema: JsonSchema): boolean {
  return compiled.has(schema)
}

function compileEqual(schema: JsonSchema, toolName: string): Validator {
  const text = schemaText(schema)
  if (text === undefined || text.length > maxTextLength) return compileOwn(schema, toolName)
  // Compiles a copy, because the application may change its schema object.
  const validator = compiledTexts.get(text) ?? compileWhenUsed(JSON.parse(text), toolName)
  compiledTexts.delete(text)
  compiledTexts.set(text, validator)
  const [oldest] = compiledTexts.keys()
  if (oldest !== undefined && compiledTexts.size > maxTexts) compiledTexts.delete(oldest)
  return validator
}

/** Compiles a simple schema only when a value is validated, so that an application can start without loading the compiler. */
function compileWhenUsed(schema: JsonSchema, toolName: string): Validator {
  if (!isPlainSchema(schema)) return compileOwn(schema, toolName)
  let validator: Validator | undefined
  return (value, inWords) => {
    validator ??= compileOwn(schema, toolName)
    return validator(value, inWords)
  }
}

/** Returns a schema as JSON text. Undefined if JSON can't represent the schema exactly. */
function schemaText(schema: JsonSchema): string | undefined {
  let isExact = true
  function check(this: unknown, key: string, value: unknown): unknown {
    // `toJSON` may have changed the value.
    isExact &&= (this as JsonSchema)[key] === value && isPlain(value)
    return isExact ? value : null
  }
  try {
    const text = JSON.stringify(schema, check)
    return isExact ? text : undefined
  } catch {
    // The schema is circular or too deep.
    return undefined
  }
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return value === null || typeof value === 'string' || typeof value === 'boolean'
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}

/** Compiles a schema of the application. Limits the time of validation if it may take long, because the values come from a model. */
function compileOwn(schema: JsonSchema, toolName: string): Validator {
  const unreadable: string[] = []
  const check = compileNew(schema, toolName, 'own', (at) => unreadable.push(at))
  try {
    JSON.stringify(schema)
  } catch (error) {
    throw unusable(toolName, error)
  }
  if (unreadable.length > 0) defaultLogger.warn({ tool: toolName, unreadable }, 'patterns of a tool could not be read and are not checked')
  if (!mayTakeLong(schema)) return check
  return (value, inWords) => stoppedAfter(maxCheckMs, () => check(value, inWords))?.value ?? [tooSlow]
}

const takesLong = new WeakMap<JsonSchema, boolean>()

/**
 * Whether even a small value may take long to validate, because of patterns, unique items or references. Other schemas are validated
 * without a time limit, because a time limit costs a quarter of a millisecond per value.
 */
export function mayTakeLong(schema: JsonSchema): boolean {
  const known = takesLong.get(schema)
  if (known !== undefined) return known
  const takes = hasSlowKeyword(schema)
  takesLong.set(schema, takes)
  return takes
}

function hasSlowKeyword(schema: JsonSchema): boolean {
  try {
    return /"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef)":/.test(JSON.stringify(schema))
  } catch {
    return true
  }
}

export const tooSlow = 'arguments: could not be checked in time, because of a `pattern`, `uniqueItems` or a union in their schema'

/** Compiles a schema. Throws `invalid_tool`. A pattern that can't be parsed is not checked: `note` is called with its position. */
export function compileNew(schema: JsonSchema, toolName: string, origin: Origin, note: (at: string) => void): Validator {
  const failures: unknown[] = []
  if (++compilations % maxCompilations === 0) forgetAjv(origin)
  const readable = isJsonObject(schema) ? withoutUnreadablePatterns(schema, note) : schema
  for (const ajv of compilersFor(schema, origin)) {
    try {
      const validate = compileIn(ajv, readable)
      return (value, inWords = problemsOf) => {
        try {
          return validate(value) ? [] : inWords(validate.errors ?? [])
        } finally {
          validate.errors = null // The errors would keep the value in memory.
        }
      }
    } catch (error) {
      failures.push(error)
    }
  }
  throw unusable(toolName, failures[0])
}

/** Makes `compileSchema` return this validator for the schema. */
export function keepValidator(schema: JsonSchema, validator: Validator): void {
  compiled.set(schema, validator)
}

function unusable(toolName: string, cause: unknown): ToolloopError {
  const message = `Tool \`${toolName}\`: its parameters are not a usable JSON Schema: ${messageOf(cause)}`
  return new ToolloopError('invalid_tool', message, { cause })
}
