import { InvalidOptionError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, legalName } from '../../core/messages.ts'
import type { ModelCapabilities, ModelRequest } from '../chat-model.ts'

export interface ResponseSchema {
  /** The name of the schema: `a-z A-Z 0-9 _ -`, at most 64 characters. */
  name: string
  schema: JsonObject
}

/**
 * Returns the request's schema if the model accepts a schema in such a request. Otherwise returns undefined and adds a warning. `model`
 * includes the provider's name.
 */
export function fitResponseSchema(
  { name, schema }: NonNullable<ModelRequest['responseSchema']>,
  taken: ModelCapabilities['structuredOutput'] | null,
  hasTools: boolean,
  model: string,
  warnings: Set<string>,
): ResponseSchema | undefined {
  if ('~standard' in schema)
    throw new InvalidOptionError(
      'responseSchema.schema',
      "a JSON Schema; a run's `output` takes a Standard Schema as well",
      'a Standard Schema',
    )
  if (taken === 'with-tools' || (taken === 'alone' && !hasTools)) {
    const { $schema: _, ...own } = schema
    return { name: legalName(name), schema: isJsonObject(own) ? own : {} }
  }
  warnings.add(`\`responseSchema\` was left out: ${model} does not support it${taken === 'alone' ? ' beside tools' : ''}`)
  return undefined
}
