/** What a host says of how its tools are served: types that need no SDK. */

import type { Skill } from '../../skills/skill.ts'

/** How tools are served, over whichever transport. */
export interface McpServing {
  /** What the server calls itself. Default `toolloop`, and this package's version. */
  name?: string
  version?: string
  /** What the client may tell its model of these tools. */
  instructions?: string
  /** Time limit of one call in milliseconds; a tool's own wins. Default 30,000. */
  toolTimeoutMs?: number
  /** Most bytes of text of one result. Default 65,536. */
  maxResultBytes?: number
  /** Maximum number of values in one call's arguments. Default: no limit. */
  maxArgumentValues?: number
  /**
   * True: what tools log with `ctx.logger` is also sent to clients that ask for log messages, at the level they ask for and without secrets.
   * Default false: it is for the program alone.
   */
  logToClient?: boolean
  /** Skills that are offered as prompts and resources too, besides their tools. Default: none. */
  skills?: { readonly skills: readonly Skill[] }
  /**
   * Adds what is no tool: resources, prompts, completions. Called with the `McpServer` of `@modelcontextprotocol/server` for each connection, or
   * each request where the protocol has none. It must not register tools. What it throws fails the request.
   */
  extend?(server: object): void
}

/** Bounds on the sessions of clients with the protocol of 2025; later ones have none. */
export interface SessionBounds {
  /** Of one caller. Default 1,000: the one that has been idle longest makes room. */
  maxSessionsOfCaller?: number
  /** Of all. Default 10,000. */
  maxSessions?: number
  /** How long a session may have no request and no stream open, in milliseconds. Default 600,000. */
  sessionIdleMs?: number
}
