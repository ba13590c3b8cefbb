import { History } from '../agent/conversation/history.ts'
import { messageIdOf, replyIdOf } from '../agent/conversation/message-id.ts'
import type { PendingItem } from '../agent/types/result.ts'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { type MessageInput, toChatMessages } from '../core/message-input.ts'
import {
  type AssistantMessage,
  type ChatMessage,
  hasToolCalls,
  isToolResult,
  type ToolCall,
  type ToolResultMessage,
} from '../core/messages.ts'
import { idOnPage, isOwnCall } from './pending-on-page.ts'

/** A run that waits for decisions: the value `waiting` of `sessions.get(id)`, or `{ pending }` of a result. */
export interface WaitingConversation {
  pending: readonly PendingItem[]
  /** The messages that the run has added. Omit them if they are already part of the conversation. */
  messages?: readonly MessageInput[]
  /** The position in the conversation at which `messages` replace the stored messages. If absent, `messages` are appended. */
  at?: number
}

/** Options for showing a stored conversation. */
export interface ShownConversationOptions {
  /** The waiting run, whose calls can be decided. */
  waiting?: WaitingConversation | undefined
  /**
   * The position of the first message in the whole conversation, if the messages are only a part of it. Message ids are derived from
   * positions. Default 0.
   */
  from?: number
  /** Whether to show system messages, which may contain your instructions. Default `'omit'`. */
  system?: 'omit' | 'keep'
}

const optionNames: OptionNames<ShownConversationOptions> = { waiting: true, from: true, system: true }

/** A call and its state. A call without `result` is open. A call without `pending` needs no decision. */
export interface ShownCall {
  call: ToolCall
  result?: ToolResultMessage
  pending?: PendingItem
  /** The name of the nested agent that waits inside the call. Its pending items are shown next to the call. */
  waitingAgent?: string
}

/** One message with a stable id. */
export type Shown =
  | { id: string; message: Exclude<ChatMessage, AssistantMessage | ToolResultMessage> }
  | { id: string; message: AssistantMessage; calls: ShownCall[] }

/** Converts a conversation to the messages that a page shows. Throws `invalid_message` and `invalid_option`. */
export function readConversation(given: readonly MessageInput[], options: ShownConversationOptions, name: string): Shown[] {
  checkOptionNames(options, optionNames, `\`${name}\``)
  const { waiting, from = 0, system = 'omit' } = options
  if (!Number.isSafeInteger(from) || from < 0) throw new InvalidOptionError('from', 'an integer ≥ 0', from)
  const messages = withWaiting(toChatMessages(given), waiting, from)
  // Only the positions of the user's messages are used, because `History` may add or move results.
  const positions = messages.flatMap(({ role }, index) => (role === 'user' ? [from + index] : []))
  const open = openCalls(messages, waiting)
  const agents = new Map(
    (waiting?.pending ?? []).flatMap(({ path: [at] = [] }) => (at === undefined ? [] : [[at.toolCallId, at.agent] as const])),
  )
  const healed = new History(messages).slice()
  const results = new Map(healed.filter(isToolResult).map((message) => [message.toolCallId, message]))
  const shown: Shown[] = []
  let user: string | undefined
  let behind = 0
  for (const [index, message] of healed.entries()) {
    if (message.role === 'user') {
      user = messageIdOf(message, positions.shift() ?? from + index)
      behind = 0
      shown.push({ id: user, message })
      continue
    }
    behind++
    const id = user === undefined ? `message-${from + index}` : replyIdOf(user, behind)
    if (message.role === 'assistant') shown.push({ id, message, calls: callsOf(message, results, open, agents) })
    else if (message.role === 'system' && system === 'keep') shown.push({ id, message })
  }
  const last = shown.findLast((one) => 'calls' in one)
  if (last !== undefined && 'calls' in last) last.calls.push(...[...open.values()].flatMap(asOwnCall))
  return shown
}

function withWaiting(messages: readonly ChatMessage[], waiting: WaitingConversation | undefined, from: number): readonly ChatMessage[] {
  if (waiting?.messages === undefined) return messages
  const kept = waiting.at === undefined ? messages : messages.slice(0, Math.max(0, waiting.at - from))
  return [...kept, ...toChatMessages(waiting.messages)]
}

/**
 * Returns the open calls of a waiting run by id: the calls of the last turn that have no result, and the pending items. The value is
 * undefined if a call needs no decision.
 */
function openCalls(messages: readonly ChatMessage[], waiting: WaitingConversation | undefined): Map<string, PendingItem | undefined> {
  if (waiting === undefined) return new Map()
  const at = messages.findLastIndex(hasToolCalls)
  const turn = messages[at]
  const answered = new Set(messages.slice(at + 1).flatMap((message) => (isToolResult(message) ? [message.toolCallId] : [])))
  const calls = turn !== undefined && hasToolCalls(turn) ? turn.toolCalls.map(({ id }) => id) : []
  return new Map([
    ...calls.filter((id) => !answered.has(id)).map((id) => [id, undefined] as const),
    ...waiting.pending.map((item) => [idOnPage(item), item] as const),
  ])
}

/** Returns the calls of a message with their states. Removes these calls from `open`. */
function callsOf(
  message: AssistantMessage,
  results: ReadonlyMap<string, ToolResultMessage>,
  open: Map<string, PendingItem | undefined>,
  agents: ReadonlyMap<string, string>,
): ShownCall[] {
  if (!hasToolCalls(message)) return []
  return message.toolCalls.map((call) => {
    const pending = open.get(call.id)
    const waitingAgent = agents.get(call.id)
    if (open.delete(call.id)) return { call, pending, waitingAgent }
    const result = results.get(call.id)
    return { call, result }
  })
}

/** Returns a separate call for a pending item that belongs to no call of the conversation, such as an item of a nested agent. */
function asOwnCall(pending: PendingItem | undefined): ShownCall[] {
  if (pending === undefined || (isOwnCall(pending) && pending.kind !== 'approval')) return []
  const { tool: name, args } = pending
  return [{ call: { id: idOnPage(pending), type: 'function', function: { name, arguments: JSON.stringify(args) } }, pending }]
}
