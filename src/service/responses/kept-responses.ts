import { resolve } from 'node:path'
import { hashOf } from '../../agent/decisions/decisions.ts'
import type { SessionStore } from '../../agent/sessions/session-store.ts'
import { messageOf } from '../../core/errors.ts'
import { writeJson } from '../../core/json/json-pieces.ts'
import { countValues } from '../../core/json/value-count.ts'
import type { Logger } from '../../core/logger.ts'
import type { ChatMessage, JsonObject } from '../../core/messages.ts'
import { giveWay } from '../../core/time/give-way.ts'
import { memorySessions } from '../../sessions/memory.ts'
import type { Caller } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import { mostValues } from '../http/read-body.ts'
import type { RunBounds, RunPlace } from '../run-bounds.ts'
import { outageMs } from '../runs/recorded/open-recorded.ts'
import { identityOf } from '../tenants/tenant.ts'

/** A response as it is kept, for the caller it was made for. */
export interface KeptResponse {
  json: string
  /** The items that its request had given. */
  input: readonly JsonObject[]
  /** The conversation up to its end, each message as JSON. */
  messages: readonly string[]
}

/** What is kept of a response. */
export interface ResponseParts {
  response: object
  input: readonly JsonObject[]
  messages: readonly ChatMessage[]
}

/** Characters of a caller's responses, by key, the oldest first. */
interface KeptOfCaller {
  sizes: Map<string, number>
  characters: number
}

/** How often those that are too old are deleted, in milliseconds. */
const pruneEveryMs = 60_000

/**
 * Responses that are kept: each in a session of its own, with the conversation that it ends, so that any of them can be continued, more than
 * once, whatever has become of those before it. Holds secrets.
 */
export class KeptResponses {
  readonly #bounds: () => RunBounds
  readonly #logger: Logger
  #store: SessionStore = memorySessions().store
  #endPool: () => Promise<void> = async () => {}
  #closed: Promise<void> | undefined
  readonly #timer: NodeJS.Timeout
  /** Those that this process has kept, by caller: who has most loses the oldest, so that nobody pushes out another's. */
  readonly #kept = new Map<string, KeptOfCaller>()
  readonly #underWay = new Set<Promise<boolean>>()
  /** By caller, until what was asked for last has been read. */
  readonly #reading = new Map<string, Promise<void>>()

  constructor(bounds: () => RunBounds, logger: Logger) {
    this.#bounds = bounds
    this.#logger = logger
    this.#timer = setInterval(() => this.#pruneOrLog(), pruneEveryMs).unref()
  }

  /** Keeps them where runs are kept from now on. Rejects with `session_failed` where that can't be done. */
  async open(place: RunPlace): Promise<void> {
    if (place.kind === 'memory') return
    if (place.kind === 'sqlite') this.#store = await openFile(place.folder, this.#logger)
    else {
      const { sessions, pool } = await openDatabase(place, this.#logger)
      this.#store = sessions.store
      this.#endPool = () => pool.end()
      await sessions.migrate()
    }
    // One that another process has locked is pruned later; one that can't be read is told at once.
    await this.#store.read('', {})
    await this.#pruneOrLog()
  }

  /** False: it could not be kept, which is logged, or is too large. */
  async keep(id: string, caller: Caller, parts: ResponseParts): Promise<boolean> {
    const kept = this.#keep(id, identityOf(caller), parts).catch((error: unknown) => {
      this.#logger.error({ response: id, error: messageOf(error) }, 'a response could not be kept')
      return false
    })
    this.#underWay.add(kept)
    return kept.finally(() => this.#underWay.delete(kept))
  }

