import type { ElicitResult } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../../../core/messages.ts'
import { callOfStream } from '../../transport/http-transport.ts'
import { OpenCall } from './open-call.ts'
import type { ServerRequest } from './questions.ts'
import { relatedTaskOf } from './tasks.ts'

/** A question from the server that does not name the call during which it is asked. */
interface Ownerless {
  /** The calls that were open when the question arrived and are still open. */
  among: Set<OpenCall>
  askIn(call: OpenCall | undefined): void
}

/** Tracks the calls in flight to one server. Assigns each request from the server to one of these calls. */
export class OpenCalls {
  /** The open calls, with the ids of their runs. */
  readonly #runs = new Map<OpenCall, string>()
  /** The calls that wait for a task's result, by the id of the task. */
  readonly #ofTasks = new Map<string, OpenCall>()
  readonly #ownerless = new Set<Ownerless>()

  /** Runs `send`, which makes the call. Until it settles, requests from the server can be assigned to the call. */
  async during<T>(call: OpenCall, runId: string, send: () => Promise<T>): Promise<T> {
    this.#runs.set(call, runId)
    try {
      return await send()
    } finally {
      this.#runs.delete(call)
      for (const { among } of this.#ownerless) among.delete(call)
      this.#findOwners()
    }
  }

  /** Runs `send`, which requests a task's result. Until it settles, requests that name the task are assigned to `call`. */
  async duringTask<T>(call: OpenCall, taskId: string, send: () => Promise<T>): Promise<T> {
    this.#ofTasks.set(taskId, call)
    try {
      return await send()
    } finally {
      if (this.#ofTasks.get(taskId) === call) this.#ofTasks.delete(taskId)
    }
  }

  /** Asks the question in the call to which it belongs. Cancels the question if calls of several runs are open. */
  ask(request: ServerRequest, params: unknown, signal: AbortSignal): Promise<ElicitResult> {
    const named = this.#named(params)
    if (named !== undefined) return named.call?.ask(request, signal) ?? Promise.resolve(cancelled)
    const asked = Promise.withResolvers<ElicitResult>()
    const askIn = (call: OpenCall | undefined) => asked.resolve(call?.ask(request, signal) ?? cancelled)
    const question = { among: new Set(this.#areOfOneRun ? this.#runs.keys() : []), askIn }
    const cancel = () => this.#ownerless.delete(question) && askIn(undefined)
    this.#ownerless.add(question)
    signal.addEventListener('abort', cancel, { once: true })
    if (signal.aborted) cancel()
    this.#findOwners()
    return asked.promise.finally(() => signal.removeEventListener('abort', cancel))
  }

  /** Handles a server's request to the model. Undefined if no call may answer the request. */
  async sample(params: unknown): Promise<JsonObject | undefined> {
    const { call } = this.#named(params) ?? { call: this.#areOfOneRun ? [...this.#runs.keys()].find((one) => one.isWaitedFor) : undefined }
    return call?.sample(params)
  }

  /** Finds the call that a request names. The request names a task, or arrives in the HTTP response to the call. */
  #named(params: unknown): { call: OpenCall | undefined } | undefined {
    const task = relatedTaskOf(params)
    if (task !== undefined) return { call: this.#ofTasks.get(task) }
    const own = callOfStream()
    return own instanceof OpenCall ? { call: own } : undefined
  }

  /** Whether all calls belong to one run. If not, a request could be answered at another caller's expense. */
  get #areOfOneRun(): boolean {
    return new Set(this.#runs.values()).size === 1
  }

  /**
   * Assigns questions to calls. A server does not finish a call that has an open question. Once only one call without a question is left,
   * the question belongs to that call.
   */
  #findOwners(): void {
    const freeIn = ({ among }: Ownerless) => [...among].filter((call) => !call.asks)
    for (const question of this.#ownerless) {
      const free = freeIn(question)
      const all = new Set([...this.#ownerless].flatMap(freeIn))
      if (free.length > 1 && all.size > this.#ownerless.size) continue
      this.#ownerless.delete(question)
      question.askIn(free[0] ?? [...question.among][0])
      this.#findOwners()
      return
    }
  }
}

const cancelled: ElicitResult = { action: 'cancel' }
