import type { JsonObject } from '../../core/messages.ts'
import { settlesBeforeAbort } from '../wait.ts'

/** A request as the mock provider received it. */
export interface MockRequest {
  /** The method in upper case, such as `POST`. */
  method: string
  /** The path of the request, with the query. */
  path: string
  /** The request headers. Header names are in lower case. Several values of one header are joined with `, `. */
  headers: Record<string, string>
  /** The parsed JSON of the body, or `{}` if the body is not JSON. */
  body: JsonObject
  /** The body as it was sent. */
  rawBody: string
  /** The time at which the request arrived, in milliseconds on the clock of `performance.now()`. */
  receivedAt: number
  /** True once the exchange has ended: the response is complete, the connection was broken off, or the client has disconnected. */
  ended: boolean
  /** True if the client disconnected before the response ended. */
  aborted: boolean
}

/** Lets tests wait for events on the server instead of sleeping. */
export class Watch {
  readonly #checks = new Set<() => void>()
  readonly #closed = new AbortController()

  /**
   * Calls `look` immediately and after every change, and resolves with its first result that is not undefined. Rejects if `signal` is
   * aborted or the server closes.
   */
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
