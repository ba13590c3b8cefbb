import type { ToolEffect } from '../../tool.ts'
import type { McpServerOptions } from '../server-config.ts'
import type { DescribedTool } from './listing/fingerprint.ts'

/** What a server's tool does to the world. */
export function effectOf(server: McpServerOptions, { name, annotations }: DescribedTool): ToolEffect {
  const configured = server.effects?.[name]
  if (configured !== undefined) return configured
  if (!server.trustAnnotations) return 'unsafe'
  if (annotations.readOnlyHint === true) return 'read'
  return annotations.idempotentHint === true ? 'idempotent' : 'unsafe'
}

/** Whether its calls need an approval. */
export function needsApproval(server: McpServerOptions, { name, annotations }: Pick<DescribedTool, 'name' | 'annotations'>): boolean {
  const { approval } = server
  if (approval !== undefined) return typeof approval === 'boolean' ? approval : approval.includes(name)
  // Said outright, and so believed of anybody: a server gains nothing by it. That it may be absent and then means the same is not made use of.
  return annotations.destructiveHint === true && !(server.trustAnnotations && annotations.readOnlyHint === true)
}
