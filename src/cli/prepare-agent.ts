import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { BackendOptions } from '../backends/index.ts'
import { messageOf, ToolloopError } from '../errors.ts'
import { createModel } from '../models/create-model.ts'
import type { ChatModel } from '../models/model.ts'
import type { AnyTool } from '../tools/tool.ts'
import type { AgentFlags } from './agent-flags.ts'
import { chooseModel, type ModelChoice } from './choose-model.ts'
import { createCliLogger } from './cli-logger.ts'
import { loadTools } from './load-tools.ts'
import type { Terminal } from './terminal.ts'

export interface PreparedAgent {
  choice: ModelChoice
  tools: AnyTool[]
  /** Everything the runner is made of. */
  options: BackendOptions
}

/**
 * Makes of the command line what a runner takes. Rejects with an error of the programmer's fault for options, files and modules that
 * are not usable, before anything is sent to a model.
 */
export async function prepareAgent(flags: AgentFlags, terminal: Terminal, signal: AbortSignal): Promise<PreparedAgent> {
  const { cwd, env } = terminal.io
  const instructions = await readInstructions(flags.instructions, cwd)
  const tools = await prepareTools(flags, terminal)
  const choice = await chooseModel({
    ...(flags.model === undefined ? {} : { model: flags.model }),
    ...(flags.baseUrl === undefined ? {} : { baseURL: flags.baseUrl }),
    env,
    cwd,
    signal,
  })
  const options: BackendOptions = {
    model: openChoice(choice),
    tools,
    logger: createCliLogger(terminal, flags),
    ...(choice.backend === undefined ? {} : { backend: choice.backend }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(flags.toolCalling === undefined ? {} : { toolCalling: flags.toolCalling }),
    ...(flags.maxIterations === undefined ? {} : { maxIterations: flags.maxIterations }),
    ...(flags.timeout === undefined ? {} : { toolTimeoutMs: flags.timeout * 1_000 }),
    ...(flags.deadline === undefined ? {} : { limits: { deadlineMs: flags.deadline * 1_000 } }),
    ...(flags.stream ? {} : { stream: false }),
  }
  return { choice, tools, options }
}

/** The built-in tools and those of the modules named; one of these takes the place of a built-in one of its name. */
export async function prepareTools(
  flags: Pick<AgentFlags, 'tools' | 'builtinTools' | 'workspace' | 'quiet'>,
  terminal: Terminal,
): Promise<AnyTool[]> {
  const { cwd } = terminal.io
  const workspace = await checkFolder(resolve(cwd, flags.workspace ?? '.'))
  const own = await loadTools(flags.tools ?? [], cwd)
  const builtin = flags.builtinTools ? await loadBuiltinTools(workspace) : []
  const names = new Set(own.map(({ name }) => name))
  for (const { name } of builtin) {
    if (names.has(name) && !flags.quiet) terminal.note(`your tool \`${name}\` takes the place of the built-in one`)
  }
  return [...builtin.filter(({ name }) => !names.has(name)), ...own]
}

/** Throws what `createModel` throws. */
export function openChoice({ model, providers }: ModelChoice): ChatModel {
  return createModel(model, providers === undefined ? {} : { providers })
}

/** The line that names the model. */
export function describeChoice({ name, source, why }: ModelChoice): string {
  return source === 'demo' ? 'demo model (no key found) — see toolloop doctor' : `model: ${name} (${why})`
}

async function loadBuiltinTools(workspace: string): Promise<AnyTool[]> {
  const { builtinTools } = await import('../tools/builtin/index.ts')
  return [...builtinTools({ workspace })]
}

async function checkFolder(folder: string): Promise<string> {
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new ToolloopError('invalid_option', `Expected \`--workspace\` to be a folder, found none at ${folder}`)
  return folder
}

async function readInstructions(given: string | undefined, cwd: string): Promise<string | undefined> {
  if (given === undefined || !given.startsWith('@')) return given
  const file = resolve(cwd, given.slice(1))
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new ToolloopError('invalid_option', `Expected \`--instructions\` to name a file after the @: ${messageOf(error)}`, {
      cause: error,
    })
  })
}
