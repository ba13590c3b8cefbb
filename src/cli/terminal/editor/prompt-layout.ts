import { wrapWords } from '../wrap-words.ts'
import { cellsOf, type KnownRows, type Layout, layOut } from './layout.ts'

/** What a terminal needs beside the prompt, so that there is room to type. */
const roomToType = 20
/** Cells of a prompt that leaves room on any screen. */
const shortPrompt = 4

/** A prompt and what is typed behind it. A prompt that leaves no room to type stands on rows of its own. */
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
