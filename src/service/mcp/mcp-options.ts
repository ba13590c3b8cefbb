import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { McpServing, SessionBounds } from '../../tools/mcp/server/serving.ts'
import type { McpRouteConfig } from '../config/config.ts'
import { checkAuthorization, type McpTokenIssuer } from './authorization.ts'

/** Options of the service's MCP route. `service.mcp` in the configuration overrides them. */
export interface McpRouteOptions
  extends McpRouteConfig,
    SessionBounds,
    Pick<McpServing, 'name' | 'version' | 'logToClient' | 'skills' | 'extend'> {
  /**
   * Whether the service has only the route `/mcp` and the health probes. If true, agents are offered only if `agents` is set. Default
   * false.
   */
  only?: boolean
  /** The token issuer. Default: only the service's own tokens are accepted. */
  authorization?: McpTokenIssuer
}

const optionNames: OptionNames<McpRouteOptions> = {
  tools: true,
  agents: true,
  instructions: true,
  name: true,
  version: true,
  logToClient: true,
  skills: true,
  extend: true,
  only: true,
  authorization: true,
  maxSessions: true,
  maxSessionsOfCaller: true,
  sessionIdleMs: true,
}

/** Checks the options of the MCP route. Throws `invalid_option`. */
export function checkMcpOptions({ mcp, authenticate }: { mcp?: boolean | McpRouteOptions; authenticate?: unknown }): void {
  if (mcp === undefined || typeof mcp === 'boolean') return
  checkOptionNames(mcp, optionNames, '`createService`', 'mcp')
  for (const name of ['maxSessions', 'maxSessionsOfCaller', 'sessionIdleMs'] as const) {
    const { [name]: bound = 1 } = mcp
    if (!Number.isInteger(bound) || bound < 1) throw new InvalidOptionError(`mcp.${name}`, 'an integer of at least 1', bound)
  }
  if (mcp.authorization === undefined) return
  checkAuthorization(mcp.authorization)
  if (authenticate === undefined)
    throw new InvalidOptionError('mcp.authorization', 'absent without `authenticate`, which checks the tokens', mcp.authorization)
}
