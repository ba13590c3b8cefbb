import type { JsonObject } from '../../core/messages.ts'
import { legalToolNames } from '../../tools/tool-names.ts'
import type { ClientTool } from '../agents/client-tools.ts'
import { HttpProblem } from '../http/problem.ts'

/** A function that the client runs, as a request has it. */
type FunctionTool = { type: 'function' } & ClientTool['function']

/** Functions that belong together: their calls name the namespace. Codex sends the tools of its MCP servers in them. */
interface NamespaceTool {
  type: 'namespace'
  name: string
  tools: FunctionTool[]
}

/** A tool of a request. Any other type is one that its provider runs, such as `web_search`, or that isn't called with JSON. */
export type RequestedTool = FunctionTool | NamespaceTool | { type: string }

/** Where a function stands in a request. */
interface WrittenName {
  name: string
  namespace?: string
}

/** How many functions a request may have in all its namespaces. */
const mostFunctions = 512

/** The tools of a request, as an agent has them and as its client knows them. */
export interface ReadTools {
  tools: ClientTool[]
  /** Types of tools that are left out: nobody here can run them. */
  leftOut: string[]
  /** As the client knows a tool. */
  writtenName(tool: string): WrittenName
}

/** Throws an `HttpProblem` 400 for too many functions. */
export function readTools(requested: readonly RequestedTool[]): ReadTools {
  const tools: ClientTool[] = []
  const leftOut = new Set<string>()
  const written = new Map<string, WrittenName>()
  for (const tool of requested) {
    if (isFunction(tool)) tools.push({ function: tool })
    else if (isNamespace(tool)) {
      for (const own of tool.tools) {
        const name = nameIn(tool.name, own.name)
        written.set(name, { name: own.name, namespace: tool.name })
        tools.push({ function: { ...own, name } })
      }
    } else leftOut.add(tool.type)
  }
  if (tools.length > mostFunctions)
    throw new HttpProblem(400, 'invalid_request', `Expected at most ${mostFunctions} functions, got ${tools.length}`, { param: 'tools' })
  return { tools, leftOut: [...leftOut], writtenName: (name) => written.get(name) ?? { name } }
}

/** The name of a function in a namespace as an agent has it: the same each time, so that later requests mean the same tool. */
export function nameIn(namespace: string, name: string): string {
  const [legal = name] = legalToolNames([`${namespace}__${name}`])
  return legal
}

function isFunction(tool: RequestedTool): tool is FunctionTool {
  return tool.type === 'function'
}

function isNamespace(tool: RequestedTool): tool is NamespaceTool {
  return tool.type === 'namespace'
}

/** The call of an input, by the name that the agent has. */
export function calledName({ name, namespace }: JsonObject): string {
  return typeof namespace === 'string' && namespace !== '' ? nameIn(namespace, String(name)) : String(name)
}
