/** What the wires of all drivers have in common: messages and tools are converted once; calls have ids, names and arguments that a provider takes. */
import { createHash } from 'node:crypto'
import { jsonIn } from '../../core/json.ts'
import { type ChatMessage, isJsonObject, type JsonObject } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'

/** Messages as one provider takes them, each converted once: a long history costs each round no more than joining texts. */
export class ConvertedMessages<Wire, Context = never> {
  readonly #known = new WeakMap<ChatMessage, Wire>()
  readonly #convert: (message: ChatMessage, context?: Context) => Wire

  constructor(convert: (message: ChatMessage, context?: Context) => Wire) {
    this.#convert = convert
  }

  /** `message` is frozen. `context`: what the messages before it say of it. */
  of(message: ChatMessage, context?: Context): Wire {
    const known = this.#known.get(message)
    if (known !== undefined) return known
    const converted = this.#convert(message, context)
    this.#known.set(message, converted)
    return converted
  }
}

/** Tools as an API takes them. */
export interface WireTools {
  /** Each tool as JSON. */
  json: readonly string[]
  /** What was lost on the way. */
  warnings: readonly string[]
}

/** Tools as one provider takes them, converted anew only when the list holds other definitions than the last time. */
export class ConvertedTools<Wire extends WireTools> {
  readonly #convert: (tools: readonly ToolDefinition[]) => Wire
  #last: { from: readonly ToolDefinition[]; wire: Wire } | undefined

  constructor(convert: (tools: readonly ToolDefinition[]) => Wire) {
    this.#convert = convert
  }

  of(tools: readonly ToolDefinition[]): Wire {
    const last = this.#last
    if (last !== undefined && last.from.length === tools.length && last.from.every((tool, at) => tool === tools[at])) return last.wire
    const wire = this.#convert(tools)
    this.#last = { from: [...tools], wire }
    return wire
  }
}

/** Which call ids a provider takes; others are replaced by a hash of `length` letters and digits. */
export interface CallIdRule {
  pattern: RegExp
  length: number
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** The id itself where the rule takes it, else one that is the same for call and result and in every request. */
export function fitCallId(id: string, { pattern, length }: CallIdRule): string {
  if (pattern.test(id)) return id
  const bytes = createHash('sha512').update(id).digest()
  let fitted = ''
  for (let at = 0; at < length; at++) fitted += alphabet[(bytes[at] ?? 0) % alphabet.length]
  return fitted
}

/** A tool's name as every provider takes it: what the model has called need not be one. */
export function fitToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
}

/** What is sent back of arguments that are not a JSON object: the model's own text, or `{}`. */
export type MalformedArguments = 'keep' | 'empty'

/** A call's arguments for an API that takes a text. No server takes an empty one in a history, and some take none that is not an object. */
export function argumentsText(json: string, malformed: MalformedArguments): string {
  if (json.trim() === '') return '{}'
  return malformed === 'keep' || objectIn(json) !== undefined ? json : '{}'
}

/** A call's arguments for an API that takes only an object. */
export function argumentsObject(json: string): JsonObject {
  return objectIn(json) ?? {}
}

/** What the model wrote in place of an object stays in our records; in a request it would make all of it fail. */
function objectIn(json: string): JsonObject | undefined {
  const value = jsonIn(json)
  return isJsonObject(value) ? value : undefined
}
