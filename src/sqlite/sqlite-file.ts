import { resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { InvalidOptionError, messageOf, ToolloopError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import { yieldNow } from '../core/time/give-way.ts'
import type { ResultOf } from '../sql/statement.ts'
import type { Answer, Asked, Call, FromThread, Methods, OpenOptions, ToThread } from './file-thread.ts'
import type { FileKind } from './problems.ts'

interface Waiting {
  resolve(value: never): void
  reject(error: Error): void
}

export type MethodName<Tables> = { [K in keyof Tables]: Tables[K] extends (...args: never[]) => unknown ? K & string : never }[keyof Tables]
type ArgsOf<Method> = Method extends (...args: infer Args) => unknown ? Args : never
type ValueOf<Method> = Method extends (...args: never[]) => infer Value ? ResultOf<Value> : never

/** `logger` gets the thread's warnings. `lost` is called if the thread dies. */
export interface Told {
  logger: Logger
  lost?: (problem: ToolloopError) => void
}

/** A file that a worker thread keeps open, so that no call blocks the event loop. The first call opens the file. */
export class SqliteFile<Tables extends Methods> {
  readonly #kind: FileKind
  readonly #thread: FileThread
  readonly #options: OpenOptions
  readonly #lost: ((problem: ToolloopError) => void) | undefined
  readonly #logger: Logger
  readonly #store: number
  readonly #waiting = new Map<number, Waiting>()
  readonly #left = Promise.withResolvers<void>()
  #batch: Asked[] = []
  #isSending = false
  #ids = 0
  #closed = false

  /** `lost` is called if the thread dies before the file is closed. The next call starts a new thread, with a new owner. */
  constructor(kind: FileKind, thread: FileThread, options: OpenOptions, { logger, lost }: Told) {
    this.#kind = kind
    this.#thread = thread
    this.#options = options
    this.#lost = lost
    this.#logger = logger
    this.#store = thread.nextStore()
  }

  /**
   * Calls a method of `Tables` in the thread. Other calls may share its transaction. Rejects with the error that the method throws, or with
   * an error with the code of `kind`.
   */
  call<K extends MethodName<Tables>>(name: K, ...args: ArgsOf<Tables[K]>): Promise<ValueOf<Tables[K]>> {
    const answer = this.#ask({ name, args })
    // All calls of one tick are sent together.
    if (!this.#isSending) queueMicrotask(() => this.#sendBatch())
    this.#isSending = true
    return answer
  }

  /** Like `call`, but shares a transaction with the following call, if there is one in the same tick of the event loop. */
  callWithNext<K extends MethodName<Tables>>(name: K, ...args: ArgsOf<Tables[K]>): Promise<ValueOf<Tables[K]>> {
    setImmediate(() => this.#sendBatch())
    return this.#ask({ name, args })
  }

  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true
      this.#failAll('it was closed')
      if (!this.#thread.close(this.#store)) this.#left.resolve()
    }
    await this.#left.promise
  }

  #ask(call: Call): Promise<never> {
    if (this.#closed) return Promise.reject(this.#problem('it was closed'))
    const id = ++this.#ids
    this.#batch.push({ id, call })
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  #sendBatch(): void {
    const batch = this.#batch
    this.#batch = []
    this.#isSending = false
    if (this.#closed || batch.length === 0) return
    try {
      this.#thread.send(this.#store, batch, this.#options, {
        answered: (message) => this.#answered(message),
        ended: (why) => this.#ended(why),
      })
    } catch (error) {
      const problem = this.#problem(messageOf(error))
      for (const { id } of batch) {
        this.#waiting.get(id)?.reject(problem)
        this.#waiting.delete(id)
      }
    }
  }

  #answered({ answers, warning, closed, problem }: FromThread): void {
    if (warning !== undefined) this.#logger.warn({ file: this.#options.database.file }, warning)
    // Many answers may arrive at once. Each answer is delivered in its own turn of the event loop, so that the callers don't block it
    // together.
    for (const answer of answers) void yieldNow().then(() => this.#handOut(answer))
    if (problem !== undefined) this.#left.reject(new ToolloopError(this.#kind.code, problem))
    else if (closed === true) this.#left.resolve()
    if (closed === true) this.#thread.expectAnswer(this.#store, false)
  }

  #handOut(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if (answer.ok) waiting?.resolve(answer.value as never)
    else waiting?.reject(new ToolloopError(answer.code, answer.message))
    if (!this.#closed && this.#waiting.size === 0) this.#thread.expectAnswer(this.#store, false)
  }

  #ended(why: string): void {
    this.#failAll(why)
    if (this.#closed) this.#left.resolve()
    else this.#lost?.(this.#problem(why))
  }

  #failAll(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(this.#problem(why))
    this.#waiting.clear()
  }

  #problem(why: string): ToolloopError {
    return new ToolloopError(this.#kind.code, `The ${this.#kind.noun} \`${this.#options.database.file}\` can’t be used: ${why}`)
  }
}

export interface FileOptions {
  file: string
  synchronous?: 'full' | 'normal'
  busyTimeoutMs?: number
  maxBytes?: number
}

/** Checks the options and fills in the defaults. Throws `invalid_option` for invalid options. */
export function fileOptions({ file, synchronous = 'full', busyTimeoutMs = 5_000, maxBytes }: FileOptions): OpenOptions['database'] {
  if (typeof file !== 'string' || file === '' || file === ':memory:') throw new InvalidOptionError('file', 'the path of a file', file)
  if (synchronous !== 'full' && synchronous !== 'normal') throw new InvalidOptionError('synchronous', "'full' or 'normal'", synchronous)
  checkInteger('busyTimeoutMs', busyTimeoutMs, 0)
  if (maxBytes !== undefined) checkInteger('maxBytes', maxBytes, 1_048_576)
  return { file: resolve(file), synchronous, busyTimeoutMs, maxBytes }
}

function checkInteger(option: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) throw new InvalidOptionError(option, `an integer ≥ ${least}`, value)
}

