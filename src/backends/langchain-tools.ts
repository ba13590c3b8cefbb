import { ToolloopError } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/messages.ts'
import { acceptSchema } from '../tools/schema/written-schema.ts'
import { type AnyTool, defineTool, type JsonSchema } from '../tools/tool.ts'

/** What is needed of a tool of LangChain: what `tool()` and the classes made from `StructuredTool` and `Tool` have. */
export interface LangChainTool {
  readonly name: string
  readonly description: string
  readonly returnDirect?: boolean
  invoke(input: never, config?: never): Promise<unknown>
}

/**
 * LangChain's tools as ours, to be used on either backend. Names, descriptions and schemas are the same; arguments are validated by ours
 * and then by LangChain; what a tool throws, the model is told. `returnDirect` becomes `final`, the run's signal goes along, and of a
 * `ToolMessage` that a tool returns the content counts. Whatever else a tool of ours may say (`effect`, `timeoutMs`, `approval` …) can be
 * added: `{ ...tool, effect: 'read' }`.
 *
 * Rejects with `missing_dependency` when `@langchain/core` is not installed, with `invalid_tool` for what can't be a tool.
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

/** A message in place of a value says itself whether it tells of a failure. */
function resultOf(returned: unknown): unknown {
  if (typeof returned !== 'object' || returned === null || !('lc_direct_tool_output' in returned) || !('content' in returned))
    return returned
  if ('status' in returned && returned.status === 'error') throw new Error(String(returned.content))
  return returned.content
}
