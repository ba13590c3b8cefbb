import type { JsonObject } from '../../core/messages.ts'
import { compileUntrusted } from '../../tools/schema/schema.ts'
import type { AnyTool, JsonSchema } from '../../tools/tool.ts'
import { problemOfRequest } from '../http/problem.ts'

/** A tool in OpenAI's shape, as a request has it; its body's schema has been checked. */
export interface ClientTool {
  function: { name: string; description?: string | null; parameters?: JsonObject | null; strict?: boolean | null }
}

/** Tools without `execute`: their calls go back to the client. */
export function toClientTools(tools: readonly ClientTool[] | null | undefined): AnyTool[] {
  return (tools ?? []).map(({ function: { name, description, parameters: given, strict } }) => {
    const parameters = { type: 'object', properties: {}, ...given }
    return { name, description: description ?? '', parameters, ...(typeof strict === 'boolean' ? { strict } : {}) }
  })
}

/** Makes a client's schema ready to be used. Rejects with an `HttpProblem` 400. */
export async function compileForClient(schema: JsonSchema, name: string): Promise<void> {
  try {
    await compileUntrusted(schema, name)
  } catch (error) {
    throw problemOfRequest(error) ?? error
  }
}
