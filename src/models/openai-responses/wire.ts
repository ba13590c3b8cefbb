import {
  type ChatMessage,
  type ContentPart,
  hasToolCalls,
  type Json,
  type JsonObject,
  type ToolResultMessage,
} from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { urlOf } from '../conversion/part-bytes.ts'
import { type FittedTool, fitParameters } from '../conversion/tool-parameters.ts'
import { CallIds } from '../conversion/wire.ts'
import { assistantItems, resultFields, type Searches, searchesOf } from './items.ts'
import type { ResponsesQuirks } from './quirks.ts'

export interface WireItems {
  items: JsonObject[]
  /** The fields that a call's result must repeat, with the id of the call. */
  resultFields: readonly [id: string, fields: JsonObject][]
  searches?: Searches
  /**
   * The message's text and calls, without other items. Present if the message has items of a search, or calls a tool that a search loaded.
   */
  plain?: WireItems
}

/**
 * Converts messages and tools to the Responses format. Adds a warning for each detail that is lost. System messages keep their positions
 * and have the role `developer`. The field `instructions` is not used, because it holds only a single text that precedes all messages.
 * Format: https://platform.openai.com/docs/api-reference/responses/create
 */
export class ResponsesWire {
  readonly #provider: string
  readonly #quirks: ResponsesQuirks
  readonly #fitted = new WeakMap<object, FittedTool>()

  constructor(provider: string, quirks: ResponsesQuirks) {
    this.#provider = provider
    this.#quirks = quirks
  }

  callIds(): CallIds {
    return new CallIds(this.#quirks.toolCallId)
  }

  /** `fields`: the fields that a call's result must repeat, keyed by call id. */
  message(message: ChatMessage, fields: ReadonlyMap<string, JsonObject>, ids: CallIds, warnings: Set<string>): WireItems {
    switch (message.role) {
      case 'system':
        return itemsOf({ role: this.#quirks.developerRole ? 'developer' : 'system', content: message.content })
      case 'user':
        return itemsOf({ role: 'user', content: this.#content(message.content, warnings) })
      case 'tool':
        return itemsOf({ ...this.#result(message, ids, warnings), ...fields.get(message.toolCallId) })
      case 'assistant': {
        const calls = hasToolCalls(message) ? message.toolCalls : []
        const sent = calls.map((call) => ({ ...call, id: ids.ofCall(call) }))
        const given = message.providerData?.provider === this.#provider ? message.providerData.data : {}
        const laidOut = (data: JsonObject): WireItems => {
          const items = assistantItems(message.content, sent, data, this.#quirks.malformedArguments)
          return { items, resultFields: resultFields(calls, data), searches: searchesOf(calls, data) }
        }
        const whole = laidOut(given)
        const isPlain = whole.searches?.hasItems !== true && whole.searches?.calledLoaded.length === 0
        return isPlain ? whole : { ...whole, plain: laidOut({}) }
      }
    }
  }

  tool({ function: tool }: ToolDefinition, warnings: Set<string>, fields: JsonObject = {}): JsonObject {
    const { name, strict } = tool
    const fitted = this.#fitted.get(tool) ?? fitParameters(tool, this.#provider)
    this.#fitted.set(tool, fitted)
    for (const warning of fitted.warnings) warnings.add(warning)
    const { words, parameters } = fitted
    if (strict !== undefined && !this.#quirks.strictTools) {
      warnings.add(`\`strict\` of tool \`${name}\` was left out: ${this.#provider} does not support it`)
    }
    return {
      type: 'function',
      name,
      ...words,
      parameters: { ...parameters, properties: parameters.properties ?? {} },
      ...(this.#quirks.strictTools ? { strict: strict ?? false } : {}),
      ...fields,
    }
  }

  #result({ toolCallId, content }: ToolResultMessage, ids: CallIds, warnings: Set<string>): JsonObject {
    const output = this.#content(content, warnings, this.#quirks.toolContentParts)
    return { type: 'function_call_output', call_id: ids.ofResult(toolCallId), output }
  }

  /** If `takesParts` is false, the result is a single text. */
  #content(content: string | readonly ContentPart[], warnings: Set<string>, takesParts = true): Json {
    if (typeof content === 'string') return content
    const parts = content.map((part) => {
      if (part.type === 'text') return { type: 'input_text', text: part.text }
      if (takesParts && this.#quirks.contentParts.includes(part.type)) return inputPart(part)
      warnings.add(
        `A part of type '${part.type}' was replaced by a note: ${this.#provider} does not support it${takesParts ? '' : ' in a result'}`,
      )
      return { type: 'input_text', text: `[${part.type} not shown]` }
    })
    return takesParts ? parts : parts.map(({ text }) => text).join('\n')
  }
}

function itemsOf(item: JsonObject): WireItems {
  return { items: [item], resultFields: [] }
}

function inputPart(part: Exclude<ContentPart, { type: 'text' }>): JsonObject {
  const url = urlOf(part)
  if (part.type === 'image') return { type: 'input_image', image_url: url, detail: 'auto' }
  if (!url.startsWith('data:')) return { type: 'input_file', file_url: url }
  // The API requires a file name for bytes.
  return { type: 'input_file', filename: part.name ?? 'file', file_data: url }
}
