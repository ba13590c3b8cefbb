import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'

/**
 * Stores conversations for `Sessions`. Each call is one transaction: it happens completely or not at all, and is durable when it resolves.
 * An instance owns the claims that are made through it. Claims of a dead process or a closed instance don't block other runs. Messages,
 * compactions and drafts are JSON texts, which stores don't parse.
 *
 * Contract: all methods are awaited. They reject with `session_failed` if the store can't be read or written. At the start of a run, this
 * error rejects the run. At the end of a run, the run rejects with a `RunError` that has the result.
 */
export interface SessionStore {
  /**
   * Claims the session for a run, until `commit`, `pause` or `unclaim`. Creates the session if it does not exist, unless `request.session`
   * names an existing session by its number.
   */
  claim(id: string, request: ClaimRequest): Promise<Claimed | NotClaimed>
  /** Appends the run's messages, stores the compaction, and releases the session. */
  commit(claim: Claim, added: Added): Promise<Kept>
  /** Stores the draft of a run that waits for a decision, separately from the conversation. Only this run can then claim the session. */
  pause(claim: Claim, draft: Draft): Promise<Kept>
  /** Releases a session without adding anything. Deletes it if it was created for the run. Does nothing if the claim was lost. */
  unclaim(claim: Claim, options: UnclaimOptions): Promise<void>
  /**
   * Takes the session away from the run that has it, after appending these messages. Messages that the run adds later are not stored.
   * Resolves with false if the run does not have the session. `outcome`: the `kind` with which later claims of the run are refused. Pass
   * `'stored'` if `added` has all messages of the run.
   */
  release(id: string, runId: string, added: Added, outcome: 'stored' | 'released'): Promise<boolean>
  /**
   * Returns the messages of a session from position `from` up to, but not including, `to`. `session`: the number or id of the session.
   * Returns an empty list if there is no such session.
   */
  read(session: string | number, range: { from?: number; to?: number }): Promise<string[]>
  /** Appends messages outside a run. Creates the session if it does not exist. `isNew`: appends only if the session does not exist. */
  append(id: string, messages: readonly string[], options: AppendOptions): Promise<Appended | NotClaimed>
  get(id: string): Promise<StoredSession | undefined>
  list(query: SessionQuery): Promise<SessionPage>
  /** Deletes a session and everything stored with it, even if a run has it. */
  delete(id: string): Promise<boolean>
  /**
   * Deletes sessions that have not changed for this many milliseconds, except sessions that a run has. Resolves with the number of deleted
   * sessions. May take several transactions.
   */
  prune(olderThanMs: number): Promise<number>
  /** Releases all claims, except those of durable runs. Later calls reject with `session_failed`. */
  close(): Promise<void>
}

/** A run's request to claim a session. */
export interface ClaimRequest {
  runId: string
  /**
   * Whether the run is recorded in a journal. Such a run keeps its claim when its process dies, until the run has been resumed and has
   * ended.
   */
  durable: boolean
  /**
   * The number of the execution of a recorded run; see `Durable.epoch`. A claim is refused if its epoch is lower than the epoch of the
   * run's last claim.
   */
  epoch?: number
  /** The number of a resumed run's session. A later session with the same id has another number. */
  session?: number
  /**
   * Identifies the pending calls of the state from which a run is resumed. The session is marked as resumed until the run has ended or
   * paused.
   */
  waitsFor?: string
  /** Whether to claim the session even if a dead process has marked it as resumed. */
  again?: boolean
}

/** Options for releasing a session. */
export interface UnclaimOptions {
  /** True if the run has not ended and keeps the session until it is resumed. */
  keeps: boolean
  /** True if nothing was carried out since the claim. The session is then no longer marked as resumed. */
  untouched?: boolean
}

/** A run's claim on a session. Each claim has a new `token`; the holder of an older token has lost the session. */
export interface Claim {
  id: string
  runId: string
  token: string
}

/** The result of a successful claim. */
export interface Claimed {
  kind: 'claimed'
  token: string
  /** A number that distinguishes the session from those created later under the same id. */
  session: number
  /** The number of messages in the session. */
  length: number
  compaction?: string
}

/** The reason why a run can't claim the session. */
export type NotClaimed =
  /**
   * Another run has the session, or another caller has started the same run. `alive`: whether the process of the run that has the session
   * is alive. A dead process blocks the session only if its run is durable.
   */
  | { kind: 'busy'; runId: string; durable: boolean; alive: boolean }
  /**
   * A run that waits for a decision has the session. The same run is also refused if it waits for other decisions, or if a process that has
   * since died resumed it at `resumedAt`.
   */
  | { kind: 'waiting'; runId: string; resumedAt?: number }
  /** A later execution of the run has the session, perhaps in another process. */
  | { kind: 'taken_over'; runId: string }
  /** The run's messages are already stored in the session. */
  | { kind: 'stored'; runId: string }
  /** The session was taken away from the run. */
  | { kind: 'released'; runId: string }
  /** The requested session does not exist. */
  | { kind: 'gone' }

/** The messages a run has added. */
export interface Added {
  messages: readonly string[]
  /** The new compaction. If absent, the old compaction is kept, or removed if `at` is set. */
  compaction?: string
  /**
   * The position of the first message to replace. This message and all messages after it are deleted before the new messages are appended.
   * If absent, no messages are deleted.
   */
  at?: number
}

