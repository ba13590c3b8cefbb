import type { JsonObject } from '../../core/messages.ts'
import { legalToolNames } from '../../tools/tool-names.ts'
import type { ClientTool } from '../agents/client-tools.ts'
import { HttpProblem } from '../http/problem.ts'

/** A function in a request. The client runs it. */
type FunctionTool = { type: 'function' } & ClientTool['function']

/**
 * A group of functions. A call of a function in the group contains the name of the group. Codex sends the tools of its MCP servers in this
 * form.
 */
interface NamespaceTool {
  type: 'namespace'
  name: string
  tools: FunctionTool[]
}

/** A tool in a request. Other types, such as `web_search`, are not supported. */
export type RequestedTool = FunctionTool | NamespaceTool | { type: string }

/** The name of a function in a request. */
interface WrittenName {
  name: string
  namespace?: string
}

/** Maximum number of functions in a request, including those in namespaces. */
const mostFunctions = 512

/** The tools of a request. A tool may have one name for the agent and another name for the client. */
export interface ReadTools {
  tools: ClientTool[]
  /** The types of the tools that are not supported. */
  leftOut: string[]
  /** Returns the name that the client uses for a tool. */
  writtenName(tool: string): WrittenName
}

/** Reads the tools of a request. Throws an `HttpProblem` 400 if there are too many functions. */
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

/**
 * Returns the agent's name for a function in a namespace. The same function always gets the same name, so that later requests refer to the
 * same tool.
 */
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

/** Returns the agent's name for the tool of a `function_call` item. */
export function calledName({ name, namespace }: JsonObject): string {
  return typeof namespace === 'string' && namespace !== '' ? nameIn(namespace, String(name)) : String(name)
}
