import type { JsonObject } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import type { ModelRequest } from '../chat-model.ts'
import type { QuirkCheck } from '../quirk-checks.ts'

/** Whether the provider searches tools itself. Null: at its own address alone; other servers refuse what they don't know. */
export type TakesToolSearch = boolean | null

export const takesToolSearch: QuirkCheck = {
  expected: 'true, false or null',
  passes: (value) => value === null || typeof value === 'boolean',
}

/** A request's tools, for a provider that searches them itself. */
export interface SearchedTools {
  /** The model is told of them from the start. */
  tools: readonly ToolDefinition[]
  /** It finds them. */
  deferred: readonly ToolDefinition[]
}

/**
 * The request's tools in that form; undefined where it has none to search, where there are more than `most`, and for a tool choice that asks
 * for a call at once: the model can't make one before it has searched. `known`: names of tools that are not to be deferred.
 */
export function searchedTools(
  { tools = [], searchable, toolChoice }: ModelRequest,
  most: number,
  known: ReadonlySet<string> = new Set(),
): SearchedTools | undefined {
  if (searchable === undefined || tools.length === 0 || searchable.tools.length > most || toolChoice === 'required') return undefined
  const named = typeof toolChoice === 'object' ? toolChoice.function.name : undefined
  if (named !== undefined && searchable.searchedBy.includes(named)) return undefined
  const isKnown = ({ function: { name } }: ToolDefinition): boolean => name === named || known.has(name)
  const deferred = searchable.tools.filter((tool) => !isKnown(tool))
  if (deferred.length === 0) return undefined
  const shown = tools.filter(({ function: { name } }) => !searchable.searchedBy.includes(name))
  return { tools: [...shown, ...searchable.tools.filter(isKnown)], deferred }
}

/** Whether it is a provider's own tool search, among the tools given in `providerOptions`. */
export function isToolSearch({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.startsWith('tool_search')
}
