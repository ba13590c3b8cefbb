import { createInterface, type Interface } from 'node:readline/promises'
import type { TypedText } from './editor/keyed-input.ts'
import type { CliIO } from './terminal.ts'

/** Where a chat has its lines from. */
export interface Lines {
  /** Whether somebody sits there. */
  readonly interactive: boolean
  /** Called for Ctrl-C on a terminal, which doesn't end the process then; `typed` tells whether there is text behind the prompt. */
  onInterrupt: (typed: boolean) => void
  /** Called for Ctrl-D while nobody reads: `next` resolves with undefined then, once there is nothing that was entered before. */
  onLeave: () => void
  /** The next text without its end; undefined at the end of the input, and when `signal` is aborted. */
  next(signal: AbortSignal): Promise<TypedText | undefined>
  /**
   * Asks something else than for the next line; without an answer it is `''`. `draft` stands there to be edited. Rejects when `signal` is
   * aborted.
   */
  ask(question: string, signal: AbortSignal, draft?: string): Promise<string>
  /** Drops what has been typed. */
  clearLine(): void
  /** Puts what was entered before its turn behind the next prompt, to be edited; `first` before it. */
  takeBack(first?: TypedText): void
  /** Lets another program have the terminal while `work` goes on. */
  lend<T>(work: () => Promise<T>): Promise<T>
  /** Takes the prompt off the screen while something else is written, and puts it back. */
  hide(): void
  show(): void
  close(): void
}

/** The lines of a file or pipe. Those that come early wait. */
export class PipedLines implements Lines {
  readonly interactive = false
  onInterrupt: (typed: boolean) => void = () => {}
  onLeave: () => void = () => {}
  readonly #lines: Interface
  readonly #queue: string[] = []
  #wake: (() => void) | undefined
  #closed = false

  constructor({ stdin }: CliIO) {
    this.#lines = createInterface({ input: stdin, terminal: false, crlfDelay: Number.POSITIVE_INFINITY })
    this.#lines.on('line', (line) => {
      this.#queue.push(line)
      this.#wake?.()
    })
    this.#lines.on('close', () => {
      this.#closed = true
      this.#wake?.()
    })
  }

  async next(signal: AbortSignal): Promise<TypedText | undefined> {
    if (this.#queue.length === 0 && !this.#closed && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = () => resolve()
      this.#wake = wake
      signal.addEventListener('abort', wake)
      await promise
      signal.removeEventListener('abort', wake)
    }
    const text = signal.aborted ? undefined : this.#queue.shift()
    return text === undefined ? undefined : { text, pasted: [] }
  }

  ask(question: string, signal: AbortSignal): Promise<string> {
    return this.#lines.question(question, { signal })
  }

  clearLine(): void {}

  takeBack(): void {}

  lend<T>(work: () => Promise<T>): Promise<T> {
    return work()
  }

  hide(): void {}

  show(): void {}

  close(): void {
    this.#lines.close()
  }
}
