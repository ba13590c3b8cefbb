import type { ToolEffect } from '../../tool.ts'
import type { McpServerOptions } from '../server-config.ts'
import type { DescribedTool } from './listing/fingerprint.ts'

export function effectOf(server: McpServerOptions, { name, annotations }: DescribedTool): ToolEffect {
  const configured = server.effects?.[name]
  if (configured !== undefined) return configured
  if (!server.trustAnnotations) return 'unsafe'
  if (annotations.readOnlyHint === true) return 'read'
  return annotations.idempotentHint === true ? 'idempotent' : 'unsafe'
}

export function needsApproval(server: McpServerOptions, { name, annotations }: Pick<DescribedTool, 'name' | 'annotations'>): boolean {
  const { approval } = server
  if (approval !== undefined) return typeof approval === 'boolean' ? approval : approval.includes(name)
  // `destructiveHint` is used even if the server is not trusted, because a server gains nothing by setting it. Unlike in the protocol, its
  // default is false.
  return annotations.destructiveHint === true && !(server.trustAnnotations && annotations.readOnlyHint === true)
}
