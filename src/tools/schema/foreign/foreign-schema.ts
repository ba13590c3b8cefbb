import { messageOf, ToolloopError } from '../../../core/errors.ts'
import { isDeeperThan } from '../../../core/json.ts'
import { isJsonObject, withoutUndefined } from '../../../core/messages.ts'
import { yieldNow } from '../../../core/time/give-way.ts'
import { stoppedAfter } from '../../../core/time/stopped-after.ts'
import { forgetAjv, openForeignAjv } from '../open-ajv.ts'
import { compileNew, type JsonSchema, keepValidator, tooSlow, type Validator } from '../schema.ts'
import { compiledSize } from './compiled-size.ts'
import { mendSchema } from './mend-schema.ts'

/** A prepared schema from an MCP server, an OpenAPI document, a Skill or a client of the service. */
export interface ForeignSchema {
  /** The repaired schema. The given object if no repair was needed. */
  schema: JsonSchema
  validate: Validator
  /** Describes the repairs, and the keywords that are not checked. */
  notes: readonly string[]
}

const maxCompileMs = 500
const maxCheckMs = 30
/**
 * Maximum size of a schema that may take `maxCompileMs` to compile. A larger schema gets only `maxTurnMs` per attempt, so that it does not
 * block other work.
 */
const smallSize = 500
const maxTurnMs = 30
const maxTries = 4
/** Maximum size of a schema. A larger schema would not compile in time. */
const maxSize = 8_000
/** How long all values are refused after a validation took too long, in milliseconds. */
const pauseMs = 10_000
const maxNotes = 20
/** Maximum depth of a schema. A deeper schema could overflow the stack. */
const maxDepth = 400

const opened = new WeakMap<JsonSchema, ForeignSchema>()

/**
 * Prepares a schema that the application's developer did not write. Repairs invalid parts if their meaning is clear, and ignores `format`
 * and parts that can't be compiled. Compiling and validating have time limits, because such a schema could block the process. A value that
 * can't be checked in time is invalid. Rejects with `invalid_tool` if the schema takes too long to compile or is not an object.
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

/** Compiles the whole schema. If that fails, compiles a check of only the field names. */
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
    // Loads the compilers outside the time limit, because a module that is interrupted while it loads stays broken.
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

/** An interrupted compiler can't be used again. */
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
