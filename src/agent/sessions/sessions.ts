import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError, messageOf, show, ToolloopError } from '../../core/errors.ts'
import { type MessageInput, toChatMessage, toChatMessages } from '../../core/message-input.ts'
import { type ChatMessage, isJsonObject, storedText, toolMessage } from '../../core/messages.ts'
import { type Compaction, isCompaction } from '../conversation/compaction.ts'
import { History } from '../conversation/history.ts'
import { messageIdOf } from '../conversation/message-id.ts'
import { takenOver } from '../journal/store.ts'
import { uncertainText } from '../run-texts.ts'
import type { PendingItem } from '../types/result.ts'
import { checkId } from './session-options.ts'
import {
  mostSessions,
  type NotClaimed,
  type SessionPage,
  type SessionQuery,
  type SessionStore,
  type SessionSummary,
  type StoredSession,
} from './session-store.ts'

/** A stored session. */
export interface Session extends SessionSummary {
  /** The run that waits for a decision, if the status is `waiting`. */
  waiting?: WaitingRun
}

/** A run of a session that waits for a decision. */
export interface WaitingRun {
  runId: string
  /** When the run started to wait, in milliseconds since 1970. */
  since: number
  pending: PendingItem[]
  /** The run's input and all later messages. They are added to the session when the run ends. */
  messages: ChatMessage[]
  /**
   * The position of the first message of the session that these messages replace. See `replaces` of a run's `session`. If absent, these
   * messages are appended.
   */
  at?: number
  /** When the run was resumed, in milliseconds since 1970. Absent if the run has ended or paused since then. See `again` of `resume`. */
  resumedAt?: number
}

/** Selects messages to read. */
export interface ReadOptions {
  /** The position of the first message, from 0. Default 0. */
  from?: number
  /** The position after the last message. Default: the number of messages. */
  to?: number
}

/** Options for forking a session. */
export interface ForkOptions {
  /** The first message that the fork leaves out: its position, or the `id` of a user's message. Default: the fork has all messages. */
  at?: number | string
  /** The id of the fork. Default: random. */
  to?: string
}

const queryNames: OptionNames<SessionQuery> = {
  prefix: true,
  status: true,
  updatedAfter: true,
  updatedBefore: true,
  limit: true,
  cursor: true,
}
const readNames: OptionNames<ReadOptions> = { from: true, to: true }
const forkNames: OptionNames<ForkOptions> = { at: true, to: true }
const pruneNames: OptionNames<{ olderThanMs: number }> = { olderThanMs: true }
const statuses: readonly unknown[] = ['idle', 'running', 'waiting']

/**
 * Stored conversations, called sessions. Pass the object to a runner as `sessions`, and continue a session with
 * `run(input, { session: id })`. Use `memorySessions`, `sqliteSessions` or `postgresSessions`, or `new Sessions(store)` with a store of
 * your own.
 *
 * An id is any text of 1 to 512 UTF-16 code units, without NUL and lone surrogates. Every method rejects with `invalid_option` for any
 * other id, and with `session_failed` if the store can't be read or written.
 */
export class Sessions {
  /** The underlying store. */
  readonly store: SessionStore

  constructor(store: SessionStore) {
    this.store = store
  }

  /** Lists sessions, last changed first, one page at a time. */
  async list(query: SessionQuery = {}): Promise<SessionPage> {
    checkOptionNames(query, queryNames, '`sessions.list`')
    const { prefix, status, limit = 50 } = query
    if (prefix !== undefined && (typeof prefix !== 'string' || prefix.includes('\0') || !prefix.isWellFormed()))
      throw new InvalidOptionError('prefix', 'what ids begin with', prefix)
    if (status !== undefined && !statuses.includes(status)) throw new InvalidOptionError('status', "'idle', 'running' or 'waiting'", status)
    for (const option of ['updatedAfter', 'updatedBefore'] as const) {
      const time = query[option]
      if (time !== undefined && !Number.isSafeInteger(time)) throw new InvalidOptionError(option, 'milliseconds since 1970', time)
    }
    checkCount('limit', limit, 1)
    return this.store.list({ ...query, limit: Math.min(limit, mostSessions) })
  }

  /** Returns one session. Undefined if it does not exist. */
  async get(id: string): Promise<Session | undefined> {
    checkId(id)
    const kept = await this.store.get(id)
    if (kept === undefined) return undefined
    const { session: _n, compaction: _c, draft, resumedAt, ...summary } = kept
    if (draft === undefined || summary.status !== 'waiting' || summary.runId === undefined) return summary
    const resumed = resumedAt === undefined ? {} : { resumedAt }
    return { ...summary, waiting: { runId: summary.runId, ...readDraft(id, draft), ...resumed } }
  }

