import {
  isJsonObject,
  type Json,
  type JsonObject,
  legalName,
  type ProviderData,
  type ToolCall,
  withoutUndefined,
} from '../../core/messages.ts'
import type { MalformedArguments } from '../conversion/wire.ts'
import { argumentsText } from '../openai/wire.ts'
import { isPlain, type LayoutPiece, laidOut, layoutJson, readLayout } from '../streaming/response-layout.ts'

/**
 * Returns the `providerData` of a response. It contains reasoning and the items of tools that the provider runs, each with its position in
 * the response. It also contains the fields of messages and calls that have no equivalent in toolloop. Undefined if the response is only a
 * text followed by calls. https://platform.openai.com/docs/guides/conversation-state
 */
export function itemsData(provider: string, layout: readonly LayoutPiece[]): ProviderData | undefined {
  return isPlain(layout) ? undefined : { provider, data: { layout: layoutJson(layout) } }
}

/**
 * Returns the input items of an assistant message, in their original order. `calls`: the calls, with the ids to send. If the message was
 * edited after it arrived, only its text and calls are sent. The API accepts reasoning only together with the item that followed it.
 */
export function assistantItems(text: string, calls: readonly ToolCall[], data: JsonObject, malformed: MalformedArguments): JsonObject[] {
  const make = {
    text: (part: string, fields: JsonObject = {}): JsonObject[] => (part === '' ? [] : [messageItem(part, fields)]),
    call: (call: ToolCall, fields?: JsonObject) => callItem(call, malformed, fields),
  }
  const items = laidOut(text, calls, readLayout(data.layout), make) ?? [...make.text(text), ...calls.map((call) => make.call(call))]
  return items.reduce(joined, [])
}

/** Joins the texts of one item, which are separate pieces of the layout. */
function joined(items: JsonObject[], item: JsonObject): JsonObject[] {
  const last = items.at(-1)
  const isSame = last !== undefined && item.id !== undefined && last.id === item.id && last.type === 'message'
  if (isSame && Array.isArray(last.content) && Array.isArray(item.content)) last.content = [...last.content, ...item.content]
  else items.push(item)
  return items
}

/** How a message uses the provider's tool search. In a call of a tool that the search loaded, `namespace` is equal to the tool's name. */
export interface Searches {
  /** Whether the message has items of a search. */
  hasItems: boolean
  /** The names of the tools that the search loaded. */
  loaded: readonly string[]
  /** The names of the loaded tools that the message calls. */
  calledLoaded: readonly string[]
  /** The names of all other tools that the message calls. */
  called: readonly string[]
}

export function searchesOf(calls: readonly ToolCall[], data: JsonObject): Searches {
  const layout = readLayout(data.layout)
  const items = layout.flatMap((piece) => ('block' in piece && isSearchItem(piece.block) ? [piece.block] : []))
  const asLoaded = new Set(
    layout.flatMap((piece) => {
      const name = 'call' in piece ? calls[piece.call]?.function.name : undefined
      return name !== undefined && 'call' in piece && piece.fields?.namespace === name ? [name] : []
    }),
  )
  const names = calls.map(({ function: { name } }) => name)
  return {
    hasItems: items.length > 0,
    loaded: items.flatMap(({ tools }) => namesOf(tools)),
    calledLoaded: names.filter((name) => asLoaded.has(name)),
    called: names.filter((name) => !asLoaded.has(name)),
  }
}

function isSearchItem({ type }: JsonObject): boolean {
  return type === 'tool_search_call' || type === 'tool_search_output'
}

/** Returns the names of tools, including the tools in namespaces. */
export function namesOf(tools: Json | undefined): string[] {
  const given = Array.isArray(tools) ? tools.filter(isJsonObject) : []
  return given.flatMap(({ name, tools: inner }) => [...(typeof name === 'string' ? [name] : []), ...namesOf(inner)])
}

/**
 * Returns the fields that each call's result must repeat, with the id of the call. They mark a call of a custom tool, or identify the
 * program at the provider that made the call.
 */
export function resultFields(calls: readonly ToolCall[], data: JsonObject): [id: string, fields: JsonObject][] {
  return readLayout(data.layout).flatMap((piece): [string, JsonObject][] => {
    const call = 'call' in piece ? calls[piece.call] : undefined
    const { type, caller } = 'call' in piece && piece.fields !== undefined ? piece.fields : {}
    if (call === undefined || (type === undefined && caller === undefined)) return []
    return [[call.id, { ...(type === undefined ? {} : { type: `${String(type)}_output` }), ...withoutUndefined({ caller }) }]]
  })
}

function messageItem(text: string, { part, ...item }: JsonObject): JsonObject {
  const own = isJsonObject(part) ? part : {}
  const isPlainText = Object.keys(own).length === 0 && item.id === undefined
  const content: Json = isPlainText ? text : [own.type === 'refusal' ? { ...own, refusal: text } : { type: 'output_text', text, ...own }]
  return { ...(isPlainText ? {} : { type: 'message' }), role: 'assistant', content, ...item }
}

function callItem(
  { id, function: { name, arguments: json } }: ToolCall,
  malformed: MalformedArguments,
  fields: JsonObject = {},
): JsonObject {
  const own = { call_id: id, name: legalName(name) }
  if (fields.type === 'custom_tool_call') return { ...own, ...fields, input: customInput(json) }
  return { type: 'function_call', ...own, arguments: argumentsText(json, malformed), ...fields }
}

/** A custom tool is called with a text, not with JSON. These strings around the text make it the argument `input`. */
export const customStart = '{"input":"'
export const customEnd = '"}'

/** Escapes a piece of text for a JSON string. */
export function escaped(piece: string): string {
  return JSON.stringify(piece).slice(1, -1)
}

function customInput(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    return isJsonObject(value) && typeof value.input === 'string' ? value.input : json
  } catch {
    // A text that was cut off or edited may not be JSON, and is sent unchanged.
    return json
  }
}

export function callIdOf({ call_id: callId, id }: JsonObject): string {
  const [found = ''] = [callId, id].filter((value) => (typeof value === 'string' || typeof value === 'number') && value !== '')
  return String(found)
}

/** Returns the id of the program that made a call. That program must be sent back together with the call. */
export function callerOf({ caller }: JsonObject): Json[] {
  return isJsonObject(caller) && caller.caller_id !== undefined ? [caller.caller_id] : []
}
