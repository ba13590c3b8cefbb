import type { SseSource } from '../../ui/web/sse-stream.ts'
import { HttpProblem } from '../http/problem.ts'

/** Maximum number of unread characters. A reader that falls further behind is dropped, because a run can't be slowed down. */
const maxWaiting = 4_000_000

const asleep = (): void => {}

/** The queue of frames that a streamed reply sends to its reader. */
export class ReplyFrames implements SseSource {
  /** Formats an error as the last frame of a stream that is cut off. */
  readonly #failure: (problem: HttpProblem) => string
  #wake = asleep
  #frames: (string | (() => string))[] = []
  #waiting = 0
  #closed = false
  /** Called when the reader is too slow. */
  onOverflow: () => void = () => {}

  constructor(failure: (problem: HttpProblem) => string) {
    this.#failure = failure
  }

  get ended(): boolean {
    return this.#closed && this.#frames.length === 0
  }

  onReady(wake: () => void): () => void {
    this.#wake = wake
    return () => {
      this.#wake = asleep
    }
  }

  take(characters: number): string {
    let text = ''
    let taken = 0
    for (const frame of this.#frames) {
      const written = typeof frame === 'string' ? frame : frame()
      text += written
      taken++
      if (typeof frame === 'string') this.#waiting -= frame.length
      if (text.length >= characters) break
    }
    this.#frames = this.#frames.slice(taken)
    return text
  }

  lastWords(reason: string): string {
    return this.#failure(new HttpProblem(503, 'shutting_down', reason))
  }

  /** Adds a frame. A function is called when the frame is read, so that the frame takes no memory until then. */
  push(frame: string | (() => string)): void {
    if (this.#closed) return
    if (this.#waiting > maxWaiting) {
      this.#frames = [this.#failure(new HttpProblem(503, 'reader_too_slow', 'The client reads too slowly'))]
      this.#closed = true
      this.onOverflow()
    } else {
      this.#frames.push(frame)
      if (typeof frame === 'string') this.#waiting += frame.length
    }
    this.#wake()
  }

  /** Ends the stream after the frames that were added so far. */
  close(): void {
    this.#closed = true
    this.#wake()
  }
}