/** The state of a waiting run. */
export interface Draft {
  /** Identifies the pending calls. */
  waitsFor: string
  value: string
}

/** Whether the messages were stored. `stored`: they were in the session already. `lost`: the run no longer has the session. */
export type Kept = 'kept' | 'stored' | 'lost'

/** Options for appending messages outside of a run. */
export interface AppendOptions {
  isNew: boolean
  compaction?: string
}
/** The result of `append`. */
export type Appended = { kind: 'appended' } | { kind: 'exists' }

/** `running` while a run is using the session, `waiting` while a run in it waits for a decision, otherwise `idle`. */
export type SessionStatus = 'idle' | 'running' | 'waiting'

/** A session in a list. Times are in milliseconds since 1970. */
export interface SessionSummary {
  id: string
  status: SessionStatus
  /** The run that is running or waiting in the session. */
  runId?: string
  /** Number of messages in the session, without the messages of a run that is running or waiting in it. */
  messageCount: number
  createdAt: number
  /** When a run or an `append` last added messages. */
  updatedAt: number
}

/** A session, as a store returns it. */
export interface StoredSession extends SessionSummary {
  /** A number that distinguishes the session from those created later under the same id. */
  session: number
  compaction?: string
  /** The draft of the waiting run. Absent if no run waits. */
  draft?: string
  /** When the waiting run was resumed, in milliseconds since 1970. Set until the run has ended or paused again. */
  resumedAt?: number
}

/** Selects sessions for a list, last changed first. */
export interface SessionQuery {
  /** A prefix of the ids, such as `'user-17/'`. */
  prefix?: string
  status?: SessionStatus
  /** Only sessions updated at this time or later, in milliseconds since 1970. */
  updatedAfter?: number
  updatedBefore?: number
  /** Default 50, at most 1000. */
  limit?: number
  /** The `next` of the previous page. */
  cursor?: string
}

/** One page of a list of sessions. */
export interface SessionPage {
  sessions: SessionSummary[]
  /** The cursor of the next page. Absent on the last page. */
  next?: string
}

/** The run that holds a session. */
export interface Hold {
  runId: string
  durable: boolean
  /** The epoch of the last claim, if the claim had one. */
  epoch: number | undefined
  /** Whether the process of the run is alive. */
  alive: boolean
  /** Identifies the pending calls of the run. Undefined if the run has not paused. */
  waitsFor: string | undefined
  /** When the run was resumed from its pause, in milliseconds since 1970. Undefined if it was not resumed. */
  resumedAt: number | undefined
}

type InTheWay = Extract<NotClaimed, { kind: 'busy' | 'waiting' | 'taken_over' }>

/**
 * Returns the reason why a session can't be claimed. Undefined if it can be claimed. The rules are the same in every store. A run whose
 * process has died blocks other runs only if it waits or is recorded in a journal. A run that its journal resumes gets its session again,
 * unless a later execution has had it. A paused run gets its session again if it is resumed for the first time or with `again`.
 */
export function refusalOf(hold: Hold | undefined, request?: ClaimRequest): InTheWay | undefined {
  if (hold === undefined) return undefined
  const { runId, durable, epoch, alive, waitsFor, resumedAt } = hold
  const isWaiting = !alive && waitsFor !== undefined
  if (!isWaiting && !alive && !durable) return undefined
  const isMine = request?.runId === runId
  // A process that was suspended may claim the session although another process has continued its run.
  if (isMine && request.durable && (request.epoch ?? Number.POSITIVE_INFINITY) < (epoch ?? 0)) return { kind: 'taken_over', runId }
  const isFromHere = isWaiting && request?.waitsFor === waitsFor
  if (isMine && (request.durable || (isFromHere && (resumedAt === undefined || request.again === true)))) return undefined
  if (!isWaiting) return { kind: 'busy', runId, durable, alive }
  return { kind: 'waiting', runId, ...(resumedAt === undefined || (isMine && !isFromHere) ? {} : { resumedAt }) }
}

export function statusOf(hold: Hold | undefined): SessionStatus {
  const refused = refusalOf(hold)
  if (refused === undefined) return 'idle'
  return refused.kind === 'waiting' ? 'waiting' : 'running'
}

/** Maximum number of sessions on a page. */
export const mostSessions = 1000

/** The position where a page begins: after the session with this time and this number. */
export interface Cursor {
  updatedAt: number
  session: number
}

export function cursorText({ updatedAt, session }: Cursor): string {
  return `${updatedAt}.${session}`
}

/** Parses a cursor. Throws `invalid_option` if it is invalid. */
export function cursorFrom(cursor: string): Cursor {
  const [, updatedAt, session] = /^(\d{1,16})\.(\d{1,16})$/.exec(cursor) ?? []
  if (session === undefined) throw new InvalidOptionError('cursor', 'the `next` of an earlier page', cursor)
  return { updatedAt: Number(updatedAt), session: Number(session) }
}

export function closedStore(): ToolloopError {
  return new ToolloopError('session_failed', 'The sessions can’t be used: they were closed')
}
