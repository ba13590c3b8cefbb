import type { JsonObject } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import type { ModelRequest } from '../chat-model.ts'
import type { QuirkCheck } from '../quirk-checks.ts'

/**
 * Whether the server has its own tool search. Null: only the provider's own servers do, because other servers refuse the unknown
 * fields.
 */
export type TakesToolSearch = boolean | null

export const takesToolSearch: QuirkCheck = {
  expected: 'true, false or null',
  passes: (value) => value === null || typeof value === 'boolean',
}

/** A request's tools, for a provider with its own tool search. */
export interface SearchedTools {
  /** The tools that the model sees from the start. */
  tools: readonly ToolDefinition[]
  /** The tools that the model has to search for. */
  deferred: readonly ToolDefinition[]
}

/**
 * Splits the request's tools. Returns undefined if there are no tools to search, or more than `most` tools. Also returns undefined if the
 * tool choice requires a call immediately, because the model would have to search first. `known`: names of tools that must not be deferred.
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

/** Whether a tool in `providerOptions` is a provider's own tool search. */
export function isToolSearch({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.startsWith('tool_search')
}
