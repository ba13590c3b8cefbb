import { giveWay } from '../../core/time/give-way.ts'

/** The source of an event stream. */
export interface SseSource {
  /** Returns what can be sent now, up to about `characters` characters; `''` if there is nothing yet. */
  take(characters: number): string
  /** Whether nothing follows the text that `take` has returned. */
  readonly ended: boolean
  /** The last frame of a stream that is closed before its end. Default: a `CLOSE` with the reason. */
  lastWords?(reason: string): string | undefined
  /**
   * Adds a callback that is called when there may be something to take, or when the source has ended. Returns a function that removes it.
   */
  onReady(wake: () => void): () => void
}

/** Headers of an event stream. Proxies must not store, change or buffer it. */
export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** Formats a frame of an event stream. https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function sseFrame(type: string, data: string, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${data}\n\n`
}

/** Maximum number of characters that wait for a reader. */
const readyCharacters = 65_536

const encoder = new TextEncoder()

/** An open event stream. Takes as much from its source as its reader reads. */
export class SseStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #source: SseSource
  readonly #onClose: (ending: 'ended' | 'gone') => void
  readonly #unsubscribe: () => void
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #scheduled = false
  #lastTaken = performance.now()

  constructor(source: SseSource, onClose: (ending: 'ended' | 'gone') => void) {
    this.#source = source
    this.#onClose = onClose
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: async () => {
          this.#lastTaken = performance.now()
          // Many streams may be read at once.
          await giveWay()
          this.#flush()
        },
        cancel: () => this.#end('gone'),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: readyCharacters }),
    )
    this.#unsubscribe = source.onReady(() => this.#schedule())
  }

  /** Whether a reader has left data unread since a time. A reader that reads has room for more. */
  isStalledSince(time: number): boolean {
    return this.#room() <= 0 && this.#lastTaken < time
  }

  beat(): void {
    if (this.#room() > 0) this.#controller?.enqueue(encoder.encode(': keep-alive\n\n'))
  }

  close(reason: string): void {
    const controller = this.#controller
    if (controller === undefined) return
    this.#flush()
    if (this.#controller === undefined) return
    controller.enqueue(encoder.encode(this.#source.lastWords?.(reason) ?? sseFrame('CLOSE', JSON.stringify({ reason }))))
    this.#end('gone')
    controller.close()
  }

  /** Drops a reader. It can't be told why, because it reads nothing; the writer gets the reason. */
  drop(reason: string): void {
    const controller = this.#controller
    this.#end('gone')
    controller?.error(new Error(reason))
  }

  #room(): number {
    return this.#controller?.desiredSize ?? 0
  }

  /** Batches events: they come in bursts, many from one piece of a model's response. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    const controller = this.#controller
    while (controller !== undefined && this.#controller !== undefined && this.#room() > 0) {
      const text = this.#source.take(readyCharacters)
      if (text !== '') controller.enqueue(encoder.encode(text))
      else if (!this.#source.ended) return
      else {
        this.#end('ended')
        controller.close()
      }
    }
  }

  #end(ending: 'ended' | 'gone'): void {
    if (this.#controller === undefined) return
    this.#controller = undefined
    this.#unsubscribe()
    this.#onClose(ending)
  }
}
