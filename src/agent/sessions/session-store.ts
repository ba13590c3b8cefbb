import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'

/**
 * Stores conversations for `Sessions`. Each call is one transaction: it happens as a whole, and has outlived the process when it resolves.
 * One instance is one owner of claims; those of a process that dies, or of an instance that is closed, hold nobody up. Messages,
 * compactions and drafts are JSON texts, which no store looks into. Rejects with `session_failed` where the store can't be read or written.
 */
export interface SessionStore {
  /** Makes the session the run's, until `commit`, `pause` or `unclaim`. The session is made if it is not there, unless a certain one is asked for. */
  claim(id: string, request: ClaimRequest): Promise<Claimed | NotClaimed>
  /** Appends what the run has added, keeps the compaction, and lets go of the session. */
  commit(claim: Claim, added: Added): Promise<Kept>
  /** The run waits for a decision: keeps what it has come to beside the conversation. Nobody but the run can claim the session then. */
  pause(claim: Claim, draft: Draft): Promise<Kept>
  /** Lets go of a session to which nothing is added; one that was made for the run is deleted. Does nothing where the claim is lost. */
  unclaim(claim: Claim, options: UnclaimOptions): Promise<void>
  /**
   * Takes the session from the run that has it, which has added these; what it adds later is not kept. False if the run does not have it.
   * `outcome`: what later claims of the run are told. `'stored'`: these are all its messages.
   */
  release(id: string, runId: string, added: Added, outcome: 'stored' | 'released'): Promise<boolean>
  /** Messages `from` to `to`, without the latter, of the session with that number, or of that id. Of one that is not there, none. */
  read(session: string | number, range: { from?: number; to?: number }): Promise<string[]>
  /** Appends outside of runs; the session is made if it is not there. `isNew`: only where it is not there. */
  append(id: string, messages: readonly string[], options: AppendOptions): Promise<Appended | NotClaimed>
  get(id: string): Promise<StoredSession | undefined>
  list(query: SessionQuery): Promise<SessionPage>
  /** Deletes a session with all that is kept of it, whoever has it. */
  delete(id: string): Promise<boolean>
  /** Deletes sessions that have not changed for so long, but for those that a run has. Resolves with how many. May take several transactions. */
  prune(olderThanMs: number): Promise<number>
  /** Lets go of all claims, but for those of durable runs. Later calls reject with `session_failed`. */
  close(): Promise<void>
}

/** The run that claims a session. */
export interface ClaimRequest {
  runId: string
  /** The run is recorded in a journal: what it claims stays its own when its process dies, until it has been taken up and has ended. */
  durable: boolean
  /** Which execution of a recorded run this is: see `Durable.epoch`. One with a lower number than the run's last claim is refused. */
  epoch?: number
  /** Of a run that is taken up again: the session it had, and no other of the same id. */
  session?: number
  /** Of a run that is resumed from a state: what it waited for then. From then on the session is marked as resumed, until the run has come to something. */
  waitsFor?: string
  /** Also where it is marked so by a process that has died. */
  again?: boolean
}

/** How a session is released. */
export interface UnclaimOptions {
  /** The run has not ended, and the session stays its own, as if its process had died. */
  keeps: boolean
  /** Nothing was carried out since the claim, which has marked the session as resumed: it is no more. */
  untouched?: boolean
}

/** A run that holds a session. `token` is a new one with each claim: who has an older one has lost the session. */
export interface Claim {
  id: string
  runId: string
  token: string
}

/** The session that a run now holds. */
export interface Claimed {
  kind: 'claimed'
  token: string
  /** The session's own number: one that is made under the id of a deleted one has another. */
  session: number
  /** How many messages it has. */
  length: number
  compaction?: string
}

/** Why a run can't have the session. */
export type NotClaimed =
  /** Another run has it, or another caller with the same run. `alive`: whether that one's process is. Of dead ones only those of durable runs count. */
  | { kind: 'busy'; runId: string; durable: boolean; alive: boolean }
  /** A run has it that waits for a decision; of the same run: for another one, or `resumedAt` that time by a process that has died. */
  | { kind: 'waiting'; runId: string; resumedAt?: number }
  /** A later execution of the run has it, in another process perhaps. */
  | { kind: 'taken_over'; runId: string }
  /** The run's messages are in it already. */
  | { kind: 'stored'; runId: string }
  /** It was taken from the run. */
  | { kind: 'released'; runId: string }
  /** The session that was asked for is not there. */
  | { kind: 'gone' }

