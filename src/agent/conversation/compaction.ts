import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import { type MessageInput, toChatMessages } from '../../core/message-input.ts'
import { type ChatMessage, isJsonObject, isToolResult, type ToolResultMessage, textOf } from '../../core/messages.ts'
import { estimateTokens } from '../../models/usage.ts'
import { leftOutText, readLeftOut, shortenedText } from '../run-texts.ts'

/** Determines which messages are left out when a conversation is sent. The object is plain data. */
export interface Compaction {
  /** Messages before this position are left out, except system messages and the current task. */
  from: number
  /** Long results before this position are shortened. */
  shortenBefore: number
  /** A summary of the messages that are left out. */
  summary?: string
}

/** The size limit of a conversation, and the function that estimates the size. */
export interface CompactionSize {
  /** The size to reduce the conversation to, in tokens. */
  tokens: number
  /**
   * Estimates the tokens of a message. Default: `estimateTokens`.
   *
   * Contract: not awaited. `compactMessages` passes on its errors.
   */
  estimate?(message: ChatMessage): number
}

export const noCompaction: Compaction = { from: 0, shortenBefore: 0 }

/** Whether a stored value is a compaction. */
export function isCompaction(value: unknown): value is Compaction {
  if (!isJsonObject(value)) return false
  const { from, shortenBefore, summary } = value
  const arePositions = [from, shortenBefore].every((position) => Number.isSafeInteger(position) && Number(position) >= 0)
  return arePositions && (summary === undefined || typeof summary === 'string')
}

/** The size limit, in characters, of an old result that was shortened. */
const shortResult = 1_000

/** Returns the messages to send. Keeps system messages and the current task, and never separates calls from their results. */
export function compacted(messages: readonly ChatMessage[], { from, shortenBefore, summary }: Compaction): readonly ChatMessage[] {
  if (from === 0 && shortenBefore === 0) return messages
  const kept: ChatMessage[] = []
  const task = taskBefore(messages, from)
  let leftOut = 0
  for (let at = 0; at < from; at++) {
    const message = messages[at]
    if (message === undefined || isKept(message, at, task)) continue
    leftOut += readNotice(message)?.count ?? 1
  }
  for (let at = 0; at < from; at++) {
    const message = messages[at]
    if (message?.role === 'system') kept.push(message)
  }
  if (leftOut > 0) kept.push(notice(leftOut, summary))
  const asked = task === undefined ? undefined : messages[task]
  if (asked !== undefined) kept.push(asked)
  for (let at = from; at < messages.length; at++) {
    const message = messages[at]
    if (message !== undefined) kept.push(at < shortenBefore && isToolResult(message) ? shortened(message) : message)
  }
  return kept
}

/**
 * Chooses what else to leave out so that the conversation fits. Shortens old results first, then leaves out the oldest messages. The newest
 * messages stay, even if they alone are too long. Returns `current` if nothing more can be left out.
 */
export function chooseCompaction(
  messages: readonly ChatMessage[],
  current: Compaction,
  { tokens, estimate = estimateTokens }: CompactionSize,
): Compaction {
  const fits = (compaction: Compaction) => sizeOf(compacted(messages, compaction), estimate) <= tokens
  const starts = roundStarts(messages)
  const last = starts.at(-1) ?? 0
  const shorter = shortensAny(messages, current, last) ? { ...current, shortenBefore: last } : current
  if (fits(shorter)) return shorter
  const cuts = starts.filter((start) => start > current.from && leavesOutMore(messages, current.from, start))
  // Each cut leaves fewer messages than the previous cut, so a binary search finds the first cut that fits.
  let [low, high] = [0, cuts.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (fits({ ...shorter, from: cuts[middle] ?? 0 })) high = middle
    else low = middle + 1
  }
  const cut = cuts[low]
  return cut === undefined ? shorter : { ...shorter, from: cut }
}

/** The messages that `next` leaves out and `current` does not, preceded by the summary of `current`. */
export function newlyLeftOut(messages: readonly ChatMessage[], current: Compaction, next: Compaction): ChatMessage[] {
  const task = taskBefore(messages, next.from)
  const out = messages.slice(current.from, next.from).filter((message, at) => !isKept(message, at + current.from, task))
  return current.summary === undefined ? out : [notice(current.from, current.summary), ...out]
}

/** The summaries of earlier compactions, joined into one text. */
export function earlierSummary(messages: readonly ChatMessage[]): string | undefined {
  const told = messages.flatMap((message) => readNotice(message)?.summary ?? [])
  return told.length === 0 ? undefined : told.join('\n')
}

