import { type ChatMessage, type ContentPart, hasToolCalls, isJsonObject, type JsonObject, type ToolCall } from '../../core/messages.ts'
import { type OpenAIMessage, toOpenAIMessage, toOpenAIPart } from '../../core/openai-messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { argumentsText, type CallIdRule, ConvertedMessages, ConvertedTools, fitCallId, type WireTools } from '../conversion/wire.ts'
import type { OpenAIQuirks } from './quirks.ts'

/** A message as JSON, and what was lost on the way. */
export interface WireMessage {
  json: string
  warnings: readonly string[]
}

/**
 * Turns messages and tools into one provider's variety of the Chat Completions format. Frozen messages are converted and
 * serialised once.
 */
export class OpenAIWire {
  readonly #provider: string
  readonly #quirks: OpenAIQuirks
  readonly #callId: CallIdRule | undefined
  readonly #messages = new ConvertedMessages((message) => this.#convertMessage(message))
  readonly #tools = new ConvertedTools((tools) => this.#convertTools(tools))

  constructor(provider: string, quirks: OpenAIQuirks) {
    this.#provider = provider
    this.#quirks = quirks
    const rule = quirks.toolCallId
    this.#callId = rule === null ? undefined : { pattern: new RegExp(rule.pattern), length: rule.length }
  }

  message(message: ChatMessage): WireMessage {
    return this.#messages.of(message)
  }

  tools(tools: readonly ToolDefinition[]): WireTools {
    return this.#tools.of(tools)
  }

  #convertMessage(message: ChatMessage): WireMessage {
    const warnings: string[] = []
    return { json: JSON.stringify(this.#convert(message, warnings)), warnings }
  }

  #convertTools(tools: readonly ToolDefinition[]): WireTools {
    const warnings: string[] = []
    const json = tools.map((tool) => {
      const { strict, ...rest } = tool.function
      if (strict === undefined || this.#quirks.strictTools) return JSON.stringify(tool)
      warnings.push(`\`strict\` of tool \`${tool.function.name}\` was left out: ${this.#provider} does not take it`)
      return JSON.stringify({ ...tool, function: rest })
    })
    return { json, warnings }
  }

  #convert(message: ChatMessage, warnings: string[]): OpenAIMessage {
    const wire = toOpenAIMessage(message)
    if (wire.role === 'developer' && !this.#quirks.developerRole) return { ...wire, role: 'system' }
    if (message.role === 'user' && wire.role === 'user' && Array.isArray(message.content)) this.#fitParts(message.content, wire, warnings)
    if (message.role === 'tool' && wire.role === 'tool') {
      wire.tool_call_id = this.#fitId(wire.tool_call_id)
      this.#fitToolContent(wire, message.content, warnings)
    }
    if (hasToolCalls(message) && wire.role === 'assistant' && wire.tool_calls !== undefined) {
      const fields = message.providerData?.provider === this.#provider ? message.providerData.data : {}
      return { ...wire, tool_calls: this.#fitCalls(wire.tool_calls, fields), ...this.#reasoningBack(fields) }
    }
    return wire
  }

  #fitParts(parts: readonly ContentPart[], wire: OpenAIMessage & { role: 'user' }, warnings: string[]): void {
    const carries = (part: ContentPart): boolean => {
      if (part.type === 'text') return true
      // The API takes a file's bytes, but no address of one: https://platform.openai.com/docs/guides/pdf-files
      if (part.type === 'file' && 'url' in part && !part.url.startsWith('data:')) return false
      return this.#quirks.contentParts.includes(part.type)
    }
    if (parts.every(carries)) return
    wire.content = parts.map((part) => {
      if (carries(part)) return toOpenAIPart(part)
      warnings.push(`A part of type '${part.type}' was replaced by a note: ${this.#provider} does not take it`)
      return { type: 'text', text: `[${part.type} not shown]` }
    })
  }

  #fitToolContent(wire: OpenAIMessage & { role: 'tool' }, content: ChatMessage['content'], warnings: string[]): void {
    if (Array.isArray(content)) {
      for (const { type } of content) {
        if (type !== 'text') warnings.push(`A part of type '${type}' in a tool's result was replaced by a note: results are text here`)
      }
    }
    if (Array.isArray(wire.content) && !this.#quirks.toolContentParts) wire.content = wire.content.map(({ text }) => text).join('\n')
  }

  #fitCalls(calls: readonly ToolCall[], fields: JsonObject): ToolCall[] {
    const extras = Array.isArray(fields.calls) ? fields.calls.filter(isJsonObject) : []
    return calls.map((call, position) => {
      // Where a call had no id of its own, the one it was given later is not known here.
      const extra =
        extras.find(({ id }) => id !== '' && id === call.id) ?? extras.find((entry) => entry.id === '' && entry.position === position)
      const { name, arguments: json } = call.function
      return {
        ...call,
        id: this.#fitId(call.id),
        function: { name, arguments: argumentsText(json, this.#quirks.malformedArguments) },
        ...(isJsonObject(extra?.fields) ? extra.fields : {}),
      }
    })
  }

  #fitId(id: string): string {
    return this.#callId === undefined ? id : fitCallId(id, this.#callId)
  }

  #reasoningBack({ reasoning, reasoningDetails }: JsonObject): JsonObject {
    if (!this.#quirks.sendReasoningBack) return {}
    const back: JsonObject = {}
    if (this.#quirks.missingReasoning !== null) back.reasoning_content = this.#quirks.missingReasoning
    if (isJsonObject(reasoning) && typeof reasoning.field === 'string' && reasoning.field !== 'thinking') {
      delete back.reasoning_content
      back[reasoning.field] = reasoning.text ?? ''
    }
    if (reasoningDetails !== undefined) back.reasoning_details = reasoningDetails
    return back
  }
}
