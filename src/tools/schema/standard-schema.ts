import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { messageOf, ToolloopError } from '../../core/errors.ts'

/**
 * Converts the input type of a Standard Schema to JSON Schema. Throws `invalid_tool` if its library does not implement Standard JSON Schema
 * (https://standardschema.dev/json-schema). `wayOut`: what the message suggests instead.
 */
export function jsonSchemaOf(schema: StandardSchemaV1, toolName: string, wayOut = 'pass `jsonSchema`'): Record<string, unknown> {
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
      `Tool \`${toolName}\`: its ${vendor} schema can't be converted to JSON Schema: ${messageOf(error)}; ${wayOut}`,
      {
        cause: error,
      },
    )
  }
}

/** Removes `$schema`, because some providers refuse it. */
function withoutDialect({ $schema: _, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return schema
}
