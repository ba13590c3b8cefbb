import { visible } from '../../../core/text/visible.ts'
import { shorten } from '../terminal.ts'
import { isEnter, isTyped, nameOf, type PressedKey } from './keys.ts'
import { cellsOf } from './layout.ts'

/** A row of a list to choose from, with its text and a detail to the right. */
export interface PickerItem {
  text: string
  detail?: string
}

const mostShown = 10
const keysHelp = '↑ ↓ choose · Enter takes it · Esc leaves · typing filters'

/** A list on the screen from which a person chooses one item. */
export class Picker {
  readonly #title: string
  readonly #items: readonly PickerItem[]
  #query = ''
  /** The index of the current item among the items that match. */
  #at = 0

  constructor(title: string, items: readonly PickerItem[]) {
    this.#title = title
    this.#items = items
  }

  /** The index of the chosen item in the whole list. Undefined if no item matches. */
  get chosen(): number | undefined {
    return this.#matching[this.#at]
  }

  get #matching(): number[] {
    const wanted = this.#query.toLowerCase()
    return [...this.#items.entries()].flatMap(([at, { text, detail = '' }]) =>
      `${text} ${detail}`.toLowerCase().includes(wanted) ? [at] : [],
    )
  }

  /** Handles a key. Returns undefined if the list stays open. */
  press(text: string | undefined, key: PressedKey): 'chosen' | 'left' | undefined {
    const name = nameOf(key)
    const last = this.#matching.length - 1
    if (isEnter(key)) return this.chosen === undefined ? undefined : 'chosen'
    if (/^(meta-)?escape$/.test(name) || name === 'ctrl-d' || name === 'ctrl-c') return 'left'
    if (name === 'up' || name === 'ctrl-p') this.#at = Math.max(0, this.#at - 1)
    else if (name === 'down' || name === 'ctrl-n') this.#at = Math.min(Math.max(0, last), this.#at + 1)
    else if (name === 'backspace' || name === 'ctrl-h') this.#filter(this.#query.slice(0, -1))
    else if (name === 'ctrl-u') this.#filter('')
    else if (isTyped(text, key)) this.#filter(this.#query + text)
    return undefined
  }

  #filter(query: string): void {
    this.#query = query
    this.#at = 0
  }

  /** Returns the rows that show the part of the list around the current item. */
  rows(columns: number, height: number): string[] {
    const matching = this.#matching
    const most = Math.max(1, Math.min(mostShown, height - 2))
    const from = Math.max(0, Math.min(this.#at - Math.floor(most / 2), matching.length - most))
    const shown = matching.slice(from, from + most).map((item, row) => this.#row(item, from + row === this.#at, columns))
    const count = matching.length > most ? ` (${this.#at + 1} of ${matching.length})` : ''
    const none = matching.length === 0 ? ['  nothing matches'] : []
    const help = this.#query === '' ? keysHelp : `filter: ${visible(this.#query)}`
    return [`${this.#title}${count}`, ...shown, ...none, help].map((row) => shorten(row, columns))
  }

  #row(at: number, isCurrent: boolean, columns: number): string {
    const { text = '', detail: given = '' } = this.#items[at] ?? {}
    const detail = visible(given)
    const room = columns - (detail === '' ? 0 : cellsOf(detail) + 2) - 2
    const beginning = shorten(visible(text), Math.max(8, room))
    const space = detail === '' ? '' : ' '.repeat(Math.max(2, columns - 2 - cellsOf(beginning) - cellsOf(detail)))
    return `${isCurrent ? '❯' : ' '} ${beginning}${space}${detail}`
  }
}
