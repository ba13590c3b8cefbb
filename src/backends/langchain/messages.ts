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

/** The id a message has in LangChain's state: made of where it stands, or of the call it is the result of. */
export function stateId(message: ChatMessage, position: number): string {
  return isToolResult(message) ? `result-${message.toolCallId}` : `message-${position}`
}

/**
 * A message as LangChain's state has it. What LangChain has no place for stays with ours, which is what a model is sent: the arguments
 * as they were written, what a provider wants back, and that a call's arguments could not be read.
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

/** LangChain's loop takes a call whose name begins with `extract-` for an output format, and would never run it. */
function stateName(tool: string): string {
  return tool.startsWith('extract-') ? `tool_${tool}` : tool
}

/**
 * A call whose arguments can't be read is one like any other here: as one of `invalid_tool_calls` LangChain's loop would leave it without
 * an answer.
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
