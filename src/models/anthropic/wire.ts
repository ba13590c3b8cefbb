import {
  type ChatMessage,
  type ContentPart,
  hasToolCalls,
  type JsonObject,
  legalName,
  type ToolCall,
  withoutUndefined,
} from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { type FittedTool, fitParameters } from '../conversion/tool-parameters.ts'
import { argumentsObject, CallIds } from '../conversion/wire.ts'
import { blocksOf, foundTools, isThought, textBlock, withoutSearch, withoutUnsigned } from './content.ts'
import { anthropicPart } from './parts.ts'
import type { AnthropicQuirks } from './quirks.ts'

export interface WireMessage {
  role: 'system' | 'user' | 'assistant'
  blocks: JsonObject[]
  /** Whether the blocks are tool results, which must come first in a turn. */
  areResults: boolean
  /** The names of the tools that the message calls. */
  toolNames: readonly string[]
  /** The id of the provider's code container in which the conversation continues. */
  container: string | undefined
  /**
   * The names of the tools that the provider's tool search found, and the message with the search removed. Undefined if the message
   * contains no search.
   */
  search?: { found: readonly string[]; without: WireMessage }
}

/** https://github.com/anthropics/claude-code/issues/79418 */
const parameterRules = { names: /^[a-zA-Z0-9_.-]{1,64}$/ }

/**
 * Converts messages and tools to the Messages format. Adds a warning for each detail that is lost. Format:
 * https://platform.claude.com/docs/en/api/messages
 */
export class AnthropicWire {
  readonly #provider: string
  readonly #quirks: AnthropicQuirks
  readonly #fitted = new WeakMap<object, FittedTool>()

  constructor(provider: string, quirks: AnthropicQuirks) {
    this.#provider = provider
    this.#quirks = quirks
  }

  tool({ function: tool }: ToolDefinition, warnings: Set<string>, fields: JsonObject = {}): JsonObject {
    const { name, strict } = tool
    if (strict !== undefined && !this.#quirks.strictTools) {
      warnings.add(`\`strict\` of tool \`${name}\` was left out: ${this.#provider} does not support it`)
    }
    const fitted = this.#fitted.get(tool) ?? fitParameters(tool, this.#provider, parameterRules)
    this.#fitted.set(tool, fitted)
    for (const warning of fitted.warnings) warnings.add(warning)
    const { words, parameters } = fitted
    return {
      name,
      ...words,
      input_schema: parameters,
      ...(strict !== undefined && this.#quirks.strictTools ? { strict } : {}),
      ...fields,
    }
  }

  callIds(): CallIds {
    return new CallIds(this.#quirks.toolCallId)
  }

  message(message: ChatMessage, ids: CallIds, warnings: Set<string>): WireMessage {
    const plain = { areResults: false, toolNames: [], container: undefined }
    switch (message.role) {
      case 'system':
        return { ...plain, role: 'system', blocks: textBlock(message.content) }
      case 'user': {
        const blocks = this.#contentBlocks(message.content, warnings)
        // The API refuses an empty message. Leaving the message out would merge its neighbors.
        return { ...plain, role: 'user', blocks: blocks.length > 0 ? blocks : [{ type: 'text', text: '[empty message]' }] }
      }
      case 'tool':
        return { ...plain, role: 'user', blocks: [this.#result(message, ids, warnings)], areResults: true }
      case 'assistant': {
        const calls = hasToolCalls(message) ? message.toolCalls.map((call) => ({ ...call, id: ids.ofCall(call) })) : []
        const { unsignedThinking, missingReasoning } = this.#quirks
        const data = message.providerData?.provider === this.#provider ? message.providerData.data : {}
        const given = unsignedThinking ? data : withoutUnsigned(data)
        const toolNames = calls.map(({ function: { name } }) => legalName(name))
        const container = typeof given.container === 'string' ? given.container : undefined
        const laidOut = (data: JsonObject): WireMessage => {
          const blocks = blocksOf(message.content, calls, data, callBlock)
          const isMissing = missingReasoning !== null && blocks.length > 0 && !blocks.some(isThought)
          if (isMissing) blocks.unshift({ type: 'thinking', thinking: missingReasoning, signature: '' })
          // The API refuses a message that ends with thinking: https://github.com/tailcallhq/forgecode/issues/3071
          blocks.length = blocks.findLastIndex((block) => !isThought(block)) + 1
          return { ...plain, role: 'assistant', blocks, toolNames, container }
        }
        const found = foundTools(given)
        return { ...laidOut(given), ...withoutUndefined({ search: found && { found, without: laidOut(withoutSearch(given)) } }) }
      }
    }
  }

  #result({ toolCallId, content, isError }: ChatMessage & { role: 'tool' }, ids: CallIds, warnings: Set<string>): JsonObject {
    const blocks = this.#contentBlocks(content, warnings)
    // The API refuses a failed result without content: https://github.com/can1357/oh-my-pi/pull/2250
    if (isError === true && blocks.length === 0) blocks.push({ type: 'text', text: '[no output]' })
    const [only] = blocks
    const isText = blocks.length === 1 && only?.type === 'text' && typeof only.text === 'string'
    return {
      type: 'tool_result',
      tool_use_id: ids.ofResult(toolCallId),
      ...(blocks.length === 0 ? {} : { content: isText ? (only.text ?? '') : blocks }),
      ...(isError === true ? { is_error: true } : {}),
    }
  }

  #contentBlocks(content: string | readonly ContentPart[], warnings: Set<string>): JsonObject[] {
    if (typeof content === 'string') return textBlock(content)
    return content.flatMap((part) => {
      if (part.type === 'text') return textBlock(part.text)
      const block = this.#quirks.contentParts.includes(part.type) ? anthropicPart(part) : undefined
      if (block !== undefined) return [block]
      warnings.add(`A part of type '${part.type}' was replaced by a note: ${this.#provider} does not support it`)
      return textBlock(`[${part.type} not shown]`)
    })
  }
}

/** The API accepts only an object as input, so `{}` is sent if the model wrote any other value. */
function callBlock({ id, function: { name, arguments: json } }: ToolCall): JsonObject {
  return { type: 'tool_use', id, name: legalName(name), input: argumentsObject(json) }
}
