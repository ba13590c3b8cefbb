import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ToolloopError } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import { ToolDispatcher } from '../../tools/dispatcher.ts'
import type { Skills, SkillsOptions } from '../../tools/skills/skills.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Flags } from '../flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { loadTools } from './load-tools.ts'

export interface ToolSources {
  dispatcher: ToolDispatcher
  /** The loaded Skills. Set only with `--skills`. */
  skills?: Skills
}

/** Opens all tools that the command line names. If a module or folder is invalid, rejects with an error whose `fault` is `programmer`. */
export async function openToolSources(flags: Flags, terminal: Terminal, logger: Logger): Promise<ToolSources> {
  const { cwd } = terminal.io
  const workspace = await checkFolder(resolve(cwd, flags.workspace ?? '.'))
  const own = await loadTools(flags.tools ?? [], cwd)
  const builtin = flags.builtinTools ? await loadBuiltinTools(workspace) : []
  const names = new Set(own.map(({ name }) => name))
  for (const { name } of builtin) {
    if (names.has(name) && !flags.quiet) terminal.note(`your tool \`${name}\` replaces the built-in one`)
  }
  const skills = flags.skills === undefined ? undefined : await openSkills(flags, terminal, { project: false, user: false, logger })
  const dispatcher = new ToolDispatcher(
    [
      { kind: 'registered', tools: own },
      { kind: 'builtin', tools: builtin.filter(({ name }) => !names.has(name)) },
      ...(skills === undefined ? [] : [{ kind: 'skill' as const, tools: skills }]),
    ],
    { logger },
  )
  return { dispatcher, skills }
}

/** Loads the Skills of `--skills`, the project and the user. `options` override the default options for `loadSkills`. */
export async function openSkills(flags: Flags, { io: { cwd, env } }: Terminal, options: SkillsOptions = {}): Promise<Skills> {
  const { loadSkills } = await import('../../tools/skills/skills.ts')
  return loadSkills({
    paths: (flags.skills ?? []).map((folder) => resolve(cwd, folder)),
    project: cwd,
    user: env.HOME,
    sandbox: {
      workspace: flags.workspace === undefined ? undefined : await checkFolder(resolve(cwd, flags.workspace)),
      allowUnsandboxed: flags.unsandboxed,
    },
    ...options,
  })
}

async function loadBuiltinTools(workspace: string): Promise<AnyTool[]> {
  const { builtinTools } = await import('../../tools/builtin/index.ts')
  return builtinTools({ workspace })
}

async function checkFolder(folder: string): Promise<string> {
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new ToolloopError('invalid_option', `Expected \`--workspace\` to be a folder, found none at ${folder}`)
  return folder
}
