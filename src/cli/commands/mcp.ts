import { Console } from 'node:console'
import { EXIT_OK } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { inMilliseconds } from '../setup/prepare-agent.ts'
import { openToolSources } from '../setup/tool-sources.ts'
import { createCliLogger } from '../terminal/cli-logger.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'

/** `toolloop mcp`: serves the tools over standard input and output until the client goes. Resolves with the exit code. */
export async function mcp(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const interrupts = new Interrupts(io)
  const { console: before } = globalThis
  try {
    // Standard output is the protocol's; what tools print would break it.
    globalThis.console = new Console(io.stderr, io.stderr)
    const logger = createCliLogger(terminal, flags)
    const { dispatcher, skills } = await openToolSources(flags, terminal, logger)
    const refused = dispatcher.list().filter(({ approval }) => approval !== undefined && approval !== false)
    if (refused.length > 0 && !flags.quiet) {
      terminal.note(`not served, since nobody can be asked for approval: ${refused.map(({ name }) => name).join(', ')}`)
    }
    const { serveMcp } = await import('../../tools/mcp/serve.ts')
    const service = await serveMcp(dispatcher, {
      input: io.stdin,
      output: io.stdout,
      signal: interrupts.signal,
      logger,
      toolTimeoutMs: inMilliseconds(flags.timeout),
    })
    await service.closed
    await skills?.close()
    return interrupts.exitCode ?? EXIT_OK
  } finally {
    globalThis.console = before
    interrupts.release()
  }
}