/** The messages a run has added. */
export interface Added {
  messages: readonly string[]
  /** Absent: as it was; with `at`, none. */
  compaction?: string
  /** The position of the first message that is deleted, with all behind it, before these are appended. Absent: none is. */
  at?: number
}

/** The state of a waiting run. */
export interface Draft {
  /** The same for the same pending calls, and for no others. */
  waitsFor: string
  value: string
}

/** Whether the messages were stored. A run that is already in the session adds nothing more. */
export type Kept = 'kept' | 'stored' | 'lost'

/** How to append messages outside of a run. */
export interface AppendOptions {
  isNew: boolean
  compaction?: string
}
/** The result of `append`. */
export type Appended = { kind: 'appended' } | { kind: 'exists' }

/** `idle`, unless a run is using the session (`running`) or waits for a decision in it (`waiting`). */
export type SessionStatus = 'idle' | 'running' | 'waiting'

/** A session in a list. Times are in milliseconds since 1970. */
export interface SessionSummary {
  id: string
  status: SessionStatus
  /** The run that is going on in it, or waits. */
  runId?: string
  /** How many messages it has, without those of such a run. */
  messageCount: number
  createdAt: number
  /** When a run, or an `append`, added to it last. */
  updatedAt: number
}

/** A session, as a store returns it. */
export interface StoredSession extends SessionSummary {
  /** Its own number. */
  session: number
  compaction?: string
  /** Of a run that waits. */
  draft?: string
  /** When it was resumed, in milliseconds since 1970, without having come to something since. */
  resumedAt?: number
}

/** Which sessions to list, last changed first. */
export interface SessionQuery {
  /** What their ids begin with, such as `'user-17/'`. */
  prefix?: string
  status?: SessionStatus
  /** In milliseconds since 1970. */
  updatedAfter?: number
  updatedBefore?: number
  /** Default 50, at most 1000. */
  limit?: number
  /** The `next` of the page before. */
  cursor?: string
}

/** One page of a list of sessions. */
export interface SessionPage {
  sessions: SessionSummary[]
  /** Where the next page begins; absent on the last. */
  next?: string
}

/** The run that a session is kept for. */
export interface Hold {
  runId: string
  durable: boolean
  /** The execution that claimed it last, if its claim said so. */
  epoch: number | undefined
  /** Its process carries it out. */
  alive: boolean
  /** It has waited; what for. */
  waitsFor: string | undefined
  /** When it was resumed from that, if it was. */
  resumedAt: number | undefined
}

type InTheWay = Extract<NotClaimed, { kind: 'busy' | 'waiting' | 'taken_over' }>

/**
 * Why a session is not to be had, the same in every store: of dead processes only runs that wait, or are in a journal, count. A run may have
 * what is its own: one that its journal takes up again, unless a later execution has had it, and one that is resumed from what it waited for,
 * the first time or expressly again.
 */
export function refusalOf(hold: Hold | undefined, request?: ClaimRequest): InTheWay | undefined {
  if (hold === undefined) return undefined
  const { runId, durable, epoch, alive, waitsFor, resumedAt } = hold
  const isWaiting = !alive && waitsFor !== undefined
  if (!isWaiting && !alive && !durable) return undefined
  const isMine = request?.runId === runId
  // A process that stood still has lost its run, and wakes up in the middle of its claim.
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

/** How many sessions a page has at most. */
export const mostSessions = 1000

/** Where a page begins: behind the session with that time and number. */
export interface Cursor {
  updatedAt: number
  session: number
}

export function cursorText({ updatedAt, session }: Cursor): string {
  return `${updatedAt}.${session}`
}

/** Throws `invalid_option`. */
export function cursorFrom(cursor: string): Cursor {
  const [, updatedAt, session] = /^(\d{1,16})\.(\d{1,16})$/.exec(cursor) ?? []
  if (session === undefined) throw new InvalidOptionError('cursor', 'the `next` of an earlier page', cursor)
  return { updatedAt: Number(updatedAt), session: Number(session) }
}

export function closedStore(): ToolloopError {
  return new ToolloopError('session_failed', 'The sessions can’t be used: they were closed')
}
