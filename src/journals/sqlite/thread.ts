import { Worker } from 'node:worker_threads'
import { messageOf } from '../../core/errors.ts'
import type { OpenOptions } from './opened-file.ts'
import type { Asked, FromThread, ToThread } from './store-thread.ts'
import { workerCode } from './store-thread-code.ts'

/** What the thread tells a store. */
export interface Listener {
  answered(message: FromThread): void
  /** The thread is gone, and the store with it. */
  ended(why: string): void
}

let thread: Worker | undefined
/** The stores that the thread has. */
const listeners = new Map<number, Listener>()
/** Of them those that wait for an answer. */
const busy = new Set<number>()
let stores = 0

/** The one thread that all files of this process share: its end of a store. Started by the first store that needs it. */
export class ThreadLink {
  readonly #store = ++stores
  readonly #options: OpenOptions
  readonly #listener: Listener

  constructor(options: OpenOptions, listener: Listener) {
    this.#options = options
    this.#listener = listener
  }

  /** Opens the file if the thread does not have it. Throws where no thread may be started, or a value can't be sent. */
  send(calls: readonly Asked[]): void {
    const isNew = !listeners.has(this.#store)
    thread ??= startThread()
    thread.postMessage({ store: this.#store, calls, ...(isNew ? { open: this.#options } : {}) } satisfies ToThread)
    listeners.set(this.#store, this.#listener)
    this.expectAnswer(true)
  }

  /** A thread that nobody waits for must not keep the process from ending. */
  expectAnswer(isExpected: boolean): void {
    if (isExpected) busy.add(this.#store)
    else busy.delete(this.#store)
    if (busy.size === 0) thread?.unref()
    else thread?.ref()
  }

  /** False where there is nothing to close. */
  close(): boolean {
    if (!listeners.has(this.#store)) return false
    this.expectAnswer(true)
    thread?.postMessage({ store: this.#store, close: true } satisfies ToThread)
    return true
  }
}

function startThread(): Worker {
  const started = new Worker(workerCode, { eval: typeof workerCode === 'string', execArgv: [] })
  // Until something is asked of it.
  started.unref()
  let why = 'its thread was ended'
  started.on('message', (message: FromThread) => {
    const listener = listeners.get(message.store)
    if (message.closed) listeners.delete(message.store)
    listener?.answered(message)
  })
  started.on('error', (error) => {
    why = messageOf(error)
  })
  started.on('exit', () => {
    thread = undefined
    busy.clear()
    const left = [...listeners.values()]
    listeners.clear()
    for (const listener of left) listener.ended(why)
  })
  return started
}
