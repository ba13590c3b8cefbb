import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import type { JsonSchema } from './schema.ts'

/** Whether it is a schema of zod, valibot, arktype, … */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value
}

const converted = new WeakMap<StandardSchemaV1, JsonSchema>()

/** The JSON Schema of a tool's `parameters`; of a Standard Schema it is made once. Throws `invalid_tool` for one that has none. */
export function parametersOf({ name, parameters }: { name: string; parameters: JsonSchema | StandardSchemaV1 }): JsonSchema {
  if (!isStandardSchema(parameters)) return parameters
  const schema = converted.get(parameters) ?? jsonSchemaOf(parameters, name, 'give it as `schema` beside a JSON Schema as `parameters`')
  converted.set(parameters, schema)
  return schema
}

/** What decides on a tool's arguments in place of its JSON Schema, and may transform them. */
export function standardSchemaOf(tool: {
  parameters: JsonSchema | StandardSchemaV1
  schema?: StandardSchemaV1
}): StandardSchemaV1 | undefined {
  return tool.schema ?? (isStandardSchema(tool.parameters) ? tool.parameters : undefined)
}

/**
 * The JSON Schema of a Standard Schema's input: from the schema itself, where its library implements Standard JSON Schema
 * (https://standardschema.dev/json-schema). Throws `invalid_tool` with a way out where it does not.
 */
export function jsonSchemaOf(schema: StandardSchemaV1, toolName: string, wayOut = 'pass `jsonSchema`'): JsonSchema {
  const { vendor, jsonSchema } = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (jsonSchema === undefined) {
    const hint =
      vendor === 'valibot'
        ? 'wrap it in `toStandardJsonSchema` of @valibot/to-json-schema'
        : `use a version of ${vendor} that implements Standard JSON Schema`
    throw new ToolloopError(
      'invalid_tool',
      `Tool \`${toolName}\`: its ${vendor} schema can't be converted to JSON Schema; ${hint}, or ${wayOut}`,
    )
  }
  try {
    return withoutDialect(jsonSchema.input({ target: 'draft-2020-12' }))
  } catch (error) {
    throw new ToolloopError(
      'invalid_tool',
      `Tool \`${toolName}\`: its ${vendor} schema can't be converted to JSON Schema: ${messageOf(error)}`,
      {
        cause: error,
      },
    )
  }
}

/** `$schema` says nothing to a model, and some providers refuse it. */
function withoutDialect({ $schema: _, ...schema }: Record<string, unknown>): JsonSchema {
  return schema
}
