import { Worker } from 'node:worker_threads'
import { ToolloopError } from '../../../core/errors.ts'
import type { SearchTasks } from './search-worker.ts'
import { workerCode } from './search-worker-code.ts'

/** The time limit of a task, and the error for a task that exceeds it. */
export interface TaskLimit {
  ms: number
  late: () => ToolloopError
}

interface Waiting {
  message: { task: keyof SearchTasks; args: readonly unknown[] }
  limit: TaskLimit
  resolve(answer: unknown): void
  reject(error: unknown): void
}

/** Maximum number of threads. Each thread takes memory and time to start, so many parallel calls must share a limited number of threads. */
const maxThreads = 16
const running = new Set<SearchThread>()
/** Threads that have not started yet, in the order in which they will start. */
const queued = new Set<SearchThread>()

/**
 * The thread of one search. It matches patterns that come from models and from the searched repositories. A pattern such as `(a+)+$` may
 * run for days, and only a separate thread can be stopped from outside. The thread starts with its first task, as soon as fewer than 16
 * threads run.
 */
export class SearchThread {
  readonly #signal: AbortSignal
  #worker: Worker | undefined
  /** Unanswered tasks. The thread answers them in this order. */
  readonly #waiting: Waiting[] = []
  #timer: NodeJS.Timeout | undefined
  #failure: unknown

  /** Throws the signal's reason if the signal is aborted. */
  constructor(signal: AbortSignal) {
    signal.throwIfAborted()
    this.#signal = signal
  }

  /**
   * Runs a task in the thread. Rejects with the signal's reason if the signal is aborted. After the thread has failed or a task has
   * exceeded its time limit, all tasks reject with the same error.
   */
  ask<Name extends keyof SearchTasks>(
    task: Name,
    args: Parameters<SearchTasks[Name]>,
    limit: TaskLimit,
  ): Promise<ReturnType<SearchTasks[Name]>> {
    return new Promise((resolve, reject) => {
      if (this.#signal.aborted) this.#failure ??= this.#signal.reason
      if (this.#failure !== undefined) return reject(this.#failure)
      const message = { task, args }
      this.#waiting.push({ message, limit, resolve, reject })
      if (this.#worker === undefined) {
        // Adding the thread again doesn't change its position in the set.
        queued.add(this)
        this.#signal.addEventListener('abort', this.#abort, { once: true })
        startQueued()
      } else {
        this.#worker.postMessage(message)
        if (this.#waiting.length === 1) this.#restartTimer()
      }
    })
  }

  /** Starts the thread with its waiting tasks. */
  start(): void {
    try {
      this.#worker = new Worker(workerCode, { eval: typeof workerCode === 'string', resourceLimits: { maxOldGenerationSizeMb: 128 } })
    } catch (cause) {
      // Node's permission model may forbid threads.
      this.#fail(new ToolloopError('tool_failed', 'The files could not be searched: no thread could be started', { cause }))
      return
    }
    this.#worker.on('message', (answer) => {
      this.#waiting.shift()?.resolve(answer)
      this.#restartTimer()
    })
    // The thread ran out of memory or stack, or failed to start. The error becomes the `cause`, because its message may contain paths.
    this.#worker.on('error', (cause) => this.#fail(new ToolloopError('tool_failed', 'The files could not be searched', { cause })))
    for (const { message } of this.#waiting) this.#worker.postMessage(message)
    this.#restartTimer()
  }

  /** Ends the thread. Must be called after the last task. May be called twice. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#abort)
    queued.delete(this)
    await this.#worker?.terminate()
    running.delete(this)
    startQueued()
  }

  readonly #abort = (): void => this.#fail(this.#signal.reason)

  #restartTimer(): void {
    clearTimeout(this.#timer)
    const limit = this.#waiting[0]?.limit
    if (limit !== undefined) this.#timer = setTimeout(() => this.#fail(limit.late()), limit.ms)
  }

  #fail(error: unknown): void {
    this.#failure ??= error
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure)
    // The caller also closes the thread, but only after its tasks are rejected. The thread must stop now.
    void this.close()
  }
}

function startQueued(): void {
  for (const thread of queued) {
    if (running.size >= maxThreads) return
    queued.delete(thread)
    running.add(thread)
    thread.start()
  }
}
