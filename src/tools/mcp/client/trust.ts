import type { ToolEffect } from '../../tool.ts'
import type { McpServerOptions } from '../server-config.ts'
import type { DescribedTool } from './listing/fingerprint.ts'

/** Returns the side effects of a server's tool. */
export function effectOf(server: McpServerOptions, { name, annotations }: DescribedTool): ToolEffect {
  const configured = server.effects?.[name]
  if (configured !== undefined) return configured
  if (!server.trustAnnotations) return 'unsafe'
  if (annotations.readOnlyHint === true) return 'read'
  return annotations.idempotentHint === true ? 'idempotent' : 'unsafe'
}

/** Whether calls of a tool need approval. */
export function needsApproval(server: McpServerOptions, { name, annotations }: Pick<DescribedTool, 'name' | 'annotations'>): boolean {
  const { approval } = server
  if (approval !== undefined) return typeof approval === 'boolean' ? approval : approval.includes(name)
  // An explicit `destructiveHint` is trusted from any server, because a server gains nothing by setting it falsely. A missing hint, which
  // formally means the same, is ignored.
  return annotations.destructiveHint === true && !(server.trustAnnotations && annotations.readOnlyHint === true)
}
