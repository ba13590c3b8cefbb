/** Options of hosts that serve tools. These types don't require the SDK. */

import type { Skill } from '../../skills/skill.ts'

/** Options for serving tools over any transport. */
export interface McpServing {
  /** The name of the server. Default `toolloop`, with the version of this package. */
  name?: string
  version?: string
  /** Instructions that the client may pass to its model. */
  instructions?: string
  /** Time limit of one call in milliseconds. A tool's own limit takes precedence. Default 30,000. */
  toolTimeoutMs?: number
  /** Maximum number of bytes of text in one result. Default 65,536. */
  maxResultBytes?: number
  /** Maximum number of values in one call's arguments. Default: no limit. */
  maxArgumentValues?: number
  /**
   * Whether the records that tools write to `ctx.logger` are also sent to clients that ask for log messages, at the level they ask for and
   * without secrets. Default false: the records go only to the application's log.
   */
  logToClient?: boolean
  /** Skills to offer as prompts and resources, in addition to their tools. Default: none. */
  skills?: { readonly skills: readonly Skill[] }
  /**
   * Adds resources, prompts or completions. Called with the `McpServer` of `@modelcontextprotocol/server` for each connection, or for each
   * request if the protocol has no connections.
   *
   * Contract: the function is synchronous and must not register tools. If it throws, the request fails.
   */
  extend?(server: object): void
}

/** Limits for the sessions of clients with the protocol of 2025. Later protocols have no sessions. */
export interface SessionBounds {
  /**
   * Maximum number of sessions of one caller. Default 1,000. When the maximum is reached, a new session replaces the session that has been
   * idle longest.
   */
  maxSessionsOfCaller?: number
  /** Maximum number of sessions of all callers together. Default 10,000. */
  maxSessions?: number
  /** How long a session may have neither a request nor an open stream, in milliseconds. Default 600,000. */
  sessionIdleMs?: number
}
