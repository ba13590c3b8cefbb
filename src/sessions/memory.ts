import { type ExpiryOptions, expiryOf } from '../agent/sessions/session-options.ts'
import {
  type Added,
  type Appended,
  type AppendOptions,
  type Claim,
  type Claimed,
  type ClaimRequest,
  closedStore,
  cursorFrom,
  cursorText,
  type Draft,
  type Hold,
  type Kept,
  type NotClaimed,
  refusalOf,
  type SessionPage,
  type SessionQuery,
  type SessionStatus,
  type SessionStore,
  type SessionSummary,
  type StoredSession,
  statusOf,
  type UnclaimOptions,
} from '../agent/sessions/session-store.ts'
import { Sessions } from '../agent/sessions/sessions.ts'
import { checkOptionNames } from '../core/check-options.ts'
import { withoutUndefined } from '../core/messages.ts'
import { processClock } from '../core/time/process-clock.ts'

/**
 * Creates sessions in memory, for tests and for applications that can afford to lose conversations when the process ends. See
 * `sqliteSessions` and `postgresSessions` for conversations that survive the process. Throws `invalid_option` for invalid options.
 *
 * ```ts
 * const runner = new AgentRunner({ model, tools, sessions: memorySessions() })
 * await runner.run('My name is Ann.', { session: 'chat-1' })
 * const { output } = await runner.run('What is my name?', { session: 'chat-1' })
 * ```
 */
export function memorySessions(options: ExpiryOptions = {}): Sessions {
  checkOptionNames(options, { expireAfterMs: true }, '`memorySessions`')
  return new Sessions(new MemorySessionStore(new SessionMemory(), expiryOf(options)))
}

/** The run that holds a session. While the run is executed, it has an `owner` and a `token`. While it waits, it has a `draft` instead. */
interface EntryHold {
  runId: string
  durable: boolean
  epoch: number | undefined
  token: string | undefined
  owner: object | undefined
  draft: Draft | undefined
  resumedAt: number | undefined
}

interface Entry {
  session: number
  id: string
  messages: string[]
  compaction: string | undefined
  runs: Map<string, 'stored' | 'released'>
  hold: EntryHold | undefined
  createdAt: number
  updatedAt: number
}

/** The memory that several stores share, like a disk. It outlives a closed store. */
export class SessionMemory {
  /** Sessions by id, the most recently changed last. */
  readonly entries: Map<string, Entry> = new Map()
  readonly alive: Set<object> = new Set()
  made = 0
}

/** A store on the memory. Several stores on the same memory act like several processes. */
export class MemorySessionStore implements SessionStore {
  readonly #memory: SessionMemory
  readonly #expireAfterMs: number
  readonly #owner = {}

