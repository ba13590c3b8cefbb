import type { JsonObject } from '../../../core/messages.ts'
import type { AnyTool, Tool } from '../../tool.ts'
import { fromOrigin } from '../../tool-names.ts'
import { timeoutOf } from './call-time.ts'
import type { McpToolResult } from './calls/call-result.ts'
import { isTask } from './calls/questions.ts'
import type { ListedTool } from './listing/list-tools.ts'
import type { ServerLink } from './server-link.ts'
import { effectOf, needsApproval } from './trust.ts'

/** Converts a server's tool. `mustAsk`: whether every call needs approval. */
export function mcpTool(link: ServerLink, listed: ListedTool, name: string, mustAsk: boolean): AnyTool {
  const timeoutMs = timeoutOf(link.server, listed.name)
  const tool: Tool<unknown> = {
    name,
    description: listed.description,
    parameters: listed.inputSchema,
    effect: effectOf(link.server, listed),
    timeoutMs,
    ...(mustAsk || needsApproval(link.server, listed) ? { approval: true } : {}),
    toContent: ({ content }: McpToolResult) => content,
    // If the server runs the call as a task, repeating the call continues the task.
    reconcile: (_args, ctx) => (isTask(ctx) ? { ran: false } : undefined),
    execute: (args: JsonObject, ctx) => link.call(listed, args, ctx),
  }
  return fromOrigin(tool as AnyTool, { kind: 'mcp', name: link.name })
}
