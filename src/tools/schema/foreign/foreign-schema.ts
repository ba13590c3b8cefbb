import { messageOf, ToolloopError } from '../../../core/errors.ts'
import { isDeeperThan } from '../../../core/json.ts'
import { isJsonObject, withoutUndefined } from '../../../core/messages.ts'
import { yieldNow } from '../../../core/time/give-way.ts'
import { stoppedAfter } from '../../../core/time/stopped-after.ts'
import { forgetAjv, openForeignAjv } from '../open-ajv.ts'
import { compileNew, type JsonSchema, keepValidator, tooSlow, type Validator } from '../schema.ts'
import { compiledSize } from './compiled-size.ts'
import { mendSchema } from './mend-schema.ts'

/** A schema that comes from an MCP server, an OpenAPI document, a Skill or a client of the service, ready to use. */
export interface ForeignSchema {
  /**
   * The schema for the model and for `compileSchema`, which returns `validate` for it. If no repair was needed, this is the given object.
   */
  schema: JsonSchema
  validate: Validator
  /** Describes the repairs of the schema, and the parts of the schema that are not checked. */
  notes: readonly string[]
}

/** Time limits for compiling a schema and for validating a value, in milliseconds. */
const maxCompileMs = 500
const maxCheckMs = 30
/**
 * Maximum size of a small schema. A small schema may take `maxCompileMs` to compile. A larger schema may take only `maxTurnMs`, because
 * other work has to wait. Compilation is tried several times, because it is slow while the code is new or the machine is busy.
 */
const smallSize = 500
const maxTurnMs = 30
const maxTries = 4
/** Maximum size of a schema. A larger schema would not compile in time, so it is not even read. */
const maxSize = 8_000
/** After a validation took too long, all values are refused for this time, in milliseconds. */
const pauseMs = 10_000
const maxNotes = 20
/** Maximum nesting depth of the schema's JSON. A deeper schema is not safe for recursive code. */
const maxDepth = 400

const opened = new WeakMap<JsonSchema, ForeignSchema>()

/**
 * Prepares a schema from an external source. Repairs invalid parts that have only one possible meaning, skips the validation of parts that
 * can't be compiled, and ignores `format`. Because a regular expression or a union of references could block the process for years, the
 * schema is compiled in separate turns of the event loop, and each validation has a time limit. A value that can't be checked in time is
 * invalid. Rejects with `invalid_tool` if the schema takes too long to compile or is not an object.
 */
export async function openForeign(given: JsonSchema, toolName: string): Promise<ForeignSchema> {
  const known = opened.get(given)
  if (known !== undefined) return known
  if (!isJsonObject(given)) throw invalid(toolName, 'are not a JSON Schema object')
  if (compiledSize(given, maxSize) > maxSize || isDeeperThan(maxDepth, given)) throw tooLarge(toolName)
  const notes: string[] = []
  await yieldNow()
  const schema = mendSchema(given, (what) => notes.push(what))
  const validate = bounded(await compileAll(schema, toolName, notes))
  keepValidator(schema, validate)
  const more = notes.length > maxNotes ? [`and ${notes.length - maxNotes} more`] : []
  const foreign = { schema, validate, notes: [...notes.slice(0, maxNotes), ...more] }
  opened.set(given, foreign)
  opened.set(schema, foreign)
  return foreign
}

/** Compiles the whole schema. If it can't be compiled, compiles a schema that checks only the names of its fields. */
async function compileAll(schema: JsonSchema, toolName: string, notes: string[]): Promise<Validator> {
  const compiling = await compileInTurns(schema, toolName)
  if ('check' in compiling) {
    notes.push(...compiling.unreadable.map((at) => `${at}: not checked, because it can not be read`))
    return compiling.check
  }
  notes.push(`#: only the names of its fields are checked, because it does not compile (${compiling.problem})`)
  const named = await compileInTurns(namesOf(schema), toolName)
  if ('check' in named) return named.check
  throw invalid(toolName, `are not a usable JSON Schema: ${named.problem}`)
}

function namesOf({ properties, required, additionalProperties }: JsonSchema): JsonSchema {
  const names = Object.keys(isJsonObject(properties) ? properties : {})
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, {}])),
    ...withoutUndefined({ required }),
    ...(additionalProperties === false ? { additionalProperties } : {}),
  }
}

type Compiling = { check: Validator; unreadable: string[] } | { problem: string }

/** Compiles a schema within the time limit. Rejects if the schema is too large. */
async function compileInTurns(schema: JsonSchema, toolName: string): Promise<Compiling> {
  const ms = compiledSize(schema, smallSize) <= smallSize ? maxCompileMs : maxTurnMs
  for (let tried = 0; tried < maxTries; tried++) {
    // Loads the compilers before the time limit starts. A module that is interrupted while it loads would stay broken for all later uses.
    openForeignAjv()
    await yieldNow()
    const compiling = stoppedAfter(ms, () => compile(schema, toolName), forgetForeign)
    if (compiling !== undefined) return compiling.value
  }
  throw tooLarge(toolName)
}

function compile(schema: JsonSchema, toolName: string): Compiling {
  const unreadable: string[] = []
  try {
    return { check: compileNew(schema, toolName, 'foreign', (at) => unreadable.push(at)), unreadable }
  } catch (error) {
    return { problem: error instanceof Error ? messageOf(error.cause) : messageOf(error) }
  }
}

/** Drops the compilers, because they were interrupted in the middle of their work. */
function forgetForeign(): void {
  forgetAjv('foreign')
}

function bounded(check: Validator): Validator {
  let pausedUntil = 0
  return (value, inWords) => {
    if (performance.now() < pausedUntil) return [tooSlow]
    const checked = stoppedAfter(maxCheckMs, () => check(value, inWords))
    if (checked !== undefined) return checked.value
    pausedUntil = performance.now() + pauseMs
    return [tooSlow]
  }
}

function tooLarge(toolName: string): ToolloopError {
  return new ToolloopError('invalid_tool', `Tool \`${toolName}\`: the JSON Schema of its parameters is too large`)
}

function invalid(toolName: string, what: string): ToolloopError {
  return new ToolloopError('invalid_tool', `Tool \`${toolName}\`: its parameters ${what}`)
}
