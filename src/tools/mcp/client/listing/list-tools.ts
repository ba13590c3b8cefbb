import type { Client } from '@modelcontextprotocol/client'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { clip, messageOf } from '../../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../../core/messages.ts'
import { compileUntrusted } from '../../../schema/schema.ts'
import { Pauses } from '../../../yield-to-event-loop.ts'
import { asideOf } from '../calls/set-aside.ts'
import { type DescribedTool, fingerprintOf } from './fingerprint.ts'
import { headerProblem } from './header-annotations.ts'

/** A tool as its server describes it, found usable. */
export interface ListedTool extends DescribedTool {
  fingerprint: string
  /** Whether its calls can be tasks, or have to be (2025-11-25). */
  taskSupport?: 'optional' | 'required'
}

/** A server that has more pages than this is not listing tools. */
const mostPages = 100
/** On all pages: each that can't be used is logged. */
const mostTools = 2_000
/** Of one description and schema together, as JSON: all of it is sent to the model with every request. */
const mostCharacters = 256 * 1024

// Not the SDK's schema for the list: one tool that doesn't fit it would take all others with it.
export const anyObject: StandardSchemaV1<unknown, JsonObject> = {
  '~standard': {
    version: 1,
    vendor: 'toolloop',
    validate: (value) => (isJsonObject(value) ? { value } : { issues: [{ message: 'expected an object' }] }),
  },
}

/**
 * The tools of a server that can be used, in its order. `onProblem` is told of each that can't: it is left out, and the others stay.
 * Rejects when the server doesn't answer with lists.
 */
export async function listTools(
  client: Client,
  signal: AbortSignal,
  onProblem: (tool: string, problem: string) => void,
): Promise<ListedTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return []
  const hasHeaders = client.getProtocolEra() === 'modern'
  const tools = new Map<string, ListedTool>()
  const pauses = new Pauses()
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
      await pauses.take(signal)
      signal.throwIfAborted()
      const name = isJsonObject(one) && typeof one.name === 'string' ? one.name : ''
      try {
        const tool = await usable(one)
        const problem = hasHeaders ? headerProblem(tool.inputSchema) : undefined
        if (problem !== undefined) throw new Error(problem)
        if (tools.has(tool.name)) throw new Error('another tool has that name')
        tools.set(tool.name, tool)
      } catch (error) {
        onProblem(clip(name), messageOf(error))
      }
    }
    if (typeof result.nextCursor !== 'string' || result.nextCursor === cursor) return [...tools.values()]
    cursor = result.nextCursor
  }
  throw new Error(`its list of tools has more than ${mostPages} pages`)
}

/** The SDK's own time limits are put out of the way: a call's and a start's are ours. */
export const noTimeoutMs: number = 2 ** 31 - 1

async function usable(given: unknown): Promise<ListedTool> {
  if (!isJsonObject(given)) throw new Error('it is not an object')
  const { name, title, description = title ?? '', inputSchema, annotations } = given
  if (typeof name !== 'string' || name === '') throw new Error('it has no name')
  if (typeof description !== 'string') throw new Error('its description is not a string')
  if (!isJsonObject(inputSchema)) throw new Error('its `inputSchema` is not an object')
  if (inputSchema.type !== undefined && inputSchema.type !== 'object') throw new Error('its `inputSchema` is not an object schema')
  if (JSON.stringify([name, description, inputSchema]).length > mostCharacters) {
    throw new Error(`its description and schema have more than ${mostCharacters} characters`)
  }
  // A server may list more than can be compiled in the time it has, and is not alone here.
  await compileUntrusted(inputSchema, name)
  const tool = { name, description, inputSchema, annotations: isJsonObject(annotations) ? annotations : {} }
  const taskSupport = isJsonObject(given.execution) ? given.execution.taskSupport : undefined
  const isTask = taskSupport === 'optional' || taskSupport === 'required'
  return { ...tool, fingerprint: fingerprintOf(tool), ...(isTask ? { taskSupport } : {}) }
}
