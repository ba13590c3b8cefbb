import type { ChatMessage, JsonObject } from '../../core/messages.ts'
import type { ModelRequest } from '../chat-model.ts'
import { isToolSearch, type SearchedTools, searchedTools } from '../conversion/tool-search.ts'
import { namesOf, type Searches } from './items.ts'
import type { ResponsesWire } from './wire.ts'

/**
 * Maximum number of functions to defer. The model still sees the names and descriptions of deferred functions; only their parameters are
 * loaded later. With more functions, toolloop's own tool search costs fewer tokens.
 * https://developers.openai.com/api/docs/guides/tools-tool-search
 */
const mostDeferred = 128

interface Conversation {
  input: JsonObject[]
  /** The request's tools, if the provider searches them. */
  searched: SearchedTools | undefined
}

/**
 * Converts the conversation and selects the tools that the provider searches. The two steps depend on each other. An earlier search is sent
 * back only with the tools that it found. A tool that was called without a search can't be deferred.
 *
 * `searches`: whether the provider has a tool search. `theirs`: the tools of `providerOptions`. Adds a warning for each detail that is
 * lost.
 */
export function converse(
  request: ModelRequest,
  wire: ResponsesWire,
  searches: boolean,
  theirs: readonly JsonObject[],
  warnings: Set<string>,
): Conversation {
  const wanted = searches ? searchedTools(request, mostDeferred) : undefined
  const offered = new Set([...(wanted === undefined ? [] : [...wanted.tools, ...wanted.deferred]).map(nameOf), ...namesOf([...theirs])])
  const canSearch = wanted !== undefined || theirs.some(isToolSearch)
  const deferrable = new Set(request.searchable?.tools.map(nameOf))
  const { input, called } = inputItems(request.messages, wire, canSearch ? offered : undefined, deferrable, warnings)
  const searched = wanted && searchedTools(request, mostDeferred, called)
  if (wanted !== undefined && searched === undefined) return converse(request, wire, false, theirs, warnings)
  return { input, searched }
}

function nameOf({ function: { name } }: { function: { name: string } }): string {
  return name
}

/**
 * `offered`: the names of the request's tools. A search is sent back only if it found no other tools. Undefined: no search is sent back.
 * `deferrable`: the names of the tools that only a search makes available.
 */
function inputItems(
  messages: readonly ChatMessage[],
  wire: ResponsesWire,
  offered: ReadonlySet<string> | undefined,
  deferrable: ReadonlySet<string>,
  warnings: Set<string>,
): { input: JsonObject[]; called: Set<string> } {
  const input: JsonObject[] = []
  const called = new Set<string>()
  const resultFields = new Map<string, JsonObject>()
  const loaded = new Set<string>()
  const unloaded = new Set(deferrable)
  const ids = wire.callIds()
  for (const message of messages) {
    const whole = wire.message(message, resultFields, ids, warnings)
    const { hasItems, calledLoaded, ...searches } = whole.searches ?? noSearches
    const isLoaded = (name: string): boolean => searches.loaded.includes(name) || loaded.has(name) || !unloaded.has(name)
    const hasTools = !hasItems || (offered !== undefined && searches.loaded.every((name) => offered.has(name)))
    const goesBack = hasTools && calledLoaded.every(isLoaded)
    for (const name of searches.loaded) (goesBack ? loaded : unloaded).add(name)
    const sent = goesBack ? whole : (whole.plain ?? whole)
    for (const [id, fields] of sent.resultFields) resultFields.set(id, fields)
    for (const name of sent.searches?.called ?? []) called.add(name)
    input.push(...sent.items)
  }
  return { input, called }
}

const noSearches: Searches = { hasItems: false, loaded: [], calledLoaded: [], called: [] }
