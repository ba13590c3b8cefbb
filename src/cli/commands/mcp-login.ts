import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { ToolloopError } from '../../core/errors.ts'
import { findConfigFile, readConfigText } from '../../service/config/config-file.ts'
import { parseConfig } from '../../service/config/parse-config.ts'
import type { McpTokenStore, McpUrl } from '../../tools/mcp/index.ts'
import { EXIT_OK } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { createCliLogger } from '../terminal/cli-logger.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { type CliIO, isOnTerminal, Terminal } from '../terminal/terminal.ts'
import { visible } from '../terminal/visible.ts'

/** `toolloop mcp login`: signs in to an MCP server of the configuration in a browser. Resolves with the exit code. */
export async function mcpLogin(name: string, flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const server = await serverNamed(name, flags, io)
  const interrupts = new Interrupts(io)
  try {
    const { connectMcpServers, mcpTokenFiles, openLoopbackSignIn } = await import('../../tools/mcp/index.ts')
    const { auth = {} } = server
    const show = ({ url }: { url: URL }) => {
      terminal.note(`Open this page to sign in:\n${visible(url.href)}`)
      if (isOnTerminal(io)) openBrowser(url, terminal)
    }
    await using loopback = await openLoopbackSignIn({ show, ...(auth.redirectUrl === undefined ? {} : { redirectUrl: auth.redirectUrl }) })
    const { redirectUrl, authorize } = loopback
    const { HOME } = io.env
    const store = anew(auth.store ?? mcpTokenFiles(HOME === undefined ? undefined : join(HOME, '.toolloop', 'mcp')))
    const { optional: _, ...rest } = server
    await using tools = await connectMcpServers(
      { [name]: { ...rest, auth: { ...auth, redirectUrl, authorize, store } } },
      { signal: interrupts.signal, logger: createCliLogger(terminal, flags) },
    )
    const count = `${tools.size} ${tools.size === 1 ? 'tool' : 'tools'}`
    terminal.print(store.isSaved() ? `Signed in to ${name}, which has ${count}.` : `${name} wants no sign-in; it has ${count}.`)
    return interrupts.exitCode ?? EXIT_OK
  } finally {
    interrupts.release()
  }
}

async function serverNamed(name: string, flags: Flags, { cwd, env }: CliIO): Promise<McpUrl> {
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

/** The store, as if nothing were in it before something is saved: a sign-in that fails leaves what there was. */
function anew(store: McpTokenStore): McpTokenStore & { isSaved(): boolean } {
  let isSaved = false
  return {
    isSaved: () => isSaved,
    load: (key) => (isSaved ? store.load(key) : undefined),
    save: async (key, text) => {
      await store.save(key, text)
      isSaved = true
    },
    remove: (key) => store.remove(key),
  }
}

function openBrowser(url: URL, terminal: Terminal): void {
  const [program = '', ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
  const child = spawn(program, [...args, url.href], { stdio: 'ignore', detached: true })
  child.on('error', () => terminal.note('(No browser could be opened from here.)'))
  child.unref()
}