export interface Listener {
  answered(message: FromThread): void
  /** Called when the thread has ended. */
  ended(why: string): void
}

/** The thread of this process that opens all files of a kind. It is started when it is first needed. */
export class FileThread {
  readonly #program: string | URL
  #thread: Worker | undefined
  /** The stores whose files the thread has open. */
  readonly #listeners = new Map<number, Listener>()
  /** The stores that wait for an answer. */
  readonly #busy = new Set<number>()
  #stores = 0

  /** `program`: the code that the thread runs, or its URL. The code must call `serveFiles`. */
  constructor(program: string | URL) {
    this.#program = program
  }

  nextStore(): number {
    return ++this.#stores
  }

  /**
   * Sends calls to the thread. The thread opens the file first if it is not open. Throws if the thread can't be started, or if a value
   * can't be sent.
   */
  send(store: number, calls: readonly Asked[], open: OpenOptions, listener: Listener): void {
    const isNew = !this.#listeners.has(store)
    this.#thread ??= this.#start()
    this.#thread.postMessage({ store, calls, ...(isNew ? { open } : {}) } satisfies ToThread)
    this.#listeners.set(store, listener)
    this.expectAnswer(store, true)
  }

  /** Sets whether a store waits for an answer. The thread keeps the process alive only while a store waits. */
  expectAnswer(store: number, isExpected: boolean): void {
    if (isExpected) this.#busy.add(store)
    else this.#busy.delete(store)
    if (this.#busy.size === 0) this.#thread?.unref()
    else this.#thread?.ref()
  }

  /** Closes the file of a store. Returns false if there is no file to close. */
  close(store: number): boolean {
    if (!this.#listeners.has(store)) return false
    this.expectAnswer(store, true)
    this.#thread?.postMessage({ store, close: true } satisfies ToThread)
    return true
  }

  #start(): Worker {
    const started = new Worker(this.#program, { eval: typeof this.#program === 'string', execArgv: [] })
    // The thread must not keep the process alive unless an answer is expected.
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
