import type { JsonObject } from '../messages.ts'
import type { AnyTool } from '../tools/tool.ts'

/** A tool in OpenAI's shape, as a request has it; its body's schema has been checked. */
export interface ClientTool {
  function: { name: string; description?: string; parameters?: JsonObject; strict?: boolean | null }
}

/** Tools without `execute`: their calls go back to the client. */
export function toClientTools(tools: readonly ClientTool[] = []): AnyTool[] {
  return tools.map(({ function: { name, description = '', parameters = {}, strict } }) => ({
    name,
    description,
    parameters: { type: 'object', properties: {}, ...parameters },
    ...(typeof strict === 'boolean' ? { strict } : {}),
  }))
}
