import { Pauses } from '../../tools/yield-to-event-loop.ts'
import { HttpProblem } from './problem.ts'

/** What an event stream is fed from. */
export interface SseSource {
  /** What can be sent now, at most about so many characters of it; `''`: nothing yet. */
  take(characters: number): string
  /** Nothing will follow what `take` has given. */
  readonly ended: boolean
  /** The last frame of a stream that has to be closed before its end. Default: a `CLOSE` with the reason. */
  lastWords?(reason: string): string
  /** Calls back when there may be something to take, or it has ended. Returns the function that unsubscribes. */
  onReady(wake: () => void): () => void
}

export interface SseOptions {
  headers?: Readonly<Record<string, string>>
  /** Called once, when the stream is over, however that came. `gone`: the reader left or was dropped before the source had ended. */
  onClose?(ending: 'ended' | 'gone'): void
}

export interface SseTimes {
  /** How often a comment is sent where nothing else is, so that a connection whose other end is gone is found out. */
  heartbeatMs: number
  /** How long a reader may take nothing before it is dropped. */
  stallMs: number
}

/** A frame of the event stream format. https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function sseFrame(type: string, data: string, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${data}\n\n`
}

/** Characters that may lie ready for a reader that does not take them. */
const readyCharacters = 65_536

/** All open event streams: one timer for them all, and the way to end them. */
export class SseStreams {
  readonly #times: SseTimes
  readonly #open = new Set<SseStream>()
  readonly #onDrop: (reason: string) => void
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(times: SseTimes, onDrop: (reason: string) => void) {
    this.#times = times
    this.#onDrop = onDrop
  }

  get size(): number {
    return this.#open.size
  }

  respond(source: SseSource, { headers, onClose }: SseOptions = {}): Response {
    if (this.#closed) throw new HttpProblem(503, 'shutting_down', 'The service is shutting down')
    const stream = new SseStream(source, (ending) => {
      this.#open.delete(stream)
      if (this.#open.size === 0) this.#stopTimer()
      onClose?.(ending)
    })
    this.#open.add(stream)
    this.#timer ??= setInterval(() => this.#tick(), this.#times.heartbeatMs).unref()
    return new Response(stream.body, {
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no', ...headers },
    })
  }

  /** Ends every stream with a last frame that says why. */
  closeAll(reason: string): void {
    for (const stream of this.#open) stream.close(reason)
  }

  /** Takes no further ones, too. */
  dispose(reason: string): void {
    this.#closed = true
    this.closeAll(reason)
    this.#stopTimer()
  }

  #tick(): void {
    const before = performance.now() - this.#times.stallMs
    for (const stream of this.#open) {
      if (!stream.isStalledSince(before)) stream.beat()
      else {
        stream.drop('the reader has taken nothing for too long')
        this.#onDrop('stalled')
      }
    }
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const encoder = new TextEncoder()
const pauses = new Pauses()

/** One open event stream. Takes from its source as much as its reader takes from it. */
class SseStream {
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
          // Very many of them may be read at once.
          await pauses.take()
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
