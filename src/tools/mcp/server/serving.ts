import type { Skill } from '../../skills/skill.ts'

/** Options of an MCP server, over any transport. */
export interface McpServing {
  /** The name of the server. Default `toolloop`, with the version of this package. */
  name?: string
  version?: string
  /** Instructions for the client's model. */
  instructions?: string
  /** Time limit of one call in milliseconds. A tool's own `timeoutMs` takes precedence. Default 30,000. */
  toolTimeoutMs?: number
  /** Maximum number of bytes of text in one result. Default 65,536. */
  maxResultBytes?: number
  /** Maximum number of values in one call's arguments. Default: no limit. */
  maxArgumentValues?: number
  /**
   * Whether clients that ask for log messages receive what tools write to `ctx.logger`, without secrets. Default false: only the
   * application's log receives it.
   */
  logToClient?: boolean
  /** Skills to offer as prompts and resources. Pass their tools separately. Default: none. */
  skills?: { readonly skills: readonly Skill[] }
  /**
   * Adds resources, prompts or completions. Called with the `McpServer` of `@modelcontextprotocol/server` for each connection, or for each
   * request over HTTP in protocol 2026-07-28.
   *
   * Contract: the function is synchronous and must not register tools. If it throws, the request fails.
   */
  extend?(server: object): void
}

/** Limits for sessions, which exist only in protocol 2025-11-25 and earlier. */
export interface SessionBounds {
  /**
   * Maximum number of sessions of one caller. Default 1,000. When the maximum is reached, a new session replaces the session that has been
   * idle longest.
   */
  maxSessionsOfCaller?: number
  /** Maximum number of sessions of all callers together. Default 10,000. */
  maxSessions?: number
  /** How long a session may be idle, in milliseconds. A session with an open stream is not idle. Default 600,000. */
  sessionIdleMs?: number
}
