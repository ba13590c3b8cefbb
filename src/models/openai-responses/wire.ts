import {
  type ChatMessage,
  type ContentPart,
  convertOnce,
  hasToolCalls,
  type Json,
  type JsonObject,
  type ToolResultMessage,
} from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { objectSchema } from '../conversion/object-schema.ts'
import type { Written } from '../conversion/wire.ts'
import { assistantItems, resultFields, type Searches, searchesOf, wireCallId } from './items.ts'
import type { ResponsesQuirks } from './quirks.ts'

/** A message's input items as JSON, joined by commas, and what was lost on the way. */
export interface WireItems extends Written {
  /** What the results of some of its calls have to say of them, by the call's id. */
  resultFields: readonly [id: string, fields: JsonObject][]
  /** For a message with calls or searches. */
  searches?: Searches
  /** The message without its layout, where that belongs to a search. */
  plain?: WireItems
}

/**
 * Turns messages and tools into the Responses format. Frozen messages are converted and serialised once. System messages stay where they
 * are, as messages of the role `developer`: `instructions` has room for one text only, before all others.
 * Format: https://platform.openai.com/docs/api-reference/responses/create
 */
export class ResponsesWire {
  readonly tool: (tool: ToolDefinition) => Written = convertOnce((tool) => this.#convertTool(tool, {}))
  readonly deferredTool: (tool: ToolDefinition) => Written = convertOnce((tool) => this.#convertTool(tool, { defer_loading: true }))
  readonly #provider: string
  readonly #quirks: ResponsesQuirks
  readonly #items = convertOnce((message: ChatMessage) => this.#convert(message))

  constructor(provider: string, quirks: ResponsesQuirks) {
    this.#provider = provider
    this.#quirks = quirks
  }

  /** `fields`: what the messages before say of the results of their calls. */
  message(message: ChatMessage, fields: ReadonlyMap<string, JsonObject>): WireItems {
    const own = message.role === 'tool' ? fields.get(message.toolCallId) : undefined
    if (message.role !== 'tool' || own === undefined) return this.#items(message)
    const warnings: string[] = []
    return { ...noItems, json: JSON.stringify({ ...this.#result(message, warnings), ...own }), warnings }
  }

  #convertTool({ function: { name, description, parameters, strict } }: ToolDefinition, fields: JsonObject): Written {
    const warnings: string[] = []
    const { schema, joined } = objectSchema(parameters)
    if (joined) warnings.push(`The alternatives in the parameters of tool \`${name}\` were sent joined: ${this.#provider} takes none there`)
    if (strict !== undefined && !this.#quirks.strictTools) {
      warnings.push(`\`strict\` of tool \`${name}\` was left out: ${this.#provider} does not take it`)
    }
    const json = JSON.stringify({
      type: 'function',
      name,
      ...(description === undefined ? {} : { description }),
      parameters: { ...schema, properties: schema.properties ?? {} },
      ...(this.#quirks.strictTools ? { strict: strict ?? false } : {}),
      ...fields,
    })
    return { json, warnings }
  }

  #convert(message: ChatMessage): WireItems {
    const warnings: string[] = []
    switch (message.role) {
      case 'system':
        return { ...noItems, json: JSON.stringify({ role: this.#quirks.developerRole ? 'developer' : 'system', content: message.content }) }
      case 'user':
        return { ...noItems, json: JSON.stringify({ role: 'user', content: this.#content(message.content, warnings) }), warnings }
      case 'tool':
        return { ...noItems, json: JSON.stringify(this.#result(message, warnings)), warnings }
      case 'assistant': {
        const calls = hasToolCalls(message) ? message.toolCalls : []
        const given = message.providerData?.provider === this.#provider ? message.providerData.data : {}
        const laidOut = (data: JsonObject): WireItems => {
          const items = assistantItems(message.content, calls, data, this.#quirks.malformedArguments)
          const json = items.map((item) => JSON.stringify(item)).join(',')
          return { ...noItems, json, resultFields: resultFields(calls, data), searches: searchesOf(calls, data) }
        }
        const whole = laidOut(given)
        const isPlain = whole.searches?.hasItems !== true && whole.searches?.calledLoaded.length === 0
        return isPlain ? whole : { ...whole, plain: laidOut({}) }
      }
    }
  }

  #result({ toolCallId, content }: ToolResultMessage, warnings: string[]): JsonObject {
    const output = this.#content(content, warnings, this.#quirks.toolContentParts)
    return { type: 'function_call_output', call_id: wireCallId(toolCallId), output }
  }

  /** `takesParts` false: the content has to be one text. */
  #content(content: string | readonly ContentPart[], warnings: string[], takesParts = true): Json {
    if (typeof content === 'string') return content
    const parts = content.map((part) => {
      if (part.type === 'text') return { type: 'input_text', text: part.text }
      if (takesParts && this.#quirks.contentParts.includes(part.type)) return inputPart(part)
      warnings.push(
        `A part of type '${part.type}' was replaced by a note: ${this.#provider} does not take it${takesParts ? '' : ' in a result'}`,
      )
      return { type: 'input_text', text: `[${part.type} not shown]` }
    })
    return takesParts ? parts : parts.map(({ text }) => text).join('\n')
  }
}

const noItems: WireItems = { json: '', resultFields: [], warnings: [] }

function inputPart(part: Exclude<ContentPart, { type: 'text' }>): JsonObject {
  const url = 'url' in part ? part.url : `data:${part.mediaType};base64,${part.data}`
  if (part.type === 'image') return { type: 'input_image', image_url: url, detail: 'auto' }
  if (!url.startsWith('data:')) return { type: 'input_file', file_url: url }
  // Bytes are only taken with a name.
  return { type: 'input_file', filename: part.name ?? 'file', file_data: url }
}
