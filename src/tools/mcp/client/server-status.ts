/**
 * The state of an MCP server. `down`: the server has ended or can't be reached. The server is retried in the background, and calls to its
 * tools fail.
 */
export type McpServerState = 'starting' | 'ready' | 'down' | 'closed'

/** The state of one MCP server. */
export interface McpServerStatus {
  name: string
  state: McpServerState
  /** The reason why the server is down. */
  problem?: string
}
