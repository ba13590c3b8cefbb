/** `down`: the server ended or can't be reached, and is being retried. Its tools stay, and calls of them fail and say so. */
export type McpServerState = 'starting' | 'ready' | 'down' | 'closed'

/** The state of one MCP server. */
export interface McpServerStatus {
  name: string
  state: McpServerState
  /** Why the server is down. */
  problem?: string
}
