/** `toolloop/mcp`: tools of MCP servers, and agents and tools served to MCP clients. */
export type { McpClient } from '../tool.ts'
export { mcpTokenFiles } from './auth/file-store.ts'
export { type LoopbackSignIn, type LoopbackSignInOptions, openLoopbackSignIn } from './auth/loopback-sign-in.ts'
export type { McpAuth, McpAuthorization, McpTokenStore } from './auth-options.ts'
export type { McpToolResult } from './client/calls/call-result.ts'
export {
  connectMcpServers,
  type HeldTool,
  type McpAskOptions,
  type McpOptions,
  type McpTools,
} from './client/connect.ts'
export type { McpPrompt, McpResource, McpResourceTemplate } from './client/context/server-context.ts'
export type { McpServerState, McpServerStatus } from './client/server-status.ts'
export { askClientModel, askClientRoots, type ClientModelAnswer, type ClientModelRequest } from './server/client-requests.ts'
export { type McpService, type ServeMcpOptions, serveMcp } from './server/serve-stdio.ts'
export type { McpServing } from './server/serving.ts'
export type { McpCommand, McpServer, McpServerOptions, McpUrl } from './server-config.ts'
