/**
 * The state of an MCP server. `down`: the server has ended or can't be reached, and is retried in the background. Its tools stay in the
 * set, and calls to them fail with a message that says so.
 */
export type McpServerState = 'starting' | 'ready' | 'down' | 'closed'

/** The state of one MCP server. */
export interface McpServerStatus {
  name: string
  state: McpServerState
  /** Why the server is down. */
  problem?: string
}
