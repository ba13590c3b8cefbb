import { wrapWords } from '../wrap-words.ts'
import { cellsOf, type KnownRows, type Layout, layOut } from './layout.ts'

/** The number of cells that must be free beside the prompt for typing. */
const roomToType = 20
/** The length of a prompt that fits on any screen. */
const shortPrompt = 4

/** Lays out a prompt and the text after it. If the prompt leaves too little space for typing, the text starts in its own row. */
export class PromptLayout {
  readonly #prompt: string
  readonly #known: KnownRows = new Map()
  #columns = 0

  constructor(prompt: string) {
    this.#prompt = prompt
  }

  of(text: string, at: number, columns: number): Layout {
    if (columns !== this.#columns) this.#known.clear()
    this.#columns = columns
    const prompt = this.#prompt
    const hasLine = prompt.endsWith('\n')
    if (!hasLine && cellsOf(prompt) <= Math.max(shortPrompt, columns - roomToType)) return layOut(text, at, prompt, columns, this.#known)
    const before = prompt
      .trimEnd()
      .split('\n')
      .flatMap((line) => wrapWords(line, columns, { exact: true }))
    const isBeside = !hasLine && cellsOf(before.at(-1) ?? '') + roomToType < columns
    const { rows, cursor } = layOut(text, at, isBeside ? `${before.pop()} ` : '> ', columns, this.#known)
    return { rows: [...before, ...rows], cursor: { ...cursor, row: cursor.row + before.length } }
  }
}
