import {
  type ChatMessage,
  type Content,
  type ContentPart,
  type FilePart,
  hasToolCalls,
  type ImagePart,
  isToolResult,
  type ToolResultMessage,
} from '../../core/messages.ts'
import { isCommonPart } from './part-bytes.ts'

/**
 * Where a server accepts system messages. `'anywhere'`: at any position. `'first'`: only one system message, as the first message.
 * `'as-user'`: only at the start; later system messages are sent as user messages.
 */
export type SystemMessages = 'anywhere' | 'first' | 'as-user'

/**
 * The order of messages that a server accepts. `'any'`: every order. `'assistant-after-tools'`: no user message directly after tool
 * results. `'alternating'`: the same, and also no two user messages and no two assistant messages in a row.
 */
export type MessageOrder = 'any' | 'assistant-after-tools' | 'alternating'

/** The restrictions of a server on conversations. */
export interface ConversationRules {
  systemMessages: SystemMessages
  messageOrder: MessageOrder
  /** Whether a conversation may end with an answer, which the model then continues. */
  endsWithAnswer: boolean
  /** Whether the server accepts this image or file in user messages but not in tool results. */
  movesPart(part: ImagePart | FilePart): boolean
}

/** Inserted as a user message if the server requires the conversation to begin with one. */
export const beginning = '[the conversation begins here]'
/** Added as a user message if the server does not accept a conversation that ends with an answer. */
const continuing = '[continue]'

/**
 * The message that is inserted between tool results and a user message. Mistral's own client uses the same text:
 * https://github.com/mistralai/mistral-vibe
 */
const bridge: ChatMessage = { role: 'assistant', content: 'Understood.' }

/** Converts a conversation to a form that the server accepts. The given messages are not changed. */
export function fitConversation(
  messages: readonly ChatMessage[],
  { systemMessages, messageOrder, endsWithAnswer, movesPart }: ConversationRules,
): readonly ChatMessage[] {
  const placed = systemMessages === 'first' ? withOneSystemMessage(messages) : messages
  const told = systemMessages === 'as-user' ? withReminders(placed) : placed
  const shown = withMovedParts(told, (part) => part.type !== 'text' && isCommonPart(part) && movesPart(part))
  const ordered = messageOrder === 'any' ? shown : inOrder(shown, messageOrder === 'alternating')
  return endsWithAnswer || !isAnswer(ordered.at(-1)) ? ordered : [...ordered, { role: 'user', content: continuing }]
}

function isAnswer(message: ChatMessage | undefined): boolean {
  return message?.role === 'assistant' && !hasToolCalls(message)
}

function withOneSystemMessage(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const system = messages.filter(isSystem)
  if (system.length === 0 || (system.length === 1 && messages[0] === system[0])) return messages
  const content = system.map((message) => message.content).join('\n\n')
  return [{ role: 'system', content }, ...messages.filter((message) => !isSystem(message))]
}

/**
 * Sends later system messages as user messages, in the tags that Claude knows from its own client. Moving these messages to the start would
 * invalidate the provider's cache.
 */
function withReminders(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const begins = messages.findIndex((message) => !isSystem(message))
  if (begins === -1) return messages
  return messages.map((message, at) => {
    if (at < begins || !isSystem(message)) return message
    return { role: 'user', content: `<system-reminder>\n${message.content}\n</system-reminder>` }
  })
}

function isSystem(message: ChatMessage): message is ChatMessage & { role: 'system' } {
  return message.role === 'system'
}

/** Moves images and files from tool results to a user message that follows the results. A note replaces each moved part. */
function withMovedParts(messages: readonly ChatMessage[], movesPart: (part: ContentPart) => boolean): readonly ChatMessage[] {
  const fitted: ChatMessage[] = []
  let moved: ContentPart[] = []
  const showMoved = () => {
    if (moved.length > 0) fitted.push({ role: 'user', content: moved })
    moved = []
  }
  for (const message of messages) {
    if (!isToolResult(message)) showMoved()
    const { content } = message
    if (!isToolResult(message) || typeof content === 'string' || !content.some(movesPart)) fitted.push(message)
    else fitted.push({ ...message, content: content.map((part) => (movesPart(part) ? moveTo(moved, part, message) : part)) })
  }
  showMoved()
  return fitted
}

/** Moves a part and returns the note that replaces it. */
function moveTo(moved: ContentPart[], part: ContentPart, { name, toolCallId }: ToolResultMessage): ContentPart {
  const label = `${part.type} ${moved.length / 2 + 1}`
  moved.push({ type: 'text', text: `[${label}, from the result of ${name ?? toolCallId}]` }, part)
  return { type: 'text', text: `[${label}, shown below]` }
}

function inOrder(messages: readonly ChatMessage[], alternates: boolean): readonly ChatMessage[] {
  const ordered: ChatMessage[] = []
  for (const message of messages) {
    const last = ordered.at(-1)
    const isFirst = last === undefined || isSystem(last)
    if (alternates && isFirst && message.role !== 'user' && !isSystem(message)) ordered.push({ role: 'user', content: beginning })
    if (last?.role === 'tool' && message.role !== 'tool' && message.role !== 'assistant') ordered.push(bridge)
    const joined = alternates && last !== undefined ? joinedWith(last, message) : undefined
    if (joined === undefined) ordered.push(message)
    else ordered.splice(-1, 1, joined)
  }
  return ordered
}

/** Joins two messages of the same role. Returns undefined if the messages may stay separate. */
function joinedWith(last: ChatMessage, message: ChatMessage): ChatMessage | undefined {
  if (last.role === 'user' && message.role === 'user') return { ...message, content: joinedContent(last.content, message.content) }
  if (last.role !== 'assistant' || hasToolCalls(last) || message.role !== 'assistant') return undefined
  return { ...message, content: [last.content, message.content].filter((text) => text !== '').join('\n\n') }
}

function joinedContent(one: Content, other: Content): Content {
  if (typeof one === 'string' && typeof other === 'string') return `${one}\n\n${other}`
  return [...partsOf(one), ...partsOf(other)]
}

function partsOf(content: Content): ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}
