import type { PruneOptions } from '../../agent/durable/journal.ts'
import type { Store } from '../../agent/durable/store.ts'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import type { OpenOptions } from './opened-file.ts'
import { prunedAtOnce } from './recorded-runs.ts'
import type { Asked, Call, FromThread } from './store-thread.ts'
import { ThreadLink } from './thread.ts'

interface Waiting {
  resolve(value: never): void
  reject(error: Error): void
}

/** The file, behind a thread: no call blocks the event loop. It is opened by the first call. */
export class SqliteStore implements Store {
  readonly #file: string
  readonly #link: ThreadLink
  readonly #waiting = new Map<number, Waiting>()
  readonly #left = Promise.withResolvers<void>()
  #batch: Asked[] = []
  #ids = 0
  #closed = false
  #lost: ((problem: ToolloopError) => void) | undefined

  constructor(options: OpenOptions) {
    this.#file = options.file
    this.#link = new ThreadLink(options, {
      answered: (message) => this.#answered(message),
      ended: (why) => {
        this.#failAll(why)
        if (this.#closed) this.#left.resolve()
        else this.#lost?.(this.#problem(why))
      },
    })
  }

  take: Store['take'] = (...args) => this.#call({ name: 'take', args })
  record: Store['record'] = (...args) => this.#call({ name: 'record', args })
  finish: Store['finish'] = (...args) => this.#call({ name: 'finish', args })
  suspend: Store['suspend'] = (...args) => this.#call({ name: 'suspend', args })
  release: Store['release'] = (...args) => this.#call({ name: 'release', args })
  deliver: Store['deliver'] = (...args) => this.#call({ name: 'deliver', args })
  cancel: Store['cancel'] = (...args) => this.#call({ name: 'cancel', args })
  cancelled: Store['cancelled'] = () => this.#call({ name: 'cancelled', args: [] })
  get: Store['get'] = (...args) => this.#call({ name: 'get', args })
  // Field by field: what else the caller's object may hold, such as a function, can't be sent to the thread.
  list: Store['list'] = ({ status, createdAfter, createdBefore, limit, cursor }) =>
    this.#call({ name: 'list', args: [{ status, createdAfter, createdBefore, limit, cursor }] })
  pending: Store['pending'] = () => this.#call({ name: 'pending', args: [] })
  async prune({ olderThanMs, keep }: PruneOptions): Promise<number> {
    for (let deleted = 0; ; ) {
      const more: number = await this.#call({ name: 'prune', args: [{ olderThanMs, keep }] })
      deleted += more
      // Not until there is none: runs that end meanwhile could keep this from ending.
      if (more < prunedAtOnce) return deleted
    }
  }

  onLost(lost: (problem: ToolloopError) => void): void {
    this.#lost = lost
  }

  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true
      this.#failAll('it was closed')
      if (!this.#link.close()) this.#left.resolve()
    }
    await this.#left.promise
  }

  #call(call: Call): Promise<never> {
    if (this.#closed) return Promise.reject(this.#problem('it was closed'))
    const id = ++this.#ids
    // Calls of one tick travel together.
    if (this.#batch.length === 0) queueMicrotask(() => this.#sendBatch())
    this.#batch.push({ id, call })
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  #sendBatch(): void {
    const batch = this.#batch
    this.#batch = []
    if (this.#closed) return
    try {
      this.#link.send(batch)
    } catch (error) {
      const problem = this.#problem(messageOf(error))
      for (const { id } of batch) {
        this.#waiting.get(id)?.reject(problem)
        this.#waiting.delete(id)
      }
    }
  }

  #answered({ answers, closed, problem }: FromThread): void {
    for (const answer of answers) {
      const waiting = this.#waiting.get(answer.id)
      this.#waiting.delete(answer.id)
      if (answer.ok) waiting?.resolve(answer.value as never)
      else waiting?.reject(new ToolloopError(answer.code, answer.message))
    }
    if (problem !== undefined) this.#left.reject(new ToolloopError('journal_failed', problem))
    else if (closed === true) this.#left.resolve()
    if (closed === true || (!this.#closed && this.#waiting.size === 0)) this.#link.expectAnswer(false)
  }

  #failAll(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(this.#problem(why))
    this.#waiting.clear()
  }

  #problem(why: string): ToolloopError {
    return new ToolloopError('journal_failed', `The journal \`${this.#file}\` can’t be used: ${why}`)
  }
}
