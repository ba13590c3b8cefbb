import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** What a worker reports to the ledger. */
export type Told =
  /** The model of a run, or of an agent inside one of its calls (`<run>/<place>`), is asked. `turn` counts from 0. */
  | { kind: 'model'; run: string; turn: number; pid: number }
  /** A tool is executed. `place` names the call within its run; `shop` comes from the context, `shopStored` from the metadata. */
  | { kind: 'call'; run: string; turn: number; place: string; tool: string; key: string; shop: string; shopStored: string; pid: number }
  /** `reconcile` asks whether a call took effect. */
  | { kind: 'reconcile'; run: string; key: string; pid: number }

/** An entry in the ledger. */
export type Entry = Told & { n: number }

/** An entry whose answer is delayed. */
export interface Held {
  entry: Entry
  answer(): void
}

/** The truth about what happened: an HTTP server outside the workers. Tools and models report to it before they act. */
export class Ledger implements AsyncDisposable {
  readonly entries: Entry[] = []
  readonly #server = createServer()
  #hold: { from: number; kind: Told['kind']; held(held: Held): void } | undefined
  readonly #answers = new Set<() => void>()
  /** The keys of calls that did not take effect. Only the process that was told so may make the call. */
  readonly #reserved = new Map<string, number>()

  static async open(): Promise<Ledger> {
    const ledger = new Ledger()
    const server = ledger.#server
    server.on('request', async (request, response) => ledger.#take(JSON.parse(await text(request)), response))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return ledger
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Delays the answer to the first entry of a kind after `others` more. One at a time. */
  hold(others: number, kind: Told['kind']): Promise<Held> {
    const { promise, resolve } = Promise.withResolvers<Held>()
    this.#hold = { from: this.entries.length + others, kind, held: resolve }
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const answer of this.#answers) answer()
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #take(told: Told, response: ServerResponse): void {
    const answer = this.#enter(told)
    const n = this.entries.length - 1
    const send = () => {
      this.#answers.delete(send)
      response.end(JSON.stringify(answer))
    }
    const hold = this.#hold
    const entry = this.entries[n]
    if (hold === undefined || entry === undefined || n < hold.from || entry.kind !== hold.kind) {
      send()
      return
    }
    this.#hold = undefined
    this.#answers.add(send)
    hold.held({ entry, answer: send })
  }

  #enter(told: Told): { refused?: true; ran?: boolean } {
    if (told.kind === 'reconcile') {
      const ran = this.entries.some((entry) => entry.kind === 'call' && entry.key === told.key)
      if (!ran) this.#reserved.set(told.key, told.pid)
      this.entries.push({ ...told, n: this.entries.length })
      return { ran }
    }
    if (told.kind === 'call' && (this.#reserved.get(told.key) ?? told.pid) !== told.pid) return { refused: true }
    this.entries.push({ ...told, n: this.entries.length })
    return {}
  }
}