  /**
   * Returns the messages, including messages that a compaction leaves out of requests. Messages of a run that has not ended are not
   * included. Empty if there is no such session.
   */
  async read(id: string, { from = 0, to, ...others }: ReadOptions = {}): Promise<ChatMessage[]> {
    checkId(id)
    checkOptionNames(others, readNames, '`sessions.read`')
    checkCount('from', from, 0)
    if (to !== undefined) checkCount('to', to, 0)
    return readMessages(id, await this.store.read(id, { from, to }), from)
  }

  /**
   * Appends messages outside a run, such as messages of an imported conversation or of a person who has taken over. Creates the session if
   * it does not exist. A call without a result gets a substitute result. Rejects with `invalid_message`, and with `session_busy` or
   * `session_waiting` if a run has the session.
   */
  async append(id: string, messages: readonly MessageInput[]): Promise<void> {
    checkId(id)
    const appended = await this.store.append(id, textsOf(healed(messages)), { isNew: false })
    if (appended.kind !== 'appended') throw notClaimed(id, appended as NotClaimed)
  }

  /**
   * Copies a session, or its first messages, and resolves with the copy's id. A call whose result is beyond `at` gets a substitute result.
   * Messages of a run that has not ended are not copied. Rejects with `unknown_session`, and with `invalid_option` for an invalid position
   * or id.
   */
  async fork(id: string, { at, to = `session_${crypto.randomUUID()}`, ...others }: ForkOptions = {}): Promise<string> {
    checkId(id)
    checkId(to, 'to')
    checkOptionNames(others, forkNames, '`sessions.fork`')
    const kept = await this.store.get(id)
    if (kept === undefined) throw unknownSession(id)
    const { session, messageCount, compaction } = kept
    const count = (typeof at === 'string' ? await positionOf(this.store, kept, at) : at) ?? (at === undefined ? messageCount : -1)
    if (!Number.isSafeInteger(count) || count < 0 || count > messageCount)
      throw new InvalidOptionError('at', `a position from 0 to ${messageCount}, or the id of a user’s message`, at)
    const texts = await this.store.read(session, { from: 0, to: count })
    // If the session was deleted during the read, messages may be missing.
    if (texts.length < count && (await this.store.get(id))?.session !== session) throw unknownSession(id)
    const messages = readMessages(id, texts, 0)
    // A compaction that reaches beyond the copied messages is not copied.
    const isWithin = compaction !== undefined && reachOf(readCompaction(id, compaction)) <= count
    const options = { isNew: true, ...(isWithin ? { compaction } : {}) }
    const appended = await this.store.append(to, textsOf(healed(messages)), options)
    if (appended.kind !== 'appended') throw new InvalidOptionError('to', 'an id that no session has', to)
    return to
  }

  /**
   * Takes the session away from the run that is running or waiting in it. Resolves with true if there was such a run. The messages of a
   * waiting run are stored, with its pending calls unanswered. Messages that the run adds later are not stored. Use this for a run that
   * will never end, such as a waiting run whose state is lost.
   */
  async release(id: string): Promise<boolean> {
    checkId(id)
    const kept = await this.store.get(id)
    if (kept?.runId === undefined) return false
    const { messages, pending, at }: DraftOfRun = kept.draft === undefined ? { messages: [], pending: [] } : readDraft(id, kept.draft)
    // If the run was resumed and has not ended, nobody knows whether its calls ran.
    const uncertain = pending.map(({ toolCallId, tool }) => toolMessage({ id: toolCallId, name: tool }, uncertainText(tool), false))
    const results = kept.resumedAt === undefined ? [] : uncertain
    const added = { messages: textsOf(healed([...messages, ...results])), at }
    return this.store.release(id, kept.runId, added, 'released')
  }

  /**
   * Deletes a session with everything stored in it. Resolves with true if the session existed. If a run is still running in the session,
   * its messages are not stored.
   */
  async delete(id: string): Promise<boolean> {
    checkId(id)
    return this.store.delete(id)
  }

  /**
   * Deletes sessions that have not changed for `olderThanMs` milliseconds, except sessions that a run has. Resolves with the number of
   * deleted sessions.
   */
  async prune(which: { olderThanMs: number }): Promise<number> {
    checkOptionNames(which, pruneNames, '`sessions.prune`')
    const { olderThanMs } = which
    if (typeof olderThanMs !== 'number' || !(olderThanMs >= 0)) throw new InvalidOptionError('olderThanMs', 'milliseconds ≥ 0', olderThanMs)
    return this.store.prune(olderThanMs)
  }

  /** Closes the store. Releases the sessions of active runs, so that other runs can use them. Sessions of recorded runs stay locked. */
  async close(): Promise<void> {
    await this.store.close()
  }
}

function checkCount(option: string, value: unknown, least: number): void {
  if (!Number.isSafeInteger(value) || Number(value) < least) throw new InvalidOptionError(option, `an integer ≥ ${least}`, value)
}

