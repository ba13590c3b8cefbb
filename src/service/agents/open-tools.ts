import { resolve } from 'node:path'
import { InvalidOptionError, messageOf } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { isWithin, realOrPlanned } from '../../tools/builtin/files/private-files.ts'
import type { ToolSource } from '../../tools/dispatcher.ts'
import type { McpServerStatus } from '../../tools/mcp/client/server-status.ts'
import type { McpOptions } from '../../tools/mcp/index.ts'
import type { Skill, SkillProblem } from '../../tools/skills/index.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Config, McpConfig, SkillsConfig } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'

export interface OpenedTools {
  sources: readonly ToolSource[]
  /** Instructions about the tools, which are appended to the agent's instructions. May be `''`. */
  instructions: string
  /** The loaded Skills, and the problems of those that could not be loaded. */
  skills: FoundSkills
  servers(): McpServerStatus[]
  /** Closes the connections and processes of the tools. Called when no run uses the tools any more. */
  close(): Promise<void>
}

export interface FoundSkills {
  readonly skills: readonly Skill[]
  readonly problems: readonly SkillProblem[]
}

interface Surroundings {
  /** The folder against which relative paths are resolved. */
  cwd: string
  /** The service's own files and folders, which no tool may read. */
  ownFiles: readonly string[]
  /** The built-in tools to use if the configuration names no built-in tools. */
  builtinTools: readonly string[]
  logger: Logger
  /** Cancels the opening of the tools. */
  signal: AbortSignal
}

type Opened = { source: ToolSource; instructions?: string; skills?: FoundSkills; servers?(): McpServerStatus[]; close?(): Promise<void> }

/** Returns the same key for two configurations that need the same tools. */
export function toolsKey({ tools, skills, mcp }: Config, ownFiles: readonly string[]): string {
  return JSON.stringify([tools, skills, mcp, ownFiles])
}

/** Opens the tools of a configuration. If one of them can't be opened, closes the others and rejects with a `ConfigError`. */
export async function openTools({ tools, skills, mcp }: Config, surroundings: Surroundings): Promise<OpenedTools> {
  const opened: Opened[] = []
  const close = async () => {
    await Promise.all(opened.map((one) => one.close?.()))
  }
  try {
    opened.push(await openBuiltin(tools, surroundings))
    if (skills !== undefined) opened.push(await openSkills(skills, surroundings))
    if (mcp !== undefined) opened.push(await openMcp(mcp, surroundings))
  } catch (error) {
    await close()
    throw error
  }
  const instructions = opened.map((one) => one.instructions ?? '').filter((text) => text !== '')
  const found = opened.find((one) => one.skills !== undefined)?.skills ?? { skills: [], problems: [] }
  const servers = () => opened.flatMap((one) => one.servers?.() ?? [])
  return { sources: opened.map(({ source }) => source), instructions: instructions.join('\n\n'), skills: found, servers, close }
}

function unusable(path: string, message: string, cause?: unknown): ConfigError {
  return new ConfigError('The configuration', [{ path, message }], cause)
}

async function openBuiltin(
  { builtin, workspace, approval = [] }: Config['tools'] = {},
  { cwd, ownFiles, builtinTools: byDefault }: Surroundings,
): Promise<Opened> {
  const { builtinTools } = await import('../../tools/builtin/index.ts')
  let all: AnyTool[]
  try {
    all = builtinTools({ workspace: resolve(cwd, workspace ?? '.'), refused: ownFiles })
  } catch (error) {
    throw unusable('/tools/workspace', 'is not a folder there is', error)
  }
  const misnamed = byDefault.find((name) => !all.some((tool) => tool.name === name))
  if (misnamed !== undefined)
    throw new InvalidOptionError('builtinTools', `names among ${all.map(({ name }) => name).join(', ')}`, misnamed)
  const names = new Set(builtin === true ? all.map(({ name }) => name) : builtin === false ? [] : (builtin ?? byDefault))
  const unknown = approval.findIndex((name) => !names.has(name))
  if (unknown >= 0) throw unusable(`/tools/approval/${unknown}`, 'is not among the built-in tools that are offered')
  const tools = all.filter(({ name }) => names.has(name)).map((tool) => (approval.includes(tool.name) ? { ...tool, approval: true } : tool))
  return { source: { kind: 'builtin', tools } }
}

async function openSkills({ paths = [], ...options }: SkillsConfig, { cwd, logger, ownFiles }: Surroundings): Promise<Opened> {
  const { loadSkills } = await import('../../tools/skills/index.ts')
  checkSandbox(options, ownFiles)
  try {
    const skills = await loadSkills({ project: false, user: false, ...options, paths: paths.map((path) => resolve(cwd, path)), logger })
    const [failed] = skills.problems.filter(({ severity, path }) => severity === 'error' && paths.some((one) => resolve(cwd, one) === path))
    if (failed !== undefined) throw new Error(failed.message)
    for (const { folder } of skills.skills) checkFolder(folder, ownFiles, '/skills/paths')
    return {
      source: { kind: 'skill', tools: skills },
      instructions: skills.catalogue(),
      skills,
      close: () => skills[Symbol.asyncDispose](),
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw unusable('/skills', `could not be opened: ${messageOf(error)}`, error)
  }
}

/** Throws a `ConfigError` if scripts could read one of the service's own files. A script can read every file in its folder. */
function checkSandbox(options: object, ownFiles: readonly string[]): void {
  const { workspace, readable }: JsonObject = 'sandbox' in options && isJsonObject(options.sandbox) ? options.sandbox : {}
  const folders = Object.entries({ workspace: [workspace], readable: Array.isArray(readable) ? readable : [] })
  for (const [name, paths] of folders) {
    for (const path of paths) {
      if (typeof path === 'string') checkFolder(path, ownFiles, `/skills/sandbox/${name}`)
    }
  }
}

/** Throws a `ConfigError` if a folder contains one of the service's own files, or is inside one of the service's own folders. */
function checkFolder(folder: string, ownFiles: readonly string[], path: string): void {
  const real = realOrPlanned(resolve(folder))
  const meets = (own: string) => isWithin(real, own) || isWithin(own, real)
  if (ownFiles.some((file) => meets(realOrPlanned(file))))
    throw unusable(path, "must not contain the service's own files, its runs and its configuration, or be in their folder")
}

async function openMcp({ servers = {}, ...options }: McpConfig, { logger, signal }: Surroundings): Promise<Opened> {
  const { connectMcpServers } = await import('../../tools/mcp/index.ts')
  try {
    const tools = await connectMcpServers(servers, { ...(options as McpOptions), logger, signal })
    const instructions = await tools.instructions({ signal }).catch(async (error: unknown) => {
      await tools.close()
      throw error
    })
    return {
      source: { kind: 'mcp', tools },
      servers: () => tools.servers(),
      ...(instructions === '' ? {} : { instructions }),
      close: () => tools.close(),
    }
  } catch (error) {
    throw unusable('/mcp', `could not be opened: ${messageOf(error)}`, error)
  }
}
