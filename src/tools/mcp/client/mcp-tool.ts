import type { JsonObject } from '../../../core/messages.ts'
import type { AnyTool, Tool, ToolEffect } from '../../tool.ts'
import type { McpToolResult } from './call-result.ts'
import type { ListedTool } from './list-tools.ts'
import type { ServerLink } from './server-link.ts'

/** A server's tool as one of ours. `mustAsk`: whatever else is configured, its calls need an approval. */
export function mcpTool(link: ServerLink, listed: ListedTool, name: string, mustAsk: boolean): AnyTool {
  const { toolTimeoutMs } = link.server
  const tool: Tool<unknown> = {
    name,
    description: listed.description,
    parameters: listed.inputSchema,
    effect: effectOf(link, listed),
    ...(toolTimeoutMs === undefined ? {} : { timeoutMs: toolTimeoutMs }),
    ...(mustAsk || needsApproval(link, listed) ? { approval: true } : {}),
    toContent: ({ content }: McpToolResult) => content,
    execute: (args: JsonObject, ctx) => link.call(listed, args, ctx),
  }
  return tool as AnyTool
}

function effectOf({ server }: ServerLink, { name, annotations }: ListedTool): ToolEffect {
  const configured = server.effects?.[name]
  if (configured !== undefined) return configured
  if (!server.trustAnnotations) return 'unsafe'
  if (annotations.readOnlyHint === true) return 'read'
  return annotations.idempotentHint === true ? 'idempotent' : 'unsafe'
}

function needsApproval({ server }: ServerLink, { name, annotations }: ListedTool): boolean {
  const { approval } = server
  if (approval !== undefined) return typeof approval === 'boolean' ? approval : approval.includes(name)
  // Said outright, and so believed of anybody: a server gains nothing by it. That it may be absent and then means the same is not made use of.
  return annotations.destructiveHint === true && !(server.trustAnnotations && annotations.readOnlyHint === true)
}
