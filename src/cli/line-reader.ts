import { createInterface, type Interface } from 'node:readline/promises'
import type { CliIO } from './terminal.ts'

/**
 * The lines of stdin, one at a time. On a terminal they are edited behind a prompt on stderr, with the earlier ones at hand, and Ctrl-C
 * comes to `onInterrupt` instead of ending the process. Lines that come early wait.
 */
export class LineReader {
  readonly interactive: boolean
  /** Called for Ctrl-C on a terminal; `typed` tells whether there is text behind the prompt. */
  onInterrupt: (typed: boolean) => void = () => {}
  readonly #lines: Interface
  readonly #queue: string[] = []
  #wake: (() => void) | undefined
  #closed = false

  constructor({ stdin, stderr }: CliIO, prompt: string) {
    this.interactive = stdin.isTTY === true && stderr.isTTY === true
    this.#lines = createInterface({
      input: stdin,
      ...(this.interactive ? { output: stderr, prompt } : {}),
      terminal: this.interactive,
      crlfDelay: Number.POSITIVE_INFINITY,
    })
    this.#lines.on('line', (line) => {
      this.#queue.push(line)
      this.#wake?.()
    })
    this.#lines.on('SIGINT', () => this.onInterrupt(this.#lines.line !== ''))
    this.#lines.on('close', () => {
      this.#closed = true
      this.#wake?.()
    })
  }

  /** The next line without its end; undefined at the end of the input, and when `signal` is aborted. */
  async next(signal: AbortSignal): Promise<string | undefined> {
    if (this.#queue.length === 0 && !this.#closed && !signal.aborted) {
      if (this.interactive) this.#lines.prompt()
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = () => resolve()
      this.#wake = wake
      signal.addEventListener('abort', wake)
      await promise
      signal.removeEventListener('abort', wake)
    }
    return signal.aborted ? undefined : this.#queue.shift()
  }

  /** Asks something else than for the next line. Rejects when `signal` is aborted. */
  ask(question: string, signal: AbortSignal): Promise<string> {
    return this.#lines.question(question, { signal })
  }

  /** Drops what has been typed, and shows the prompt again. */
  clearLine(): void {
    this.#lines.write(null, { ctrl: true, name: 'e' })
    this.#lines.write(null, { ctrl: true, name: 'u' })
  }

  showPrompt(): void {
    this.#lines.prompt()
  }

  close(): void {
    this.#lines.close()
  }
}
