/**
 * The state of an MCP server. `down`: the server has ended or can't be reached, and is retried in the background. The server's tools stay
 * in the set. Calls to them fail with a message that the server is down.
 */
export type McpServerState = 'starting' | 'ready' | 'down' | 'closed'

/** The state of one MCP server. */
export interface McpServerStatus {
  name: string
  state: McpServerState
  /** The reason why the server is down. */
  problem?: string
}