export function healed(messages: readonly MessageInput[]): ChatMessage[] {
  return new History(toChatMessages(messages)).slice()
}

export function textsOf(messages: readonly ChatMessage[]): string[] {
  return messages.map((message) => JSON.stringify(message))
}

/** Parses stored messages. The first message is at position `from`. Throws `session_failed` for an invalid message. */
export function readMessages(id: string, texts: readonly string[], from: number): ChatMessage[] {
  return texts.map((text, at) => readStored(id, `message ${from + at}`, () => toChatMessage(JSON.parse(text), 'it')))
}

/** The number of messages at the start of the conversation that a compaction affects. */
export function reachOf({ from, shortenBefore }: Compaction): number {
  return Math.max(from, shortenBefore)
}

export function readCompaction(id: string, text: string): Compaction {
  return readStored(id, 'compaction', () => {
    const value: unknown = JSON.parse(text)
    if (!isCompaction(value)) throw new TypeError(`Expected positions, got ${show(value)}`)
    return value
  })
}

type DraftOfRun = Pick<WaitingRun, 'messages' | 'pending' | 'at'>

/** Parses the text that `draftText` wrote. Throws `session_failed` for any other text. */
function readDraft(id: string, text: string): Omit<WaitingRun, 'runId' | 'resumedAt'> {
  return readStored(id, 'run that waits', () => {
    const value: unknown = JSON.parse(text)
    const isDraft = isJsonObject(value) && typeof value.since === 'number' && Array.isArray(value.pending)
    if (!isDraft) throw new TypeError(`Expected the state or result of a run, got ${show(value)}`)
    const { since, pending, messages, at } = value
    const place = typeof at === 'number' ? { at } : {}
    return { since: since as number, pending: pending as never, messages: [...toChatMessages(messages as never)], ...place }
  })
}

export function draftText(draft: Omit<WaitingRun, 'runId'>): string {
  return storedText(draft)
}

/** How many messages a search reads at a time. The message to find is nearly always among the last messages. */
const searchedAtOnce = 100

/**
 * The position of the user's message with this id, as `messageIdOf` returns it. If the message belongs to the waiting run, the position at
 * which that run starts. Undefined if there is no such message.
 */
export async function positionOf(store: SessionStore, kept: StoredSession, messageId: string): Promise<number | undefined> {
  const { id, session, messageCount, draft } = kept
  const waiting: DraftOfRun | undefined = draft === undefined ? undefined : readDraft(id, draft)
  const start = waiting?.at ?? messageCount
  const isIt = (message: ChatMessage, at: number): boolean => message.role === 'user' && messageIdOf(message, at) === messageId
  if (waiting?.messages.some((message, index) => isIt(message, start + index))) return start
  for (let to = messageCount; to > 0; to -= searchedAtOnce) {
    const from = Math.max(0, to - searchedAtOnce)
    const messages = readMessages(id, await store.read(session, { from, to }), from)
    const found = messages.findLastIndex((message, index) => isIt(message, from + index))
    if (found >= 0) return from + found
  }
  return undefined
}

function readStored<T>(id: string, what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new ToolloopError('session_failed', `The ${what} of session \`${id}\` can’t be read: ${messageOf(error)}`, { cause: error })
  }
}

function unknownSession(id: string): ToolloopError {
  return new ToolloopError('unknown_session', `Expected the id of a session, got \`${id}\``)
}

/** The error for a session that can't be claimed. */
export function notClaimed(id: string, refused: NotClaimed, problem?: string): ToolloopError {
  const where = `session \`${id}\``
  switch (refused.kind) {
    case 'busy': {
      const run = `Run \`${refused.runId}\` is in progress in ${where}`
      const why = problem === undefined ? '' : ` (${problem})`
      const dead = `Run \`${refused.runId}\` of ${where} has broken off${why}: recover it with its journal, or \`release\` the session`
      return new ToolloopError('session_busy', refused.alive ? run : dead)
    }
    case 'waiting': {
      const run = `Run \`${refused.runId}\` of ${where}`
      const waits = `${run} waits for a decision: resume or cancel it, or \`release\` the session`
      const resumed = `${run} was resumed and came to no end: resume it with \`again: true\`, or \`release\` the session`
      return new ToolloopError('session_waiting', refused.resumedAt === undefined ? waits : resumed)
    }
    case 'gone':
      return new ToolloopError('session_lost', `The ${where} was deleted`)
    case 'released':
      return new ToolloopError('session_lost', `The ${where} was taken from run \`${refused.runId}\``)
    case 'taken_over':
      return takenOver(refused.runId)
    case 'stored':
      return new InvalidOptionError('runId', `that of a new run of ${where}`, refused.runId)
  }
}
