import { Worker } from 'node:worker_threads'
import { messageOf } from '../core/errors.ts'
import type { Asked, FromThread, OpenOptions, ToThread } from './file-thread.ts'

/** Receives what the thread sends to one store. */
export interface Listener {
  answered(message: FromThread): void
  /** Called when the thread has ended. The store has ended with it. */
  ended(why: string): void
}

/** The one thread of this process that opens all files of a kind. The first store that needs it starts it. */
export class FileThread {
  readonly #program: string | URL
  #thread: Worker | undefined
  /** The stores whose files the thread has open. */
  readonly #listeners = new Map<number, Listener>()
  /** The stores that wait for an answer. */
  readonly #busy = new Set<number>()
  #stores = 0

  /** `program` calls `serveFiles`. It is the program's code, or the URL of its file. */
  constructor(program: string | URL) {
    this.#program = program
  }

  /** Returns a number for a new store. */
  nextStore(): number {
    return ++this.#stores
  }

  /**
   * Sends calls to the thread, which opens the file first if it hasn't. Throws if the thread can't be started, or if a value can't be sent.
   */
  send(store: number, calls: readonly Asked[], open: OpenOptions, listener: Listener): void {
    const isNew = !this.#listeners.has(store)
    this.#thread ??= this.#start()
    this.#thread.postMessage({ store, calls, ...(isNew ? { open } : {}) } satisfies ToThread)
    this.#listeners.set(store, listener)
    this.expectAnswer(store, true)
  }

  /** Keeps the process alive only while a store waits for an answer. */
  expectAnswer(store: number, isExpected: boolean): void {
    if (isExpected) this.#busy.add(store)
    else this.#busy.delete(store)
    if (this.#busy.size === 0) this.#thread?.unref()
    else this.#thread?.ref()
  }

  /** Returns false if there is nothing to close. */
  close(store: number): boolean {
    if (!this.#listeners.has(store)) return false
    this.expectAnswer(store, true)
    this.#thread?.postMessage({ store, close: true } satisfies ToThread)
    return true
  }

  #start(): Worker {
    const started = new Worker(this.#program, { eval: typeof this.#program === 'string', execArgv: [] })
    // The thread keeps the process alive only once something is asked of it.
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
