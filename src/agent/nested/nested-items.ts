import { isDeepEqual } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { redact, redactText, secretTexts } from '../../core/redaction/redact.ts'
import { isToolSet, type ToolSet } from '../../tools/registry.ts'
import { waitsWithinText } from '../run-texts.ts'
import { placeWithin } from '../step-keys.ts'
import type { PendingItem } from '../types/result.ts'

/**
 * Converts the items that a nested agent waits for into items of the outer run. Undefined if `about` is a question of the tool itself.
 * `place`: where the outer run waits.
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

/** The tool set that contains the tool of an item. Undefined if an agent on the item's path creates its tools for each run. */
export function toolsOf({ path = [] }: Pick<PendingItem, 'path'>, registry: ToolSet): ToolSet | undefined {
  let tools: ToolSet | undefined = registry
  for (const { agent } of path) tools = agentTools(tools?.get(agent))
  return tools
}

/** The tools of an agent that serves as a tool. Undefined for any other tool, and for an agent that creates its tools for each run. */
export function agentTools(tool: object | undefined): ToolSet | undefined {
  const agent: unknown = tool !== undefined && 'runs' in tool ? tool.runs : undefined
  const tools: unknown = typeof agent === 'object' && agent !== null && 'tools' in agent ? agent.tools : undefined
  return isToolSet(tools) ? tools : undefined
}

/** Whether the tool runs an agent. If so, only the calls of the agent's run have effects. */
export function runsAgent(tool: object): boolean {
  const runs: unknown = 'runs' in tool ? tool.runs : undefined
  return typeof runs === 'object' && runs !== null && 'tools' in runs
}

/**
 * The part of a question that may be shown. A question of an MCP server contains the state from which its call continues. Only the program
 * may see that state. The items of a nested agent are left out here, because they are shown separately.
 */
export function shownAbout(about: unknown): unknown {
  if (!isJsonObject(about)) return about
  if (typeof about.mcpServer === 'string') {
    const { state: _state, ...shown } = about
    return shown
  }
  return itemsWithin(about, '', '') === undefined ? about : waitsWithinText(String(about.agent))
}

/** Returns an item, or an event about an item, with only the part of the question that may be shown. */
export function withShownAbout<Item extends Pick<PendingItem, 'about'>>(item: Item): Item {
  return item.about === undefined ? item : { ...item, about: shownAbout(item.about) as Json }
}

/** Like `withShownAbout`, for the page of an application. Also leaves out the text that a nested agent wrote (`said`). */
export function itemOnPage<Item extends Pick<PendingItem, 'about' | 'path' | 'said'>>(item: Item): Item {
  const shown = withShownAbout(item)
  if (item.path === undefined || item.said === undefined) return shown
  const { said: _, ...others } = shown
  return others as Item
}

/** Like `withShownAbout`, but also leaves out the secrets in the arguments. */
export function shownItem({ secrets, ...item }: PendingItem): PendingItem {
  const shown = withShownAbout(item)
  if (secrets === undefined) return shown
  const names = new Set(secrets)
  const { said, script } = item
  const secretValues = secretTexts(item.args, names)
  const quote = said === undefined ? {} : { said: redactText(said, secretValues, names) }
  const line = script && { script: { ...script, code: redactText(script.code, secretValues, names) } }
  return { ...shown, args: redact(item.args, names) as JsonObject, ...quote, ...line }
}

/** The arguments of a decision. Hidden values are restored unless the decision changes them. */
export function withHidden(given: JsonObject, { args, secrets }: Pick<PendingItem, 'args' | 'secrets'>): JsonObject {
  return secrets === undefined ? given : (restored(given, args, redact(args, new Set(secrets))) as JsonObject)
}

function restored(given: unknown, original: unknown, shown: unknown): unknown {
  if (isDeepEqual(given, shown)) return original
  if (!isJsonObject(given) || !isJsonObject(original) || !isJsonObject(shown)) return given
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, Object.hasOwn(shown, key) ? restored(value, original[key], shown[key]) : value]),
  )
}
