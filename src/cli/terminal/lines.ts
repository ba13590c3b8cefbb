import { createInterface, type Interface } from 'node:readline/promises'
import type { TypedText } from './editor/keyed-input.ts'
import type { PickerItem } from './editor/picker.ts'
import type { CliIO } from './terminal.ts'

/** The input of a chat, as lines from a terminal, a file or a pipe. */
export interface Lines {
  /** Whether the lines are typed by a person at a terminal. */
  readonly interactive: boolean
  /** Called for Ctrl-C on a terminal. The process does not end. `typed` says whether there is text after the prompt. */
  onInterrupt: (typed: boolean) => void
  /** Called for Ctrl-D while no input is being read. After this, `next` returns the queued input and then resolves with undefined. */
  onLeave: () => void
  /**
   * Called for Esc while no question is asked. `typed` says whether there is text after the prompt. `isTwice` says whether Esc was pressed
   * twice in quick succession.
   */
  onEscape: (typed: boolean, isTwice: boolean) => void
  /** Resolves with the next text, without its line end. Resolves with undefined at the end of the input, or if `signal` is aborted. */
  next(signal: AbortSignal): Promise<TypedText | undefined>
  /**
   * Asks a question instead of reading the next line. The result `''` means no answer. If `draft` is given, it is shown for editing, and
   * Ctrl-C ends the question without an answer. Rejects if `signal` is aborted.
   */
  ask(question: string, signal: AbortSignal, draft?: string): Promise<string>
  /**
   * Asks a question that is answered with a single key. `answers` maps each key to its meaning. Resolves with the key, or with `'n'` for
   * Esc and at the end of the input. Enter counts as `onEnter`, by default `'n'`. Ignores pasted keys, and keys pressed before the question
   * and its answers are on the screen. Rejects if `signal` is aborted.
   */
  choose<K extends string>(
    question: string,
    answers: Readonly<Record<K, string>>,
    signal: AbortSignal,
    onEnter?: NoInfer<K>,
  ): Promise<K | 'n'>
  /** Shows a list. Resolves with the index of the chosen item, or with undefined if none was chosen. Rejects if `signal` is aborted. */
  pick(title: string, items: readonly PickerItem[], signal: AbortSignal): Promise<number | undefined>
  clearLine(): void
  /** Puts input that was typed ahead back into the prompt, so that the person can edit it. The text `first` comes before it. */
  takeBack(first?: TypedText): void
  /** Lets another program use the terminal during `work`. */
  lend<T>(work: () => Promise<T>): Promise<T>
  /** `hide` removes the prompt from the screen while other output is written. `show` restores the prompt. */
  hide(): void
  show(): void
  close(): void
}

/** The lines of a file or pipe. Lines that arrive before `next` is called are queued. */
export class PipedLines implements Lines {
  readonly interactive = false
  onInterrupt: (typed: boolean) => void = () => {}
  onLeave: () => void = () => {}
  onEscape: () => void = () => {}
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

  async choose(): Promise<'n'> {
    return 'n'
  }

  async pick(): Promise<undefined> {
    return undefined
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
