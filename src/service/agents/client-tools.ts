import { ToolloopError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'
import { openForeign } from '../../tools/schema/foreign/foreign-schema.ts'
import { keepValidator, parametersOf } from '../../tools/schema/schema.ts'
import type { AnyTool, JsonSchema } from '../../tools/tool.ts'
import { problemOfRequest } from '../http/problem.ts'

/** A tool in OpenAI's format. Its fields have already been checked together with the request's body. */
export interface ClientTool {
  function: { name: string; description?: string | null; parameters?: JsonObject | null; strict?: boolean | null }
}

/** Creates tools without `execute`, whose calls are returned to the client. */
export function toClientTools(tools: readonly ClientTool[] | null | undefined): AnyTool[] {
  return (tools ?? []).map(({ function: { name, description, parameters: given, strict } }) => {
    const parameters = { properties: {}, ...given, type: 'object' }
    return { name, description: description ?? '', parameters, ...(typeof strict === 'boolean' ? { strict } : {}) }
  })
}

/** Compiles the schema of a client tool. If the schema is invalid, arguments are not checked: only the client runs the tool. */
export async function openClientTool(tool: AnyTool): Promise<AnyTool> {
  const parameters = parametersOf(tool)
  try {
    const { schema } = await openForeign(parameters, tool.name)
    return { ...tool, parameters: schema }
  } catch (error) {
    if (!(error instanceof ToolloopError) || error.code !== 'invalid_tool') throw error
    keepValidator(parameters, () => [])
    return tool
  }
}

/** Compiles the schema of an answer. Rejects with an `HttpProblem` 400 if the schema can't be compiled. */
export async function openAnswerSchema(schema: JsonSchema, name: string): Promise<JsonSchema> {
  try {
    return (await openForeign(schema, name)).schema
  } catch (error) {
    throw problemOfRequest(error) ?? error
  }
}
