import { createInterface, type Interface } from 'node:readline/promises'
import type { Lines } from './lines.ts'
import type { CliIO } from './terminal.ts'

/** The lines of a file or pipe. Those that come early wait. */
export class PipedLines implements Lines {
  readonly interactive = false
  onInterrupt: (typed: boolean) => void = () => {}
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

  async next(signal: AbortSignal): Promise<string | undefined> {
    if (this.#queue.length === 0 && !this.#closed && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = () => resolve()
      this.#wake = wake
      signal.addEventListener('abort', wake)
      await promise
      signal.removeEventListener('abort', wake)
    }
    return signal.aborted ? undefined : this.#queue.shift()
  }

  ask(question: string, signal: AbortSignal): Promise<string> {
    return this.#lines.question(question, { signal })
  }

  clearLine(): void {}

  showPrompt(): void {}

  close(): void {
    this.#lines.close()
  }
}
