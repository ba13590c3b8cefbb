import { giveWay } from '../../core/time/give-way.ts'

/** What an event stream is fed from. */
export interface SseSource {
  /** What can be sent now, at most about so many characters of it; `''`: nothing yet. */
  take(characters: number): string
  /** Nothing will follow what `take` has given. */
  readonly ended: boolean
  /** The last frame of a stream that has to be closed before its end. Default: a `CLOSE` with the reason. */
  lastWords?(reason: string): string | undefined
  /** Calls back when there may be something to take, or it has ended. Returns the function that unsubscribes. */
  onReady(wake: () => void): () => void
}

/** Headers of a response that is an event stream: what lies between must neither keep, change nor hold back what is sent. */
export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** A frame of the event stream format. https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function sseFrame(type: string, data: string, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${data}\n\n`
}

/** Characters that may lie ready for a reader that does not take them. */
const readyCharacters = 65_536

const encoder = new TextEncoder()

/** One open event stream. Takes from its source as much as its reader takes from it. */
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
          // Very many may be read at once.
          await giveWay()
          this.#flush()
        },
        cancel: () => this.#end('gone'),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: readyCharacters }),
    )
    this.#unsubscribe = source.onReady(() => this.#schedule())
  }

  /** A reader that takes what there is has room for more. */
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

  /** A reader that takes nothing can't be told why; whoever writes to it is. */
  drop(reason: string): void {
    const controller = this.#controller
    this.#end('gone')
    controller?.error(new Error(reason))
  }

  #room(): number {
    return this.#controller?.desiredSize ?? 0
  }

  /** Events come in bursts, many of one piece of a model's response: those of one go out together. */
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
