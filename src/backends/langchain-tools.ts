import { ToolloopError } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/messages.ts'
import { acceptSchema } from '../tools/schema/written-schema.ts'
import { type AnyTool, defineTool, type JsonSchema } from '../tools/tool.ts'

/**
 * The required parts of a LangChain tool. Tools created by `tool()`, and instances of `StructuredTool` and `Tool`, have these parts.
 *
 * Contract: `invoke` is awaited, like a tool's `execute`. If it throws, the call fails.
 */
export interface LangChainTool {
  readonly name: string
  readonly description: string
  readonly returnDirect?: boolean
  invoke(input: never, config?: never): Promise<unknown>
}

/**
 * Converts LangChain tools to tools for runs with either backend. Names, descriptions and schemas stay the same. Arguments are validated by
 * toolloop and then by LangChain. If a tool throws, its error is sent to the model. `returnDirect` becomes `final`. The run's signal is
 * passed to the tool. If a tool returns a `ToolMessage`, its content is the result. Add other fields by spreading:
 * `{ ...tool, effect: 'read' }`.
 *
 * Rejects with `missing_dependency` if `@langchain/core` is not installed, and with `invalid_tool` for an invalid tool.
 */
export async function fromLangChainTools(tools: readonly LangChainTool[]): Promise<AnyTool[]> {
  const { convertToOpenAITool } = await import('@langchain/core/utils/function_calling').catch((error: unknown) => {
    throw new ToolloopError('missing_dependency', 'LangChain tools need their package: npm install @langchain/core', { cause: error })
  })
  return tools.map((tool) => {
    const parameters: unknown = convertToOpenAITool(tool as never).function.parameters
    return defineTool({
      name: tool.name,
      description: tool.description,
      parameters: acceptSchema(parametersOf(parameters, tool.name)),
      ...(tool.returnDirect === true ? { final: true } : {}),
      execute: async (args: JsonObject, { signal }) => resultOf(await tool.invoke(args as never, { signal } as never)),
    })
  })
}

function parametersOf(parameters: unknown, name: string): JsonSchema {
  if (!isJsonObject(parameters)) throw new ToolloopError('invalid_tool', `Expected the LangChain tool \`${name}\` to have an object schema`)
  const { $schema: _, ...schema } = parameters
  return schema
}

/** The status of a returned message says whether the call failed. */
function resultOf(returned: unknown): unknown {
  if (typeof returned !== 'object' || returned === null || !('lc_direct_tool_output' in returned) || !('content' in returned))
    return returned
  if ('status' in returned && returned.status === 'error') throw new Error(String(returned.content))
  return returned.content
}
