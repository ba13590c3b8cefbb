/** `down`: it ended or can't be reached, and is tried again; its tools stay, and say so. */
export type McpServerState = 'starting' | 'ready' | 'down' | 'closed'

/** How one MCP server is doing. */
export interface McpServerStatus {
  name: string
  state: McpServerState
  /** Why it is down. */
  problem?: string
}
