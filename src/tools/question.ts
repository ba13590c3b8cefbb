import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Json, withoutUndefined } from '../core/messages.ts'
import { isStandardSchema, type JsonSchema } from './schema/schema.ts'
import { jsonSchemaOf } from './schema/standard-schema.ts'

/** A question that a tool returns if it needs an answer before it can continue. `ask()` creates it. */
export interface Question {
  /** The question, as the user sees it. */
  about: Json
  /** The JSON Schema of the answer. */
  schema?: JsonSchema
}

/** A question about a nested agent's plan: whether to make the calls that its preview noted. */
export interface NotedQuestion extends Question {
  /** The result that the model sees until the calls of the plan have been made. */
  meanwhile: string
}

/** The key that marks a question. All installed copies of this package share it, and JSON can't contain it. */
const question: symbol = Symbol.for('toolloop.question')

/**
 * Creates a question, which the tool asks by returning it from `execute`. The run then pauses, and the tool is called again with the answer
 * in `ctx.answer`. The user sees the schema as JSON Schema. The answer is not validated. Throws `invalid_tool` if a Standard Schema has no
 * JSON Schema.
 */
export function ask({ schema, ...asked }: Omit<Question, 'schema'> & { schema?: JsonSchema | StandardSchemaV1 }): Question {
  const shown = isStandardSchema(schema) ? jsonSchemaOf(schema, 'ask', 'give a JSON Schema') : schema
  return Object.defineProperty({ ...asked, ...withoutUndefined({ schema: shown }) }, question, { value: true })
}

/** The default schema of an answer. */
export const anyText: JsonSchema = { type: 'string' }

/**
 * Combines several named questions into one. `ctx.answer` is then an object with one answer per name. The user sees `{ questions: {
 * NAME: about } }`.
 */
export function askAll(questions: Readonly<Record<string, Question>>): Question {
  const abouts = Object.entries(questions).map(([name, { about }]) => [name, about])
  const schemas = Object.entries(questions).map(([name, { schema = anyText }]) => [name, schema])
  return ask({
    about: { questions: Object.fromEntries(abouts) },
    schema: { type: 'object', properties: Object.fromEntries(schemas), required: Object.keys(questions) },
  })
}

export function isNoted(question: Question): question is NotedQuestion {
  return 'meanwhile' in question
}

export function isQuestion(value: unknown): value is Question {
  try {
    return typeof value === 'object' && value !== null && question in value
  } catch {
    return false // A proxy that throws when it is read is not a question.
  }
}
