import { type SseSource, SseStream, sseHeaders } from '../../ui/web/sse-stream.ts'
import { HttpProblem } from './problem.ts'
import { Reply } from './reply.ts'

export interface SseOptions {
  headers?: Readonly<Record<string, string>>
  /**
   * Called once, when the stream has ended. `gone` means that the reader disconnected or was dropped before the source ended. Must not
   * throw.
   */
  onClose?(ending: 'ended' | 'gone'): void
}

export interface SseTimes {
  /** The interval at which comments are sent on an idle stream, in milliseconds. Comments detect dead connections. */
  heartbeatMs: number
  /** How long a reader may leave data unread before it is dropped, in milliseconds. */
  stallMs: number
}

/** All open event streams. The streams share one timer, and can be closed together. */
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

  respond(source: SseSource, { headers, onClose }: SseOptions = {}): Reply {
    if (this.#closed) throw new HttpProblem(503, 'shutting_down', 'The service is shutting down')
    const stream = new SseStream(source, (ending) => {
      this.#open.delete(stream)
      if (this.#open.size === 0) this.#stopTimer()
      onClose?.(ending)
    })
    this.#open.add(stream)
    this.#timer ??= setInterval(() => this.#tick(), this.#times.heartbeatMs).unref()
    return new Reply(stream, { ...sseHeaders, ...headers })
  }

  /** Ends every stream. The last frame of each stream contains the reason. */
  closeAll(reason: string): void {
    for (const stream of this.#open) stream.close(reason)
  }

  /** Ends every stream and refuses new streams. */
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
