import { join, resolve } from 'node:path'
import { ToolloopError } from '../../core/errors.ts'
import { findConfigFile, readConfigText } from '../../service/config/config-file.ts'
import { parseConfig } from '../../service/config/parse-config.ts'
import type { McpUrl } from '../../tools/mcp/index.ts'
import type { Flags } from '../flags.ts'
import type { CliIO } from '../terminal/terminal.ts'

/** Finds an MCP server in the configuration by its name. Rejects with `invalid_option` if there is no such server, or if it has no URL. */
export async function serverNamed(name: string, flags: Flags, { cwd, env }: CliIO): Promise<McpUrl> {
  const file = resolve(cwd, flags.config ?? (await findConfigFile(cwd)) ?? 'toolloop.yaml')
  const text = await readConfigText(file)
  if (text === undefined) throw new ToolloopError('invalid_option', `Expected a configuration file, found none at ${file}`)
  const { servers = {} } = (await parseConfig(text, file, env)).config.mcp ?? {}
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (server !== undefined && 'url' in server) return server
  const named = Object.entries(servers).flatMap(([key, one]) => ('url' in one ? [key] : []))
  const known = named.length === 0 ? 'and it has none' : `which are ${named.join(', ')}`
  throw new ToolloopError('invalid_option', `Expected the name of an MCP server with a \`url\` in ${file}, ${known}; got \`${name}\``)
}

/**
 * Returns the folder for the tokens of servers that are configured without a token store. Undefined if HOME is not set; the library then
 * uses its default folder.
 */
export function tokenFolder({ env: { HOME } }: Pick<CliIO, 'env'>): string | undefined {
  return HOME === undefined ? undefined : join(HOME, '.toolloop', 'mcp')
}
