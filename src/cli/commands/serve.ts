import { once } from 'node:events'
import { resolve } from 'node:path'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import { createLogger } from '../../core/logger.ts'
import type { Config } from '../../service/config/config.ts'
import { findConfigFile, readConfigText } from '../../service/config/config-file.ts'
import { parseConfig } from '../../service/config/parse-config.ts'
import type { ListeningService } from '../../service/listen.ts'
import { EXIT_OK } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { chooseModel } from '../setup/choose-model.ts'
import { loadTools } from '../setup/load-tools.ts'
import { describeChoice, openChoice } from '../setup/prepare-agent.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'

/**
 * `toolloop serve`: serves the agent over HTTP until SIGINT or SIGTERM. After the signal, runs in progress can still finish. Resolves
 * with the exit code. Rejects for invalid options and files.
 */
export async function serve(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const { cwd, env } = io
  const interrupts = new Interrupts(io)
  let listening: ListeningService | undefined
  try {
    const file = resolve(cwd, flags.config ?? (await findConfigFile(cwd)) ?? 'toolloop.yaml')
    const text = await readConfigText(file)
    if (text === undefined && flags.config !== undefined) {
      throw new ToolloopError('invalid_option', `Expected \`--config\` to name a file, found none at ${file}`)
    }
    const { config } = await parseConfig(text ?? '', file, env)
    const choice = await chooseModel({
      config,
      model: flags.model,
      baseURL: flags.baseUrl,
      env,
      cwd,
      signal: interrupts.signal,
    })
    const levelOf = ({ logging }: Config) => (flags.verbose ? 'debug' : flags.quiet ? 'error' : (logging?.level ?? 'info'))
    const logger = createLogger({ level: levelOf(config), destination: { write: (line) => terminal.note(line.trimEnd()) } })
    // Options take precedence over the file, as in all commands. If an option sets the model, changes of the model in the file have no
    // effect.
    const isFixed = choice.source === 'option' || choice.source === 'environment' || flags.baseUrl !== undefined
    const { createService, listen } = await import('../../service/index.ts')
    const service = createService({
      configFile: file,
      model: openChoice(choice),
      modelIsFixed: isFixed,
      tools: await loadTools(flags.tools ?? [], cwd),
      // Only tools that reveal nothing about this machine.
      builtinTools: ['calculate', 'current_time'],
      token: env.TOOLLOOP_TOKEN || undefined,
      logger,
      onReload: (_state, now) => {
        logger.level = levelOf(now)
      },
      env,
      cwd,
    })
    listening = await listen(service, { host: flags.host, port: flags.port })
    if (!flags.quiet) terminal.note(terminal.paint('dim', describeChoice(choice, env)))
    terminal.print(`Listening on ${listening.url}`)
    terminal.print(`Admin page:  ${listening.url}/admin/`)
    // For ten minutes, the link signs in anybody who has it, but only once. By default, it is printed only on a terminal, because other
    // output may be stored where others can read it.
    if (io.stdout.isTTY === true || flags.signInLink) {
      terminal.print(`Sign in:     ${service.signInLink(listening.url)}`)
      if (!flags.quiet) terminal.note(terminal.paint('dim', 'this link signs in one browser, once, within 10 minutes'))
    }
    if (service.initialToken !== undefined && !service.limits.hasTokens) {
      terminal.print(`Token:       ${service.initialToken}`)
      if (!flags.quiet)
        terminal.note(terminal.paint('dim', 'the token is for this start only; TOOLLOOP_TOKEN or `service.auth.tokens` sets your own'))
    }
    if (!interrupts.signal.aborted) await once(interrupts.signal, 'abort')
    if (!flags.quiet) terminal.note('shutting down once the runs in progress have finished; interrupt again to end them now')
    await listening.close()
    listening = undefined
    return EXIT_OK
  } finally {
    await listening?.close(0).catch((error: unknown) => terminal.note(`error: ${messageOf(error)}`))
    interrupts.release()
  }
}
