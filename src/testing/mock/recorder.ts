import type { JsonObject } from '../../core/messages.ts'
import { settlesBeforeAbort } from '../wait.ts'

/** A request as the mock provider received it. */
export interface MockRequest {
  /** In upper case, such as `POST`. */
  method: string
  /** As requested, with the query. */
  path: string
  /** Names in lower case; several values of one name are joined by `, `. */
  headers: Record<string, string>
  /** The parsed JSON; `{}` when there was none. */
  body: JsonObject
  /** The body as it was sent. */
  rawBody: string
  /** When it had arrived, in milliseconds on the clock of `performance.now()`. */
  receivedAt: number
  /** True once the exchange is over: answered whole, broken off, or given up by the client. */
  ended: boolean
  /** True when the client went away before the response had ended. */
  aborted: boolean
}

/** Lets tests wait for what happens on the server instead of sleeping. */
export class Watch {
  readonly #checks = new Set<() => void>()
  readonly #closed = new AbortController()

  /** Resolves with what `look` finds as soon as it finds something; looked at now and after every change. Rejects when `signal` is aborted or the server closes. */
  async until<T>(look: () => T | undefined, what: string, signal?: AbortSignal): Promise<T> {
    const now = look()
    if (now !== undefined) return now
    let check = (): void => {}
    const found = new Promise<T>((resolve) => {
      check = () => {
        const value = look()
        if (value !== undefined) resolve(value)
      }
    })
    this.#checks.add(check)
    const ended = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal])
    try {
      if (!(await settlesBeforeAbort(found, ended)))
        throw new Error(`Gave up waiting for ${what}: ${signal?.aborted ? 'aborted' : 'the server was closed'}`)
      return await found
    } finally {
      this.#checks.delete(check)
    }
  }

  changed(): void {
    for (const check of [...this.#checks]) check()
  }

  close(): void {
    this.#closed.abort('the server is closed')
  }
}
