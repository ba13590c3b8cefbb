import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Json, withoutUndefined } from '../core/messages.ts'
import { isStandardSchema, type JsonSchema } from './schema/schema.ts'
import { jsonSchemaOf } from './schema/standard-schema.ts'

/** Says that a tool can't go on before someone has answered; made by `ask()`. */
export interface Question {
  /** The question, for whoever answers. */
  about: Json
  /** JSON Schema of the answer. */
  schema?: JsonSchema
}

/** The same in every installed copy of this package; JSON can't forge it. */
const question: symbol = Symbol.for('toolloop.question')

/**
 * Returned from `execute`, ends the call with a question: the run pauses, and the tool is called again with `ctx.answer`. The schema is
 * shown to whoever answers, as JSON Schema; the answer is not validated. Throws `invalid_tool` where a Standard Schema gives none.
 */
export function ask({ schema, ...asked }: Omit<Question, 'schema'> & { schema?: JsonSchema | StandardSchemaV1 }): Question {
  const shown = isStandardSchema(schema) ? jsonSchemaOf(schema, 'ask', 'give a JSON Schema') : schema
  return Object.defineProperty({ ...asked, ...withoutUndefined({ schema: shown }) }, question, { value: true })
}

/** What a question without a schema is answered with. */
export const anyText: JsonSchema = { type: 'string' }

/**
 * Several questions at once, by names of yours: `ctx.answer` is an object with an answer for each. Whoever answers is shown
 * `{ questions: { NAME: about } }`.
 */
export function askAll(questions: Readonly<Record<string, Question>>): Question {
  const abouts = Object.entries(questions).map(([name, { about }]) => [name, about])
  const schemas = Object.entries(questions).map(([name, { schema = anyText }]) => [name, schema])
  return ask({
    about: { questions: Object.fromEntries(abouts) },
    schema: { type: 'object', properties: Object.fromEntries(schemas), required: Object.keys(questions) },
  })
}

export function isQuestion(value: unknown): value is Question {
  try {
    return typeof value === 'object' && value !== null && question in value
  } catch {
    return false // A proxy that can't even be asked asks nothing.
  }
}
