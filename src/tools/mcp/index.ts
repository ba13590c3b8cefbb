export type { McpToolResult } from './call-result.ts'
export { connectMcpServers, type HeldTool, type McpOptions, type McpServerStatus, type McpTools } from './connect.ts'
export type { McpCommand, McpServer, McpServerOptions, McpUrl } from './server-config.ts'
export type { McpServerState } from './server-link.ts'
