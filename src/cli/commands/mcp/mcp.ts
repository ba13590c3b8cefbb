import { Console } from 'node:console'
import { once } from 'node:events'
import { ToolloopError } from '../../../core/errors.ts'
import type { Logger } from '../../../core/logger.ts'
import type { ToolDispatcher } from '../../../tools/dispatcher.ts'
import type { Skills } from '../../../tools/skills/skills.ts'
import { EXIT_OK } from '../../exit-codes.ts'
import type { Flags } from '../../flags.ts'
import { inMilliseconds } from '../../setup/prepare-agent.ts'
import { openToolSources } from '../../setup/tool-sources.ts'
import { createCliLogger } from '../../terminal/cli-logger.ts'
import { Interrupts } from '../../terminal/interrupts.ts'
import { type CliIO, Terminal } from '../../terminal/terminal.ts'

/**
 * `toolloop mcp`: serves the tools over standard input and output until the client disconnects. With `--http`, serves them over HTTP until
 * SIGINT or SIGTERM. Resolves with the exit code.
 */
export async function mcp(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const interrupts = new Interrupts(io)
  const { console: before } = globalThis
  try {
    if (!flags.http && (flags.host ?? flags.port) !== undefined)
      throw new ToolloopError('invalid_option', 'Expected `--host` and `--port` to be used with `--http`')
    // Tools log to standard error, because standard output belongs to the protocol.
    globalThis.console = new Console(io.stderr, io.stderr)
    const logger = createCliLogger(terminal, flags)
    const { dispatcher, skills } = await openToolSources(flags, terminal, logger)
    const refused = dispatcher.list().filter(({ approval }) => approval !== undefined && approval !== false)
    if (refused.length > 0 && !flags.quiet) {
      terminal.note(`not served, because nobody can approve calls: ${refused.map(({ name }) => name).join(', ')}`)
    }
    const serving = { flags, terminal, interrupts, logger, skills }
    await (flags.http ? serveHttp(dispatcher, serving) : serveStdio(dispatcher, serving))
    await skills?.close()
    return flags.http ? EXIT_OK : (interrupts.exitCode ?? EXIT_OK)
  } finally {
    globalThis.console = before
    interrupts.release()
  }
}

interface Serving {
  flags: Flags
  terminal: Terminal
  interrupts: Interrupts
  logger: Logger
  skills?: Skills
}

async function serveStdio(tools: ToolDispatcher, { flags, terminal: { io }, interrupts, logger, ...offered }: Serving): Promise<void> {
  const { serveMcp } = await import('../../../tools/mcp/server/serve-stdio.ts')
  const { signal } = interrupts
  const service = await serveMcp(tools, {
    input: io.stdin,
    output: io.stdout,
    signal,
    logger,
    // The client may get the log, because it can read this process's standard error anyway.
    logToClient: true,
    ...offered,
    toolTimeoutMs: inMilliseconds(flags.timeout),
  })
  await service.closed
}

/** Serves only the route `/mcp`, with the usual token, limits and checks of the service. */
async function serveHttp(tools: ToolDispatcher, { flags, terminal, interrupts, logger, ...offered }: Serving): Promise<void> {
  const { createService, listen } = await import('../../../service/index.ts')
  const { env, cwd } = terminal.io
  const token = env.TOOLLOOP_TOKEN || undefined
  const toolTimeoutMs = inMilliseconds(flags.timeout)
  const service = createService({ tools: tools.list(), mcp: { only: true, ...offered }, agent: { toolTimeoutMs }, token, logger, env, cwd })
  const listening = await listen(service, { host: flags.host, port: flags.port })
  try {
    terminal.print(`Listening on ${listening.url}/mcp`)
    if (service.initialToken !== undefined) terminal.print(`Token:       ${service.initialToken}`)
    if (!interrupts.signal.aborted) await once(interrupts.signal, 'abort')
  } finally {
    await listening.close()
  }
}
