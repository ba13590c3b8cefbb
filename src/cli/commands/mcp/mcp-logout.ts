import { KeptCredentials } from '../../../tools/mcp/auth/credentials.ts'
import { mcpTokenFiles } from '../../../tools/mcp/auth/file-store.ts'
import { EXIT_OK } from '../../exit-codes.ts'
import type { Flags } from '../../flags.ts'
import { serverNamed, tokenFolder } from '../../setup/mcp-servers.ts'
import { type CliIO, Terminal } from '../../terminal/terminal.ts'

/** How long to wait for another process that is renewing the tokens, in milliseconds. */
const lockTimeoutMs = 60_000

/** `toolloop mcp logout`: removes the tokens of an MCP server from this machine. Resolves with the exit code. */
export async function mcpLogout(name: string, flags: Flags, io: CliIO): Promise<number> {
  const { url, auth = {} } = await serverNamed(name, flags, io)
  const kept = new KeptCredentials(auth.store ?? mcpTokenFiles(tokenFolder(io)), new URL(url), auth)
  let had = false
  // Waits for other processes that are renewing the tokens, because they would save the tokens again.
  await kept.exclusively(AbortSignal.timeout(lockTimeoutMs), async () => {
    had = await kept.forget()
  })
  new Terminal(io).print(had ? `Signed out of ${name}. Its tokens are no longer on this machine.` : `Nothing is stored for ${name}.`)
  return EXIT_OK
}
