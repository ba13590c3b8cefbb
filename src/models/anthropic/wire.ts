import {
  type ChatMessage,
  type ContentPart,
  convertOnce,
  hasToolCalls,
  type JsonObject,
  legalName,
  type ToolCall,
} from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { objectSchema } from '../conversion/object-schema.ts'
import { argumentsObject, fitCallId, type Written } from '../conversion/wire.ts'
import { blocksOf, foundTools, isThought, textBlock, withoutSearch } from './content.ts'
import { anthropicPart } from './parts.ts'
import type { AnthropicQuirks } from './quirks.ts'

/** A message's content blocks as JSON, joined by commas, and what was lost on the way. */
export interface WireMessage {
  role: 'system' | 'user' | 'assistant'
  /** Its tool results, which have to come first in a turn. */
  results: string
  blocks: string
  /** Whether its last block may carry `cache_control`. */
  cacheable: boolean
  /** Names of the tools it calls. */
  toolNames: readonly string[]
  /** The provider's code container to go on in. */
  container: string | undefined
  /** Where the provider has searched tools: what it found, and the message without the search. */
  search?: { found: readonly string[]; without: WireMessage }
  warnings: readonly string[]
}

/** What the API takes as a call's id, and ours in its place. The API names no limit; other providers end at 64 characters. */
const callId = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, length: 32 }

/**
 * Turns messages and tools into the Messages format. Frozen messages are converted and serialised once. Format: https://platform.claude.com/docs/en/api/messages
 */
export class AnthropicWire {
  readonly message: (message: ChatMessage) => WireMessage = convertOnce((message) => this.#convert(message))
  readonly tool: (tool: ToolDefinition) => Written = convertOnce((tool) => this.#convertTool(tool, {}))
  readonly deferredTool: (tool: ToolDefinition) => Written = convertOnce((tool) => this.#convertTool(tool, { defer_loading: true }))
  readonly #provider: string
  readonly #quirks: AnthropicQuirks

  constructor(provider: string, quirks: AnthropicQuirks) {
    this.#provider = provider
    this.#quirks = quirks
  }

  #convertTool({ function: { name, description, parameters, strict } }: ToolDefinition, fields: JsonObject): Written {
    const warnings: string[] = []
    if (strict !== undefined && !this.#quirks.strictTools) {
      warnings.push(`\`strict\` of tool \`${name}\` was left out: ${this.#provider} does not take it`)
    }
    const { schema, joined } = objectSchema(parameters)
    if (joined) warnings.push(`The alternatives in the parameters of tool \`${name}\` were sent joined: ${this.#provider} takes none there`)
    const json = JSON.stringify({
      name,
      ...(description === undefined ? {} : { description }),
      input_schema: schema,
      ...(strict !== undefined && this.#quirks.strictTools ? { strict } : {}),
      ...fields,
    })
    return { json, warnings }
  }

  #convert(message: ChatMessage): WireMessage {
    const warnings: string[] = []
    const none = { results: '', blocks: '', cacheable: true, toolNames: [], container: undefined, warnings }
    switch (message.role) {
      case 'system':
        return { ...none, role: 'system', blocks: listed(textBlock(message.content)) }
      case 'user': {
        const blocks = this.#contentBlocks(message.content, warnings)
        // A turn has to say something; leaving it out would join its neighbours.
        return { ...none, role: 'user', blocks: listed(blocks.length > 0 ? blocks : [{ type: 'text', text: '[empty message]' }]) }
      }
      case 'tool':
        return { ...none, role: 'user', results: JSON.stringify(this.#result(message, warnings)) }
      case 'assistant': {
        const calls = hasToolCalls(message) ? message.toolCalls : []
        const given = message.providerData?.provider === this.#provider ? message.providerData.data : {}
        const toolNames = calls.map(({ function: { name } }) => legalName(name))
        const container = typeof given.container === 'string' ? given.container : undefined
        const laidOut = (data: JsonObject): WireMessage => {
          const blocks = blocksOf(message.content, calls, data, callBlock)
          const last = blocks.at(-1)
          const cacheable = last !== undefined && !isThought(last)
          return { ...none, role: 'assistant', blocks: listed(blocks), cacheable, toolNames, container }
        }
        const found = foundTools(given)
        return { ...laidOut(given), ...(found === undefined ? {} : { search: { found, without: laidOut(withoutSearch(given)) } }) }
      }
    }
  }

  #result({ toolCallId, content, isError }: ChatMessage & { role: 'tool' }, warnings: string[]): JsonObject {
    const blocks = this.#contentBlocks(content, warnings)
    const [only] = blocks
    const isText = blocks.length === 1 && only?.type === 'text' && typeof only.text === 'string'
    return {
      type: 'tool_result',
      tool_use_id: fitCallId(toolCallId, callId),
      ...(blocks.length === 0 ? {} : { content: isText ? (only.text ?? '') : blocks }),
      ...(isError === true ? { is_error: true } : {}),
    }
  }

  #contentBlocks(content: string | readonly ContentPart[], warnings: string[]): JsonObject[] {
    if (typeof content === 'string') return textBlock(content)
    return content.flatMap((part) => {
      if (part.type === 'text') return textBlock(part.text)
      const block = this.#quirks.contentParts.includes(part.type) ? anthropicPart(part) : undefined
      if (block !== undefined) return [block]
      warnings.push(`A part of type '${part.type}' was replaced by a note: ${this.#provider} does not take it`)
      return textBlock(`[${part.type} not shown]`)
    })
  }
}

/** The API takes only an object as input: what the model wrote instead stays in our records. */
function callBlock({ id, function: { name, arguments: json } }: ToolCall): JsonObject {
  return { type: 'tool_use', id: fitCallId(id, callId), name: legalName(name), input: argumentsObject(json) }
}

function listed(blocks: readonly JsonObject[]): string {
  return blocks.map(written).join(',')
}

function written(block: JsonObject): string {
  try {
    return JSON.stringify(block)
  } catch (error) {
    // Arguments may be nested too deep to be written, though not to be read.
    if (block.type === 'tool_use') return JSON.stringify({ ...block, input: {} })
    throw error
  }
}