  constructor(memory: SessionMemory, expireAfterMs: number = Number.POSITIVE_INFINITY) {
    this.#memory = memory
    this.#expireAfterMs = expireAfterMs
    memory.alive.add(this.#owner)
  }

  async claim(id: string, request: ClaimRequest): Promise<Claimed | NotClaimed> {
    const { runId, durable, epoch, session } = request
    const found = this.#find(id)
    if (session !== undefined && found?.session !== session) return { kind: 'gone' }
    const outcome = found?.runs.get(runId)
    if (outcome !== undefined) return { kind: outcome, runId }
    const hold = found && this.#holdOf(found)
    const refused = refusalOf(hold, request)
    if (refused !== undefined) return refused
    const entry = found ?? this.#make(id)
    const token = crypto.randomUUID()
    // Keeps the draft of the waiting run until the resumed run has made a change. If its process dies before that, the run waits again.
    const { draft, resumedAt } = (statusOf(hold) === 'idle' ? undefined : found?.hold) ?? {}
    const resumed = resumedAt ?? (request.waitsFor === undefined ? undefined : processClock.now())
    entry.hold = { runId, durable, epoch, token, owner: this.#owner, draft, resumedAt: resumed }
    const { messages, compaction } = entry
    return { kind: 'claimed', token, session: entry.session, length: messages.length, compaction }
  }

  async commit(claim: Claim, added: Added): Promise<Kept> {
    const { entry, kept } = this.#claimed(claim)
    if (entry === undefined) return kept
    entry.runs.set(claim.runId, 'stored')
    this.#add(entry, added)
    return kept
  }

  async pause(claim: Claim, draft: Draft): Promise<Kept> {
    const { entry, kept } = this.#claimed(claim)
    if (entry?.hold !== undefined) entry.hold = { ...entry.hold, token: undefined, owner: undefined, draft, resumedAt: undefined }
    return kept
  }

  async unclaim(claim: Claim, { keeps, untouched }: UnclaimOptions): Promise<void> {
    const { entry } = this.#claimed(claim)
    if (entry?.hold === undefined) return
    const { hold, messages } = entry
    const resumedAt = untouched ? undefined : hold.resumedAt
    // If the run was waiting before this claim, it waits again.
    if (keeps || hold.draft !== undefined) entry.hold = { ...hold, token: undefined, owner: undefined, resumedAt }
    else if (messages.length > 0) entry.hold = undefined
    else this.#memory.entries.delete(entry.id)
  }

  async release(id: string, runId: string, added: Added, outcome: 'stored' | 'released'): Promise<boolean> {
    const entry = this.#find(id)
    if (entry?.hold?.runId !== runId) return false
    entry.runs.set(runId, outcome)
    this.#add(entry, added)
    return true
  }

  async read(session: string | number, { from = 0, to }: { from?: number; to?: number }): Promise<string[]> {
    const entry =
      typeof session === 'string' ? this.#find(session) : [...this.#memory.entries.values()].find((one) => one.session === session)
    this.#checkOpen()
    return entry === undefined ? [] : entry.messages.slice(from, to)
  }

  async append(id: string, messages: readonly string[], { isNew, compaction }: AppendOptions): Promise<Appended | NotClaimed> {
    const found = this.#find(id)
    if (found !== undefined && isNew) return { kind: 'exists' }
    const hold = found && this.#holdOf(found)
    const refused = refusalOf(hold)
    if (refused !== undefined) return refused
    this.#add(found ?? this.#make(id), { messages, compaction })
    return { kind: 'appended' }
  }

  async get(id: string): Promise<StoredSession | undefined> {
    const entry = this.#find(id)
    if (entry === undefined) return undefined
    const { session, compaction } = entry
    const { draft, resumedAt } = entry.hold ?? {}
    return {
      ...this.#summaryOf(entry),
      session,
      ...withoutUndefined({ compaction, draft: draft?.value, resumedAt }),
    }
  }

  async list({ prefix = '', status, updatedAfter, updatedBefore, limit = 50, cursor }: SessionQuery): Promise<SessionPage> {
    this.#checkOpen()
    const before = cursor === undefined ? undefined : cursorFrom(cursor)
    const found = [...this.#memory.entries.values()]
      .filter((entry) => {
        if (this.#isExpired(entry) || !entry.id.startsWith(prefix)) return false
        const { updatedAt, session } = entry
        if (before !== undefined && (updatedAt - before.updatedAt || session - before.session) >= 0) return false
        return updatedAt > (updatedAfter ?? Number.NEGATIVE_INFINITY) && updatedAt < (updatedBefore ?? Number.POSITIVE_INFINITY)
      })
      .filter((entry) => status === undefined || this.#statusOf(entry) === status)
      .toSorted((a, b) => b.updatedAt - a.updatedAt || b.session - a.session)
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    const sessions = shown.map((entry) => this.#summaryOf(entry))
    return { sessions, ...(found.length > limit && last !== undefined ? { next: cursorText(last) } : {}) }
  }

  async delete(id: string): Promise<boolean> {
    return this.#find(id) !== undefined && this.#memory.entries.delete(id)
  }

  async prune(olderThanMs: number): Promise<number> {
    this.#checkOpen()
    const old = [...this.#memory.entries.values()].filter((entry) => this.#isOlder(entry, olderThanMs))
    for (const { id } of old) this.#memory.entries.delete(id)
    return old.length
  }

  async close(): Promise<void> {
    this.#memory.alive.delete(this.#owner)
  }

  #find(id: string): Entry | undefined {
    this.#checkOpen()
    const entry = this.#memory.entries.get(id)
    if (entry === undefined || !this.#isExpired(entry)) return entry
    this.#memory.entries.delete(id)
    return undefined
  }

  #make(id: string): Entry {
    const now = processClock.now()
    for (const entry of this.#memory.entries.values()) {
      // The sessions are ordered by their last change, so none of the others has expired.
      if (entry.updatedAt > now - this.#expireAfterMs) break
      if (this.#isExpired(entry)) this.#memory.entries.delete(entry.id)
    }
    const session = ++this.#memory.made
    const made = { session, id, messages: [], compaction: undefined, runs: new Map(), hold: undefined, createdAt: now, updatedAt: now }
    this.#memory.entries.set(id, made)
    return made
  }

  /** Stores new messages and releases the session. `at`: the number of earlier messages to keep. */
  #add(entry: Entry, { messages, compaction, at }: Added): void {
    if (at !== undefined) entry.messages.splice(at)
    if (at !== undefined || compaction !== undefined) entry.compaction = compaction
    for (const message of messages) entry.messages.push(message)
    entry.hold = undefined
    entry.updatedAt = processClock.now()
    this.#memory.entries.delete(entry.id)
    this.#memory.entries.set(entry.id, entry)
  }

  /** The session, if the claim is still valid. */
  #claimed({ id, runId, token }: Claim): { entry: Entry | undefined; kept: Kept } {
    const entry = this.#find(id)
    if (entry?.hold?.token === token) return { entry, kept: 'kept' }
    return { entry: undefined, kept: entry?.runs.get(runId) === 'stored' ? 'stored' : 'lost' }
  }

  #holdOf({ hold }: Entry): Hold | undefined {
    if (hold === undefined) return undefined
    const { owner, draft, ...rest } = hold
    return { ...rest, alive: owner !== undefined && this.#memory.alive.has(owner), waitsFor: draft?.waitsFor }
  }

  #statusOf(entry: Entry): SessionStatus {
    return statusOf(this.#holdOf(entry))
  }

  #isExpired(entry: Entry): boolean {
    return this.#isOlder(entry, this.#expireAfterMs)
  }

  #isOlder(entry: Entry, ms: number): boolean {
    return entry.updatedAt <= processClock.now() - ms && this.#statusOf(entry) === 'idle'
  }

  #summaryOf(entry: Entry): SessionSummary {
    const { id, messages, hold, createdAt, updatedAt } = entry
    const status = this.#statusOf(entry)
    const running = status === 'idle' || hold === undefined ? {} : { runId: hold.runId }
    return { id, status, ...running, messageCount: messages.length, createdAt, updatedAt }
  }

  #checkOpen(): void {
    if (!this.#memory.alive.has(this.#owner)) throw closedStore()
  }
}
