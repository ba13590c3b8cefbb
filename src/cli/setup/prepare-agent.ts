import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { BackendOptions } from '../../backends/index.ts'
import { codeMode } from '../../code-mode/index.ts'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { createModel } from '../../models/create-model.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Flags } from '../flags.ts'
import { createCliLogger } from '../terminal/cli-logger.ts'
import type { CliIO, Terminal } from '../terminal/terminal.ts'
import { chooseModel, type ModelChoice } from './choose-model.ts'
import { withOwnCommand } from './command-line.ts'
import { openToolSources } from './tool-sources.ts'

export interface PreparedAgent {
  choice: ModelChoice
  tools: AnyTool[]
  options: BackendOptions
  /** Closes the tools and everything that they have started. */
  close(): Promise<void>
}

/**
 * Converts the command line to the options of a runner. Sends nothing to a model. If an option, file or module is invalid, rejects with an
 * error whose `fault` is `programmer`.
 */
export async function prepareAgent(flags: Flags, terminal: Terminal, signal: AbortSignal): Promise<PreparedAgent> {
  const { cwd, env } = terminal.io
  const own = await readInstructions(flags.instructions, cwd)
  const logger = createCliLogger(terminal, flags)
  const { dispatcher, skills } = await openToolSources(flags, terminal, logger)
  const instructions = [own, skills?.catalogue()].filter((text) => text !== undefined && text !== '').join('\n\n') || undefined
  // A failure here leaves nothing to close, because tools start processes only when they are called.
  const choice = await chooseModel({ model: flags.model, baseURL: flags.baseUrl, env, cwd, signal })
  const { deadlineMs, tokens, costUsd, toolCalls, repeatedCalls, repeatWindow, ...settings } = choice.limits ?? {}
  // Options on the command line take precedence over the file, as in all commands.
  const options: BackendOptions = {
    ...settings,
    model: openChoice(choice),
    backend: choice.backend,
    tools: flags.codeMode === true ? codeMode(dispatcher) : dispatcher,
    logger,
    instructions,
    toolCalling: flags.toolCalling,
    maxIterations: flags.maxIterations ?? settings.maxIterations,
    toolTimeoutMs: inMilliseconds(flags.timeout) ?? settings.toolTimeoutMs,
    limits: { deadlineMs: inMilliseconds(flags.deadline) ?? deadlineMs, tokens, costUsd, toolCalls, repeatedCalls, repeatWindow },
    stream: flags.stream,
    effects: flags.preview === true ? 'preview' : undefined,
  }
  return { choice, tools: dispatcher.list(), options, close: async () => skills?.close() }
}

export function inMilliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000
}

export function openChoice({ model, providers }: ModelChoice): ChatModel {
  return createModel(model, { providers })
}

export function describeChoice({ name, source, why }: ModelChoice, env: CliIO['env']): string {
  return source === 'demo' ? withOwnCommand('demo model (no key found) — see toolloop doctor', env) : `model: ${name} (${why})`
}

/** Returns the instructions. If `given` starts with `@`, reads them from that file. */
export async function readInstructions(given: string | undefined, cwd: string): Promise<string | undefined> {
  if (given === undefined || !given.startsWith('@')) return given
  const file = resolve(cwd, given.slice(1))
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new ToolloopError('invalid_option', `Expected \`--instructions\` to name a file after the @: ${messageOf(error)}`, {
      cause: error,
    })
  })
}
