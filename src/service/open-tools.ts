import { resolve } from 'node:path'
import type { AnyTool } from '../tools/tool.ts'
import type { Config } from './config/config.ts'
import { ConfigError } from './config/parse-config.ts'

/** The tools a configuration asks for. */
export interface OpenedTools {
  tools: readonly AnyTool[]
  /** Ends what stands behind them; called when no run uses them any more. Must not reject. */
  close(): Promise<void>
}

/** What of a configuration tools are opened by: they are opened anew when it changes. */
export function toolsKey({ tools, skills, mcp }: Config): string {
  return JSON.stringify([tools, skills, mcp])
}

/** Without a word about tools: those that see nothing of the machine. */
const byDefault: readonly string[] = ['calculate', 'current_time']

/**
 * Opens the tools of a configuration. The one place where kinds of tools come in: another kind is opened here, from its own section, and
 * closed in `close`. Rejects with a `ConfigError`.
 */
export async function openTools(config: Config, { cwd }: { cwd: string }): Promise<OpenedTools> {
  const needApproval = new Set(config.tools?.approval)
  const tools = await openBuiltinTools(config, cwd)
  const names = new Set(tools.map(({ name }) => name))
  const unknown = [...needApproval].findIndex((name) => !names.has(name))
  if (unknown >= 0 && config.skills === undefined && config.mcp === undefined)
    throw new ConfigError('The configuration', [{ path: `/tools/approval/${unknown}`, message: 'is not the name of a tool there is' }])
  return { tools: tools.map((tool) => (needApproval.has(tool.name) ? withApproval(tool) : tool)), close: async () => {} }
}

async function openBuiltinTools({ tools = {} }: Config, cwd: string): Promise<AnyTool[]> {
  const { builtin = byDefault, workspace } = tools
  const { builtinTools } = await import('../tools/builtin/index.ts')
  let all: AnyTool[]
  try {
    all = builtinTools({ workspace: resolve(cwd, workspace ?? '.') })
  } catch (error) {
    throw new ConfigError('The configuration', [{ path: '/tools/workspace', message: 'is not a folder there is' }], error)
  }
  const names = builtin === true ? all.map(({ name }) => name) : builtin === false ? [] : builtin
  return names.map((name, at) => {
    const tool = all.find((one) => one.name === name)
    const known = all.map((one) => one.name).join(', ')
    if (tool !== undefined) return tool
    throw new ConfigError('The configuration', [{ path: `/tools/builtin/${at}`, message: `must be one of ${known}` }])
  })
}

/** The tool, but every call of it needs an approval. */
function withApproval(tool: AnyTool): AnyTool {
  const { name, description, parameters, execute, toContent, reconcile } = tool
  return {
    ...tool,
    name,
    description,
    parameters,
    approval: true,
    // Bound: a tool may be an object of a class.
    ...(execute === undefined ? {} : { execute: execute.bind(tool) }),
    ...(toContent === undefined ? {} : { toContent: toContent.bind(tool) }),
    ...(reconcile === undefined ? {} : { reconcile: reconcile.bind(tool) }),
  }
}
