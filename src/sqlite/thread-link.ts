import { Worker } from 'node:worker_threads'
import { messageOf } from '../core/errors.ts'
import type { Asked, FromThread, OpenOptions, ToThread } from './file-thread.ts'

/** What the thread tells a store. */
export interface Listener {
  answered(message: FromThread): void
  /** The thread is gone, and the store with it. */
  ended(why: string): void
}

/** The one thread of this process that has all files of a kind. Started by the first store that needs it. */
export class FileThread {
  readonly #program: string | URL
  #thread: Worker | undefined
  /** The stores that the thread has. */
  readonly #listeners = new Map<number, Listener>()
  /** Of them those that wait for an answer. */
  readonly #busy = new Set<number>()
  #stores = 0

  /** `program` calls `serveFiles`: its code, or the file it is in. */
  constructor(program: string | URL) {
    this.#program = program
  }

  /** A number for a store of its own. */
  nextStore(): number {
    return ++this.#stores
  }

  /** Opens the file if the thread does not have it. Throws where no thread may be started, or a value can't be sent. */
  send(store: number, calls: readonly Asked[], open: OpenOptions, listener: Listener): void {
    const isNew = !this.#listeners.has(store)
    this.#thread ??= this.#start()
    this.#thread.postMessage({ store, calls, ...(isNew ? { open } : {}) } satisfies ToThread)
    this.#listeners.set(store, listener)
    this.expectAnswer(store, true)
  }

  /** A thread that nobody waits for must not keep the process from ending. */
  expectAnswer(store: number, isExpected: boolean): void {
    if (isExpected) this.#busy.add(store)
    else this.#busy.delete(store)
    if (this.#busy.size === 0) this.#thread?.unref()
    else this.#thread?.ref()
  }

  /** False where there is nothing to close. */
  close(store: number): boolean {
    if (!this.#listeners.has(store)) return false
    this.expectAnswer(store, true)
    this.#thread?.postMessage({ store, close: true } satisfies ToThread)
    return true
  }

  #start(): Worker {
    const started = new Worker(this.#program, { eval: typeof this.#program === 'string', execArgv: [] })
    // Until something is asked of it.
    started.unref()
    let why = 'its thread was ended'
    started.on('message', (message: FromThread) => {
      const listener = this.#listeners.get(message.store)
      if (message.closed) this.#listeners.delete(message.store)
      listener?.answered(message)
    })
    started.on('error', (error) => {
      why = messageOf(error)
    })
    started.on('exit', () => {
      this.#thread = undefined
      this.#busy.clear()
      const left = [...this.#listeners.values()]
      this.#listeners.clear()
      for (const listener of left) listener.ended(why)
    })
    return started
  }
}