/** Whether one of the messages is the notice that earlier messages were left out. */
export function leavesOut(messages: readonly ChatMessage[]): boolean {
  return messages.some((message) => readNotice(message) !== undefined)
}

export function sizeOf(messages: readonly ChatMessage[], estimate: (message: ChatMessage) => number = estimateTokens): number {
  return messages.reduce((sum, message) => sum + estimate(message), 0)
}

/**
 * Wraps the caller's `estimate` with a check. The wrapped function throws `invalid_option` if `estimate` does not return a number of
 * tokens, and passes on errors of `estimate`.
 */
export function checkedEstimate(estimate: CompactionSize['estimate']): ((message: ChatMessage) => number) | undefined {
  if (estimate === undefined) return undefined
  return (message) => {
    const tokens: unknown = syncAnswer('estimate', estimate(message))
    if (typeof tokens !== 'number' || !(tokens >= 0))
      throw new InvalidOptionError('estimate', 'a function that returns a number ≥ 0', tokens)
    return tokens
  }
}

/**
 * Shortens a conversation to at most the given number of tokens. Shortens old results first, then leaves out the oldest messages. Keeps
 * system messages and the task. Returns the whole conversation if it fits. Shortening the result again changes nothing. The newest messages
 * stay, even if they alone are too long. Throws `invalid_message`, and rethrows any error of `estimate`.
 */
export function compactMessages(given: readonly MessageInput[], size: CompactionSize): readonly ChatMessage[] {
  const messages = toChatMessages(given)
  const estimate = checkedEstimate(size.estimate)
  if (sizeOf(messages, estimate) <= size.tokens) return messages
  const plan = chooseCompaction(messages, noCompaction, { ...size, estimate })
  const summary = earlierSummary(messages.slice(0, plan.from))
  return compacted(messages, summary === undefined ? plan : { ...plan, summary })
}

/**
 * The positions where the conversation can be cut without separating a call from its result: before any message except results and system
 * messages.
 */
function roundStarts(messages: readonly ChatMessage[]): number[] {
  return messages.flatMap((message, at) => (isToolResult(message) || message.role === 'system' ? [] : [at]))
}

/**
 * The position of the last user message before `from`, which is the task that the messages after `from` work on. Undefined if the messages
 * from `from` on include a user message.
 */
function taskBefore(messages: readonly ChatMessage[], from: number): number | undefined {
  const isTask = (message: ChatMessage) => message.role === 'user' && readNotice(message) === undefined
  if (messages.slice(from).some(isTask)) return undefined
  const at = messages.slice(0, from).findLastIndex(isTask)
  return at === -1 ? undefined : at
}

function isKept(message: ChatMessage, at: number, task: number | undefined): boolean {
  return message.role === 'system' || at === task
}

function leavesOutMore(messages: readonly ChatMessage[], from: number, to: number): boolean {
  const task = taskBefore(messages, to)
  return messages.slice(from, to).some((message, at) => !isKept(message, at + from, task) && readNotice(message) === undefined)
}

function shortensAny(messages: readonly ChatMessage[], { from, shortenBefore }: Compaction, to: number): boolean {
  return messages.slice(Math.max(from, shortenBefore), to).some((message) => isToolResult(message) && shortened(message) !== message)
}

const short = new WeakMap<ToolResultMessage, ToolResultMessage>()

/**
 * Cuts the middle out of a long result. Returns the same object for the same result, so that a provider's cache of converted messages
 * works.
 */
function shortened(message: ToolResultMessage): ToolResultMessage {
  const known = short.get(message)
  if (known !== undefined) return known
  const text = textOf(message.content)
  const isShort =
    text.length <= shortResult && (typeof message.content === 'string' || message.content.every(({ type }) => type === 'text'))
  const result = isShort ? message : Object.freeze({ ...message, content: shortText(text) })
  if (Object.isFrozen(message)) short.set(message, result)
  return result
}

function shortText(text: string): string {
  if (text.length <= shortResult) return text
  const half = shortResult / 2 - 50
  return `${text.slice(0, half)}${shortenedText(text.length - 2 * half)}${text.slice(-half)}`.toWellFormed()
}

function notice(count: number, summary: string | undefined): ChatMessage {
  return Object.freeze({ role: 'user', content: leftOutText(count, summary) })
}

function readNotice({ role, content }: ChatMessage): { count: number; summary?: string } | undefined {
  return role === 'user' && typeof content === 'string' ? readLeftOut(content) : undefined
}
