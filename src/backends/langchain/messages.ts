import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages'
import {
  type ChatMessage,
  type Content,
  hasToolCalls,
  isToolResult,
  type ToolCall,
  type ToolResultMessage,
  type Usage,
  withoutUndefined,
} from '../../core/messages.ts'
import { parseArguments } from '../../tools/arguments.ts'

/**
 * The id of a message in LangChain's state. The id of a tool result is derived from its call, and the id of any other message from its
 * position.
 */
export function stateId(message: ChatMessage, position: number): string {
  return isToolResult(message) ? `result-${message.toolCallId}` : `message-${position}`
}

/**
 * Converts a message for LangChain's state. Models never get the converted message, because LangChain's format loses the exact text of a
 * call's arguments, and data that the provider requires back.
 */
export function toLangChain(message: ChatMessage, position: number): BaseMessage {
  const id = stateId(message, position)
  const name = message.name === undefined ? {} : { name: message.name }
  if (isToolResult(message)) return toToolMessage(message)
  if (message.role === 'system') return new SystemMessage({ id, content: message.content, ...name })
  if (message.role === 'user') return new HumanMessage({ id, content: contentOf(message.content), ...name })
  return toAIMessage(message, position)
}

export function toToolMessage(message: ToolResultMessage): ToolMessage {
  const { toolCallId, name, isError, content } = message
  return new ToolMessage({
    id: stateId(message, 0),
    tool_call_id: toolCallId,
    content: contentOf(content),
    status: isError ? 'error' : 'success',
    ...withoutUndefined({ name }),
  })
}

export function toAIMessage(message: ChatMessage & { role: 'assistant' }, position: number, usage?: Usage): AIMessage {
  return new AIMessage({
    id: stateId(message, position),
    content: message.content,
    tool_calls: hasToolCalls(message) ? message.toolCalls.map(callOf) : [],
    ...withoutUndefined({ usage_metadata: usage && usageOf(usage) }),
  })
}

/** LangChain's loop treats a call whose name starts with `extract-` as an output format, and would never run it. */
function stateName(tool: string): string {
  return tool.startsWith('extract-') ? `tool_${tool}` : tool
}

/**
 * Converts a call. Unreadable arguments are replaced by an empty object, because LangChain's loop would never run an entry of
 * `invalid_tool_calls`.
 */
function callOf({ id, function: { name, arguments: json } }: ToolCall): { id: string; name: string; args: object; type: 'tool_call' } {
  const parsed = parseArguments(json)
  return { id, name: stateName(name), args: parsed.ok ? parsed.args : {}, type: 'tool_call' }
}

function contentOf(content: Content): string | ({ type: 'text'; text: string } | { type: 'image' | 'file'; mimeType?: string })[] {
  if (typeof content === 'string') return content
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    const { mediaType, ...rest } = part
    return { ...rest, ...withoutUndefined({ mimeType: mediaType }) }
  })
}

function usageOf({ inputTokens, outputTokens, totalTokens }: Usage): {
  input_tokens: number
  output_tokens: number
  total_tokens: number
} {
  return { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens }
}
