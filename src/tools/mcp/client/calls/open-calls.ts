import type { ElicitResult } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../../../core/messages.ts'
import { callOfStream } from '../../transport/http-transport.ts'
import { OpenCall } from './open-call.ts'
import type { ServerRequest } from './questions.ts'
import { relatedTaskOf } from './tasks.ts'

/** A question of which nothing says to which of several calls it belongs. */
interface Ownerless {
  /** Those that it can belong to: they were open when it came, and are so still. */
  among: Set<OpenCall>
  askIn(call: OpenCall | undefined): void
}

/** The calls of one server that are on their way, and to which of them its own requests belong. */
export class OpenCalls {
  /** With the ids of their runs. */
  readonly #runs = new Map<OpenCall, string>()
  /** Those that wait for a task's result. */
  readonly #ofTasks = new Map<string, OpenCall>()
  readonly #ownerless = new Set<Ownerless>()

  /** Carries out a call of that run. */
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

  /** Carries out a request for a task's result. */
  async duringTask<T>(call: OpenCall, taskId: string, send: () => Promise<T>): Promise<T> {
    this.#ofTasks.set(taskId, call)
    try {
      return await send()
    } finally {
      if (this.#ofTasks.get(taskId) === call) this.#ofTasks.delete(taskId)
    }
  }

  /** Takes a question. It is cancelled where it may be another caller's. */
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

  /** Takes what a server asks the model. Undefined where that is no call's, or the call may not. */
  async sample(params: unknown): Promise<JsonObject | undefined> {
    const { call } = this.#named(params) ?? { call: this.#areOfOneRun ? [...this.#runs.keys()].find((one) => one.isWaitedFor) : undefined }
    return call?.sample(params)
  }

  /** What says to which call a request belongs: the task it names, or, over HTTP, the response it comes in. */
  #named(params: unknown): { call: OpenCall | undefined } | undefined {
    const task = relatedTaskOf(params)
    if (task !== undefined) return { call: this.#ofTasks.get(task) }
    const own = callOfStream()
    return own instanceof OpenCall ? { call: own } : undefined
  }

  /** Else it may be meant for another caller. Calls of one run have one, who pays for each. */
  get #areOfOneRun(): boolean {
    return new Set(this.#runs.values()).size === 1
  }

  /**
   * A call that asks does not end before it is answered: a question is that of the one which is left when the others have ended, or ask something
   * themselves. Where all that are left ask something, it does not matter whose question is whose: the server knows its answer.
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