  /**
   * What `use` makes of a response; undefined for one that is not kept, or is another's. They may be large: of each caller, one is read after
   * the other, so that `use` can refuse those for which there is no room. Rejects with what it throws, and with `session_failed`.
   */
  async find<T>(id: string, caller: Caller, use: (kept: KeptResponse) => T): Promise<T | undefined> {
    const name = identityOf(caller)
    const before = this.#reading.get(name)
    const found = (async () => {
      await before
      const kept = await this.#read(keyOf(id, name))
      return kept === undefined ? undefined : use(kept)
    })()
    const over = found.then(
      () => {},
      () => {},
    )
    this.#reading.set(name, over)
    try {
      return await found
    } finally {
      if (this.#reading.get(name) === over) this.#reading.delete(name)
    }
  }

  async #read(key: string): Promise<KeptResponse | undefined> {
    const kept = await this.#store.get(key)
    if (kept === undefined) return undefined
    // Whether it really is too old, the store says: the clock of this process may be wrong.
    if (kept.updatedAt < Date.now() - this.#bounds().ageMs) await this.#prune()
    const [json, input, ...messages] = await this.#store.read(key, {})
    return json === undefined || input === undefined ? undefined : { json, input: JSON.parse(input), messages }
  }

  /** False where there was none. Rejects with `session_failed`. */
  async delete(id: string, caller: Caller): Promise<boolean> {
    const name = identityOf(caller)
    const key = keyOf(id, name)
    this.#forget(name, key)
    return this.#store.delete(key)
  }

  /** What is being kept is kept. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#underWay)
    await this.#store.close()
    await this.#endPool()
  }

  async #keep(id: string, caller: string, { response, input, messages }: ResponseParts): Promise<boolean> {
    const texts = [await writeJson(response), await writeJson(input)]
    for (const message of messages) {
      texts.push(JSON.stringify(message))
    }
    const size = texts.reduce((sum, text) => sum + text.length, 0)
    if (size > this.#bounds().characters) return false
    const key = keyOf(id, caller)
    await this.#store.append(key, texts, { isNew: true })
    const own = this.#kept.get(caller) ?? { sizes: new Map<string, number>(), characters: 0 }
    this.#kept.set(caller, own)
    own.sizes.set(key, size)
    own.characters += size
    await this.#forgetOld()
    return true
  }

  async #forgetOld(): Promise<void> {
    for (;;) {
      const { count, characters } = this.#bounds()
      const most = this.#mostOf(({ characters }) => characters, characters) ?? this.#mostOf(({ sizes }) => sizes.size, count)
      const [oldest] = most?.own.sizes.keys() ?? []
      if (most === undefined || oldest === undefined) return
      this.#forget(most.caller, oldest)
      await this.#store.delete(oldest)
    }
  }

  /** Who has most, where all together have more than `limit`. */
  #mostOf(measure: (own: KeptOfCaller) => number, limit: number): { caller: string; own: KeptOfCaller } | undefined {
    let total = 0
    let most: { caller: string; own: KeptOfCaller } | undefined
    for (const [caller, own] of this.#kept) {
      total += measure(own)
      if (most === undefined || measure(own) > measure(most.own)) most = { caller, own }
    }
    return total > limit ? most : undefined
  }

  /** Also those of processes that are no more. */
  #pruneOrLog(): Promise<void> {
    return this.#prune().catch((error: unknown) => {
      this.#logger.error({ error: messageOf(error) }, 'responses that are too old could not be deleted')
    })
  }

  async #prune(): Promise<void> {
    await this.#store.prune(this.#bounds().ageMs)
  }

  #forget(caller: string, key: string): void {
    const own = this.#kept.get(caller)
    if (own === undefined) return
    own.characters -= own.sizes.get(key) ?? 0
    own.sizes.delete(key)
    if (own.sizes.size === 0) this.#kept.delete(caller)
  }
}

/** Characters of JSON in one conversation. */
const mostCharacters = 8_000_000

/**
 * The messages of a conversation that goes on with others. It is bounded as that of one request is, and in its length. Rejects with an
 * `HttpProblem` 400.
 */
export async function continued({ messages }: KeptResponse, others: readonly ChatMessage[]): Promise<ChatMessage[]> {
  const read: ChatMessage[] = []
  let values = 0
  let characters = 0
  const count = async (text: string) => {
    values += countValues(text)
    characters += text.length
    await giveWay()
    if (values > mostValues.run || characters > mostCharacters)
      throw new HttpProblem(
        400,
        'context_length_exceeded',
        `The conversation is too long to be continued: it may have ${mostValues.run} values and ${mostCharacters} characters of JSON`,
        { param: 'previous_response_id' },
      )
  }
  for (const text of messages) {
    await count(text)
    read.push(JSON.parse(text))
  }
  for (const message of others) {
    await count(JSON.stringify(message))
    read.push(message)
  }
  return read
}

/** The same id of somebody else is another. */
function keyOf(id: string, caller: string): string {
  return hashOf([caller, id])
}

async function openFile(folder: string, logger: Logger): Promise<SessionStore> {
  const { SqliteSessionStore } = await import('../../sessions/sqlite/sqlite-session-store.ts')
  const file = resolve(folder, 'responses.sqlite')
  // They are deleted here when they are too old.
  return new SqliteSessionStore(
    { file, synchronous: 'full', busyTimeoutMs: outageMs, maxBytes: undefined },
    Number.POSITIVE_INFINITY,
    logger,
  )
}

const mostConnections = 3

async function openDatabase({ url, schema = 'toolloop' }: Extract<RunPlace, { kind: 'dbos' }>, logger: Logger) {
  const { loadDbos } = await import('../../journals/dbos/load-dbos.ts')
  const { postgresSessions } = await import('../../sessions/postgres/index.ts')
  const pool = new (loadDbos().pg.Pool)({ connectionString: url, max: mostConnections })
  // A connection that waits in the pool, and is lost: there will be another.
  pool.on('error', (error) => logger.warn({ error: messageOf(error) }, 'a connection to the database of the responses was lost'))
  // Those of a program of its own in the same database are not deleted with these.
  return { sessions: postgresSessions({ pool, schema: `${schema}_responses` }), pool }
}
