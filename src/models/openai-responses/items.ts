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
 * What this driver keeps in `providerData`: reasoning, and the items of tools the provider runs itself, where they were; and of messages
 * and calls the fields that ours have no place for. Nothing is kept of a response whose layout is plain.
 * https://platform.openai.com/docs/guides/conversation-state
 */
export function itemsData(provider: string, layout: readonly LayoutPiece[]): ProviderData | undefined {
  return isPlain(layout) ? undefined : { provider, data: { layout: layoutJson(layout) } }
}

/**
 * The input items of an assistant message, as the response had them; the calls' ids are those of the wire. Of a message that was changed since, nothing is sent but its text and
 * its calls: reasoning is only taken back together with the very item that followed it.
 */
export function assistantItems(text: string, calls: readonly ToolCall[], data: JsonObject, malformed: MalformedArguments): JsonObject[] {
  const make = {
    text: (part: string, fields: JsonObject = {}): JsonObject[] => (part === '' ? [] : [messageItem(part, fields)]),
    call: (call: ToolCall, fields?: JsonObject) => callItem(call, malformed, fields),
  }
  const items = laidOut(text, calls, readLayout(data.layout), make) ?? [...make.text(text), ...calls.map((call) => make.call(call))]
  return items.reduce(joined, [])
}

/** The texts of one item were pieces of their own. */
function joined(items: JsonObject[], item: JsonObject): JsonObject[] {
  const last = items.at(-1)
  const isSame = last !== undefined && item.id !== undefined && last.id === item.id && last.type === 'message'
  if (isSame && Array.isArray(last.content) && Array.isArray(item.content)) last.content = [...last.content, ...item.content]
  else items.push(item)
  return items
}

/** What of a message belongs to the provider's tool search; a tool that it has loaded is called in a namespace of the tool's own name. */
export interface Searches {
  /** Whether the message has items of a search. */
  hasItems: boolean
  /** Names of the tools it has loaded. */
  loaded: readonly string[]
  /** Names of the tools it calls as loaded ones. */
  calledLoaded: readonly string[]
  /** Names of the tools it calls as any others. */
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

/** Names of tools. A namespace has tools of its own. */
export function namesOf(tools: Json | undefined): string[] {
  const given = Array.isArray(tools) ? tools.filter(isJsonObject) : []
  return given.flatMap(({ name, tools: inner }) => [...(typeof name === 'string' ? [name] : []), ...namesOf(inner)])
}

/** What the results of some calls have to say of them, by the call's id: that it was a custom tool's, that the provider's program made it. */
export function resultFields(calls: readonly ToolCall[], data: JsonObject): [id: string, fields: JsonObject][] {
  return readLayout(data.layout).flatMap((piece): [string, JsonObject][] => {
    const call = 'call' in piece ? calls[piece.call] : undefined
    const { type, caller } = 'call' in piece && piece.fields !== undefined ? piece.fields : {}
    if (call === undefined || (type === undefined && caller === undefined)) return []
    return [[call.id, { ...(type === undefined ? {} : { type: `${String(type)}_output` }), ...withoutUndefined({ caller }) }]]
  })
}

/** `fields`: those of the item, and under `part` those of its text. */
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

/** What a custom tool is called with is a text; to us it is the argument `input`, whose JSON these begin and end. */
export const customStart = '{"input":"'
export const customEnd = '"}'

/** A piece of a text as it stands inside a JSON text. */
export function escaped(piece: string): string {
  return JSON.stringify(piece).slice(1, -1)
}

function customInput(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    return isJsonObject(value) && typeof value.input === 'string' ? value.input : json
  } catch {
    // Cut in the middle, or changed since: what there is of it is sent.
    return json
  }
}

export function callIdOf({ call_id: callId, id }: JsonObject): string {
  const [found = ''] = [callId, id].filter((value) => (typeof value === 'string' || typeof value === 'number') && value !== '')
  return String(found)
}

/** The program that made a call has to go back with it. */
export function callerOf({ caller }: JsonObject): Json[] {
  return isJsonObject(caller) && caller.caller_id !== undefined ? [caller.caller_id] : []
}
