import { resolve } from 'node:path'
import type { SessionStore } from '../../agent/sessions/session-store.ts'
import { hashOf } from '../../core/digest.ts'
import { messageOf } from '../../core/errors.ts'
import { writeJson } from '../../core/json/json-pieces.ts'
import { countValues } from '../../core/json.ts'
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

/** A stored response, which belongs to one caller. */
export interface KeptResponse {
  json: string
  /** The input items of the request. */
  input: readonly JsonObject[]
  /** The whole conversation, including this response. Each message is JSON. */
  messages: readonly string[]
}

/** The parts of a response that are stored. */
export interface ResponseParts {
  response: object
  input: readonly JsonObject[]
  messages: readonly ChatMessage[]
}

/** The sizes of one caller's responses, in characters, by key. The oldest response comes first. */
interface KeptOfCaller {
  sizes: Map<string, number>
  characters: number
}

/** How often expired responses are deleted, in milliseconds. */
const pruneEveryMs = 60_000

/**
 * Stores responses. Each response is stored with its whole conversation, so that it can be continued even if earlier responses were
 * deleted. The stored data contains secrets.
 */
export class KeptResponses {
  readonly #bounds: () => RunBounds
  readonly #logger: Logger
  #store: SessionStore = memorySessions().store
  #endPool: () => Promise<void> = async () => {}
  #closed: Promise<void> | undefined
  readonly #timer: NodeJS.Timeout
  /** The responses that this process has stored, keyed by caller. If there are too many, the caller with the most loses its oldest. */
  readonly #kept = new Map<string, KeptOfCaller>()
  readonly #underWay = new Set<Promise<boolean>>()
  /** Each caller's latest call of `find`. The next one waits for it. */
  readonly #reading = new Map<string, Promise<void>>()

  constructor(bounds: () => RunBounds, logger: Logger) {
    this.#bounds = bounds
    this.#logger = logger
    this.#timer = setInterval(() => this.#pruneOrLog(), pruneEveryMs).unref()
  }

  /** Opens the store of responses. Rejects with `session_failed`. */
  async open(place: RunPlace): Promise<void> {
    if (place.kind === 'memory') return
    if (place.kind === 'sqlite') this.#store = await openFile(place.folder, this.#logger)
    else {
      const { sessions, pool } = await openDatabase(place, this.#logger)
      this.#store = sessions.store
      this.#endPool = () => pool.end()
      await sessions.migrate()
    }
    // Fails now if the store can't be read.
    await this.#store.read('', {})
    await this.#pruneOrLog()
  }

  /** Stores a response. Resolves with false if the response is too large, or if writing fails. Logs the error. */
  async keep(id: string, caller: Caller, parts: ResponseParts): Promise<boolean> {
    const kept = this.#keep(id, identityOf(caller), parts).catch((error: unknown) => {
      this.#logger.error({ response: id, error: messageOf(error) }, 'a response could not be kept')
      return false
    })
    this.#underWay.add(kept)
    return kept.finally(() => this.#underWay.delete(kept))
  }

  /**
   * Passes a stored response to `use`, and resolves with the result of `use`. Resolves with undefined if the response is not stored or
   * belongs to another caller. Each caller's responses are read one at a time, because they may be large. Rejects with `session_failed`, or
   * with the error that `use` throws.
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
    // Only the store's clock decides whether the response has expired.
    if (kept.updatedAt < Date.now() - this.#bounds().ageMs) await this.#prune()
    const [json, input, ...messages] = await this.#store.read(key, {})
    return json === undefined || input === undefined ? undefined : { json, input: JSON.parse(input), messages }
  }

  /** Deletes a response. Resolves with false if it doesn't exist. Rejects with `session_failed`. */
  async delete(id: string, caller: Caller): Promise<boolean> {
    const name = identityOf(caller)
    const key = keyOf(id, name)
    this.#forget(name, key)
    return this.#store.delete(key)
  }

  /** Closes the store after the writes in progress have completed. */
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

  /** Returns the caller with the highest `measure`, or undefined if the sum of all callers is within `limit`. */
  #mostOf(measure: (own: KeptOfCaller) => number, limit: number): { caller: string; own: KeptOfCaller } | undefined {
    let total = 0
    let most: { caller: string; own: KeptOfCaller } | undefined
    for (const [caller, own] of this.#kept) {
      total += measure(own)
      if (most === undefined || measure(own) > measure(most.own)) most = { caller, own }
    }
    return total > limit ? most : undefined
  }

  /** Deletes expired responses, including those of other processes. Logs errors instead of rejecting. */
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

/** Maximum size of a conversation, in characters of JSON. */
const mostCharacters = 8_000_000

/**
 * Returns the messages of a stored conversation, followed by `others`. Rejects with an `HttpProblem` 400 if the conversation has more
 * characters or values than a request may have.
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

/** Returns the key of a stored response. It contains the caller, so that equal ids of different callers don't collide. */
function keyOf(id: string, caller: string): string {
  return hashOf([caller, id])
}

async function openFile(folder: string, logger: Logger): Promise<SessionStore> {
  const { SqliteSessionStore } = await import('../../sessions/sqlite/sqlite-session-store.ts')
  const file = resolve(folder, 'responses.sqlite')
  // The store itself has no expiry, because `KeptResponses` deletes old responses.
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
  // The pool replaces lost connections.
  pool.on('error', (error) => logger.warn({ error: messageOf(error) }, 'a connection to the database of the responses was lost'))
  // The responses have their own schema, so that deleting them does not affect sessions of the application in the same database.
  return { sessions: postgresSessions({ pool, schema: `${schema}_responses` }), pool }
}
