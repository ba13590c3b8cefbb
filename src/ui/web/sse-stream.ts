import type { ServerResponse } from 'node:http'
import { giveWay } from '../../core/time/give-way.ts'

/** The source of an event stream. */
export interface SseSource {
  /** Returns the text to send next, up to about `characters` characters, or `''` if there is nothing to send yet. */
  take(characters: number): string
  /** Whether the source has ended, so that `take` has nothing more to return. */
  readonly ended: boolean
  /** The last frame of a stream that is closed before its end. Default: a `CLOSE` with the reason. */
  lastWords?(reason: string): string | undefined
  /**
   * Adds a callback that is called when there may be something to take, or when the source has ended. Returns a function that removes it.
   */
  onReady(wake: () => void): () => void
}

/** Headers of an event stream. They keep proxies from storing, changing or buffering it. */
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

interface Output {
  /** Returns how many characters the reader can still buffer. Zero or negative if the reader is too slow. */
  room(): number
  write(text: string): void
  end(): void
  fail(error: Error): void
}

/**
 * An open event stream. It takes only as much from its source as its reader reads. Nothing is sent until `body` is read or `sendTo` is
 * called. Use only one of the two.
 */
export class SseStream {
  readonly #source: SseSource
  readonly #onClose: (ending: 'ended' | 'gone') => void
  readonly #unsubscribe: () => void
  #output: Output | undefined
  #body: ReadableStream<Uint8Array> | undefined
  #isOver = false
  #scheduled = false
  #lastTaken = performance.now()

  constructor(source: SseSource, onClose: (ending: 'ended' | 'gone') => void) {
    this.#source = source
    this.#onClose = onClose
    this.#unsubscribe = source.onReady(() => this.#schedule())
  }

  /** The stream as the body of a `Response`. */
  get body(): ReadableStream<Uint8Array> {
    this.#body ??= this.#openBody()
    return this.#body
  }

  /** Sends the stream as the body of a Node.js server's response. */
  sendTo(response: ServerResponse): void {
    const output: Output = {
      room: () => readyCharacters - response.writableLength,
      write: (text) => void response.write(text),
      end: () => void response.end(),
      fail: (error) => void response.destroy(error),
    }
    response.on('drain', () => this.#takeMore())
    response.on('close', () => this.#end('gone'))
    response.on('error', () => this.#end('gone'))
    if (response.destroyed) this.#end('gone')
    this.#open(output)
    this.#flush()
  }

  #openBody(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#open({
            room: () => controller.desiredSize ?? 0,
            write: (text) => controller.enqueue(encoder.encode(text)),
            end: () => controller.close(),
            fail: (error) => controller.error(error),
          })
        },
        pull: () => this.#takeMore(),
        cancel: () => this.#end('gone'),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: readyCharacters }),
    )
  }

  #open(output: Output): void {
    if (this.#isOver) output.end()
    else this.#output = output
  }

  async #takeMore(): Promise<void> {
    this.#lastTaken = performance.now()
    // Gives other work a turn, because many streams may be read at once.
    await giveWay()
    this.#flush()
  }

  /** Whether the reader has left data unread since `time`. */
  isStalledSince(time: number): boolean {
    return this.#room() <= 0 && this.#lastTaken < time
  }

  beat(): void {
    if (this.#room() > 0) this.#output?.write(': keep-alive\n\n')
  }

  close(reason: string): void {
    this.#flush()
    const output = this.#output
    if (output !== undefined) output.write(this.#source.lastWords?.(reason) ?? sseFrame('CLOSE', JSON.stringify({ reason })))
    this.#end('gone')
    output?.end()
  }

  /**
   * Drops a reader that reads nothing. The reason becomes the error of the stream. No frame with the reason is sent, because the reader
   * would not receive it.
   */
  drop(reason: string): void {
    const output = this.#output
    this.#end('gone')
    output?.fail(new Error(reason))
  }

  #room(): number {
    return this.#output?.room() ?? 0
  }

  /** Sends events that occur within a short time together, because one piece of a model's response may cause many events. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    const output = this.#output
    while (output !== undefined && this.#output !== undefined && output.room() > 0) {
      const text = this.#source.take(readyCharacters)
      if (text !== '') output.write(text)
      else if (!this.#source.ended) return
      else {
        this.#end('ended')
        output.end()
      }
    }
  }

  #end(ending: 'ended' | 'gone'): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#output = undefined
    this.#unsubscribe()
    this.#onClose(ending)
  }
}
