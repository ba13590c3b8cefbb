import { isJsonObject, type Json } from '../../core/messages.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { placeWithin } from '../step-keys.ts'
import type { PendingItem } from '../types/result.ts'

/**
 * The items that a nested agent waits for, as items of the outer run. Undefined if `about` is a question of the tool's own. `place` is
 * where the outer run waits.
 */
export function itemsWithin(about: Json | undefined, toolCallId: string, place: string): PendingItem[] | undefined {
  if (!isJsonObject(about) || typeof about.agent !== 'string' || !Array.isArray(about.pending)) return undefined
  const { agent, pending, problem } = about
  if (pending.length === 0 || !pending.every(isItem)) return undefined
  const items = pending as never as PendingItem[]
  return items.map(({ path = [], ...item }) => ({
    ...item,
    ...(item.kind === 'approval' && problem !== undefined ? { about: { problem } } : {}),
    path: [{ agent, toolCallId }, ...path],
    place: placeWithin(place, item.place),
  }))
}

function isItem(item: Json): boolean {
  return isJsonObject(item) && ['kind', 'toolCallId', 'tool', 'fingerprint', 'place'].every((name) => typeof item[name] === 'string')
}

/** The tools that an item's tool belongs to. Undefined if they can't be known before the call is carried out. */
export function toolsOf({ path = [] }: Pick<PendingItem, 'path'>, registry: ToolSet): ToolSet | undefined {
  let tools: ToolSet | undefined = registry
  for (const { agent } of path) tools = agentTools(tools?.get(agent))
  return tools
}

/** The tools of an agent that is used as a tool. Undefined for any other tool, and for an agent that makes its tools for each run. */
export function agentTools(tool: object | undefined): ToolSet | undefined {
  const agent: unknown = tool !== undefined && 'runs' in tool ? tool.runs : undefined
  const tools: unknown = typeof agent === 'object' && agent !== null && 'tools' in agent ? agent.tools : undefined
  return isToolSet(tools) ? tools : undefined
}

function isToolSet(tools: unknown): tools is ToolSet {
  return typeof tools === 'object' && tools !== null && 'get' in tools && typeof tools.get === 'function' && 'list' in tools
}
