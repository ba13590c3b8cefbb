import { spawn } from 'node:child_process'
import { visible } from '../../../core/text/visible.ts'
import type { McpTokenStore } from '../../../tools/mcp/index.ts'
import { EXIT_OK } from '../../exit-codes.ts'
import type { Flags } from '../../flags.ts'
import { serverNamed, tokenFolder } from '../../setup/mcp-servers.ts'
import { createCliLogger } from '../../terminal/cli-logger.ts'
import { Interrupts } from '../../terminal/interrupts.ts'
import { type CliIO, isOnTerminal, Terminal } from '../../terminal/terminal.ts'

/** `toolloop mcp login`: uses a browser to sign in to a configured MCP server. Resolves with the exit code. */
export async function mcpLogin(name: string, flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const server = await serverNamed(name, flags, io)
  const interrupts = new Interrupts(io)
  const opened: AsyncDisposable[] = []
  try {
    const { connectMcpServers, mcpTokenFiles, openLoopbackSignIn } = await import('../../../tools/mcp/index.ts')
    const { auth = {} } = server
    const show = ({ url }: { url: URL }) => {
      terminal.note(`Open this page to sign in:\n${visible(url.href)}`)
      if (isOnTerminal(io)) openBrowser(url, terminal)
    }
    const loopback = await openLoopbackSignIn({ show, redirectUrl: auth.redirectUrl })
    opened.push(loopback)
    const { redirectUrl, authorize } = loopback
    const store = startingOver(auth.store ?? mcpTokenFiles(tokenFolder(io)))
    const { optional: _, ...rest } = server
    const tools = await connectMcpServers(
      { [name]: { ...rest, auth: { ...auth, redirectUrl, authorize, store } } },
      { signal: interrupts.signal, logger: createCliLogger(terminal, flags) },
    )
    opened.push(tools)
    const count = `${tools.size} ${tools.size === 1 ? 'tool' : 'tools'}`
    terminal.print(store.isSaved() ? `Signed in to ${name}, which has ${count}.` : `${name} needs no sign-in; it has ${count}.`)
    return interrupts.exitCode ?? EXIT_OK
  } finally {
    // `await using` can't be used, because Node.js 22 doesn't support it.
    for (const resource of opened.reverse()) await resource[Symbol.asyncDispose]()
    interrupts.release()
  }
}

/** Wraps a token store so that it appears empty until something is saved. If the sign-in fails, the saved data stays unchanged. */
function startingOver(store: McpTokenStore): McpTokenStore & { isSaved(): boolean } {
  let isSaved = false
  return {
    isSaved: () => isSaved,
    load: (key) => (isSaved ? store.load(key) : undefined),
    save: async (key, text) => {
      await store.save(key, text)
      isSaved = true
    },
    remove: (key) => store.remove(key),
    lock: store.lock?.bind(store),
  }
}

function openBrowser(url: URL, terminal: Terminal): void {
  const [program = '', ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
  const child = spawn(program, [...args, url.href], { stdio: 'ignore', detached: true })
  child.on('error', () => terminal.note('(No browser could be opened from here.)'))
  child.unref()
}
