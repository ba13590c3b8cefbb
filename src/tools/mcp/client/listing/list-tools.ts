import type { Client } from '@modelcontextprotocol/client'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { clip, messageOf } from '../../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../../core/messages.ts'
import { openForeign } from '../../../schema/foreign/foreign-schema.ts'
import { asideOf } from '../set-aside.ts'
import { type DescribedTool, fingerprintOf } from './fingerprint.ts'
import { headerProblem } from './header-annotations.ts'

/** A tool as its server describes it, after validation. */
export interface ListedTool extends DescribedTool {
  fingerprint: string
  /** Whether the server can or must run the tool's calls as tasks (protocol 2025-11-25). */
  taskSupport?: 'optional' | 'required'
}

/** Called if a listed tool is repaired or left out. `message` is for the log. */
export type OnToolProblem = (tool: string, problem: string, message: string) => void

/** Maximum number of pages of the list. */
const mostPages = 100
/** Maximum number of tools on all pages. Limited because each invalid tool is logged. */
const mostTools = 2_000
/** Maximum size of a tool's description and schema, as JSON in characters. Limited because they are sent with every request. */
const mostCharacters = 256 * 1024

// Replaces the SDK's schema for the list. With the SDK's schema, one invalid tool would make the whole list invalid.
export const anyObject: StandardSchemaV1<unknown, JsonObject> = {
  '~standard': {
    version: 1,
    vendor: 'toolloop',
    validate: (value) => (isJsonObject(value) ? { value } : { issues: [{ message: 'expected an object' }] }),
  },
}

/** Lists the tools of a server. Leaves out invalid tools. Rejects if the server's list itself is invalid. */
export async function listTools(client: Client, signal: AbortSignal, onProblem: OnToolProblem): Promise<ListedTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return []
  const hasHeaders = client.getProtocolEra() === 'modern'
  const tools = new Map<string, ListedTool>()
  let listed = 0
  let cursor: string | undefined
  for (let page = 1; page <= mostPages; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const result = await client.request({ method: 'tools/list', params }, anyObject, { signal, timeout: noTimeoutMs })
    const { tools: given } = asideOf(result)
    if (given === undefined) throw new Error('it answered `tools/list` without a list of tools')
    listed += given.length
    if (listed > mostTools) throw new Error(`it lists more than ${mostTools} tools`)
    for (const one of given) {
      signal.throwIfAborted()
      const name = isJsonObject(one) && typeof one.name === 'string' ? one.name : ''
      try {
        const { tool, notes } = await usable(one)
        const problem = hasHeaders ? headerProblem(tool.inputSchema) : undefined
        if (problem !== undefined) throw new Error(problem)
        if (tools.has(tool.name)) throw new Error('another tool has that name')
        tools.set(tool.name, tool)
        if (notes.length > 0) onProblem(clip(name), notes.join('; '), 'the schema of an MCP tool was repaired')
      } catch (error) {
        onProblem(clip(name), messageOf(error), 'an invalid tool of an MCP server is left out')
      }
    }
    if (typeof result.nextCursor !== 'string' || result.nextCursor === cursor) return [...tools.values()]
    cursor = result.nextCursor
  }
  throw new Error(`its list of tools has more than ${mostPages} pages`)
}

/** A time limit that the SDK never reaches. Calls and starts have their own limits. */
export const noTimeoutMs: number = 2 ** 31 - 1

async function usable(given: unknown): Promise<{ tool: ListedTool; notes: readonly string[] }> {
  if (!isJsonObject(given)) throw new Error('it is not an object')
  const { name, title, description = title ?? '', annotations } = given
  // PHP and Lua write an empty object as an empty list.
  const inputSchema = Array.isArray(given.inputSchema) && given.inputSchema.length === 0 ? {} : given.inputSchema
  if (typeof name !== 'string' || name === '') throw new Error('it has no name')
  if (typeof description !== 'string') throw new Error('its description is not a string')
  if (!isJsonObject(inputSchema)) throw new Error('its `inputSchema` is not an object')
  if (JSON.stringify([name, description, inputSchema]).length > mostCharacters) {
    throw new Error(`its description and schema have more than ${mostCharacters} characters`)
  }
  // Asynchronous, because compiling many schemas would block other work.
  const { schema, notes } = await openForeign(inputSchema, name)
  if (schema.type !== undefined && schema.type !== 'object') throw new Error('its `inputSchema` is not an object schema')
  const tool = { name, description, inputSchema, annotations: isJsonObject(annotations) ? annotations : {} }
  const taskSupport = isJsonObject(given.execution) ? given.execution.taskSupport : undefined
  const isTask = taskSupport === 'optional' || taskSupport === 'required'
  // The fingerprint covers the tool as the server sent it, not the repaired schema.
  const listed = { ...tool, inputSchema: schema as JsonObject, fingerprint: fingerprintOf(tool) }
  return { tool: { ...listed, ...(isTask ? { taskSupport } : {}) }, notes }
}
