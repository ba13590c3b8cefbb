import type { Key } from 'node:readline'
import type { CliIO } from '../terminal.ts'
import { type Complete, commonBeginning } from './completions.ts'
import { DrawnRows } from './drawn-rows.ts'
import { EditedText } from './edited-text.ts'
import { HistorySearch } from './history-search.ts'
import { cellsOf, layOut, withinRows } from './layout.ts'
import type { PromptHistory } from './prompt-history.ts'

/** What a terminal needs beside the prompt, so that there is room to type. */
const roomToType = 20
/** Cells of a prompt that leaves room on any screen. */
const shortPrompt = 4
const mostShownWords = 12

/** A key as Node.js tells of it, with names its types don't have: `paste-start`, `paste-end`. */
export type PressedKey = Key & { sequence?: string }

export interface KeyedInputOptions {
  prompt: string
  /** What Up and Down go through, and Ctrl-R searches. */
  history?: PromptHistory
  complete?: Complete
  /** What further keys do, by their names: `ctrl-o`. */
  keys?: Readonly<Record<string, () => void>>
}

type Action = (input: KeyedInput) => void

/** One text that somebody types at a prompt, from its first key to Enter. */
export class KeyedInput {
  /** The text; undefined where there is none: its signal was aborted, or the input is at its end. */
  readonly ended: Promise<string | undefined>
  readonly #io: CliIO
  readonly #options: KeyedInputOptions
  readonly #rows: DrawnRows
  readonly #edited = new EditedText()
  readonly #resolve: (text: string | undefined) => void
  /** What could be meant by the word at the cursor: shown below, until the next key. */
  #words: readonly string[] = []
  #search: HistorySearch | undefined
  /** How far back in the history the shown text is from; 0: it is the one that is typed. */
  #back = 0
  #draft = ''
  #isHidden = false
  #isOver = false

  constructor(io: CliIO, options: KeyedInputOptions) {
    this.#io = io
    const { columns = 80 } = io.stderr
    // A prompt that leaves no room stands on lines of its own.
    const isLong = options.prompt.endsWith('\n') || cellsOf(options.prompt) > Math.max(shortPrompt, columns - roomToType)
    this.#options = isLong ? { ...options, prompt: '> ' } : options
    this.#rows = new DrawnRows(io.stderr, io.env.TERM !== 'dumb')
    if (isLong) io.stderr.write(`${options.prompt.trimEnd()}\n`)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    this.ended = promise
    this.#resolve = resolve
  }

  get text(): string {
    return this.#edited.text
  }

  begin(draft: string): void {
    this.#edited.set(draft.replace(/\n+$/, ''))
    this.#draw()
  }

  /** Ends it, with what it is on the screen. */
  end(text: string | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#words = []
    this.#search = undefined
    if (!this.#isHidden) this.#leave()
    this.#resolve(text)
  }

  clear(): void {
    this.#edited.set('')
    this.#back = 0
    this.#words = []
    this.#draw()
  }

  /** Makes room for other output. */
  hide(): void {
    if (this.#isOver) return
    this.#isHidden = true
    this.#rows.erase()
  }

  show(): void {
    this.#isHidden = false
    this.#draw()
  }

  resized(): void {
    this.#rows.resized(this.#columns)
    this.hide()
    this.show()
  }

  insert(text: string): void {
    if (this.#search !== undefined) this.#search.type(text)
    else this.#edited.insert(text)
    this.#draw()
  }

  /** Returns whether a search was under way, which has been given up. */
  cancelSearch(): boolean {
    if (this.#search === undefined) return false
    this.#search = undefined
    this.#draw()
    return true
  }

  /** Returns whether this key has ended the text. */
  press(text: string | undefined, key: PressedKey): boolean {
    this.#words = []
    const name = nameOf(key)
    if (this.#search !== undefined && this.#pressInSearch(this.#search, name, text)) {
      this.#draw()
      return false
    }
    if (name === 'return' && !this.#continuesLine()) {
      this.end(this.text)
      return true
    }
    const own = this.#options.keys?.[name]
    const action = actions[name]
    if (own !== undefined) own()
    else if (action !== undefined) action(this)
    else if (isTyped(text, key)) this.#edited.insert(text)
    this.#draw()
    return false
  }

  edit(change: (edited: EditedText) => void): void {
    change(this.#edited)
  }

  /** Up in the text, or to an earlier one. */
  goUp(): void {
    if (!this.#edited.moveUp()) this.#recall(this.#back + 1)
  }

  goDown(): void {
    if (!this.#edited.moveDown()) this.#recall(this.#back - 1)
  }

  search(): void {
    const { history } = this.#options
    if (history !== undefined) this.#search = new HistorySearch(history.prompts)
  }

  complete(): void {
    const before = this.text.slice(0, this.#edited.at)
    const { from, words } = this.#options.complete?.(before) ?? { from: 0, words: [] }
    const [only] = words
    if (only === undefined) return
    const isWhole = words.length === 1 && !only.endsWith('/')
    const word = isWhole ? `${only} ` : commonBeginning(words)
    if (word.startsWith(before.slice(from))) this.#edited.insert(word.slice(before.length - from))
    if (words.length > 1) this.#words = words
  }

  clearScreen(): void {
    this.#rows.erase()
    this.#io.stderr.write('\x1b[H\x1b[2J')
  }

  get #columns(): number {
    return Math.max(2, this.#io.stderr.columns || 80)
  }

  /** A backslash at the end of a line continues it: Enter begins a new one then. */
  #continuesLine(): boolean {
    const { text, at } = this.#edited
    if (text[at - 1] !== '\\' || (text.length > at && text[at] !== '\n')) return false
    this.#edited.delete('left')
    this.#edited.insert('\n')
    return true
  }

  #recall(back: number): void {
    const { prompts = [] } = this.#options.history ?? {}
    if (back < 0 || back > prompts.length) return
    if (this.#back === 0) this.#draft = this.text
    this.#back = back
    this.#edited.set(back === 0 ? this.#draft : (prompts.at(-back) ?? ''))
  }

  /** Returns whether the key was for the search. Others end it, and are for what it has found. */
  #pressInSearch(search: HistorySearch, name: string, text: string | undefined): boolean {
    if (name === 'ctrl-r') search.older()
    else if (name === 'backspace' || name === 'ctrl-h') search.erase()
    else if (name === 'ctrl-g') this.#search = undefined
    else if (text !== undefined && !/\p{Cc}/u.test(text) && !/^(ctrl|meta)-/.test(name)) search.type(text)
    else {
      if (search.found !== undefined) this.#edited.set(search.found)
      this.#search = undefined
      // Escape only ends it.
      return name === 'meta-escape' || name === 'escape'
    }
    return true
  }

  #draw(): void {
    if (this.#isHidden || this.#isOver) return
    const width = this.#columns - 1
    if (this.#search !== undefined) {
      const { query, found } = this.#search
      const prompt = `(${found === undefined && query !== '' ? 'not found' : 'search'}) ${query}: `
      this.#rows.draw(withinRows(layOut(found ?? '', 0, prompt, width), this.#height))
      return
    }
    const { rows, cursor } = layOut(this.text, this.#edited.at, this.#options.prompt, width)
    const below = layOut(this.#shownWords(), 0, '', width).rows.slice(0, Math.max(0, this.#height - 2))
    const shown = withinRows({ rows, cursor }, this.#height - (this.#words.length === 0 ? 0 : below.length))
    this.#rows.draw(this.#words.length === 0 ? shown : { rows: [...shown.rows, ...below], cursor: shown.cursor })
  }

  #shownWords(): string {
    const more = this.#words.length - mostShownWords
    return `${this.#words.slice(0, mostShownWords).join('  ')}${more > 0 ? `  … ${more} more` : ''}`
  }

  get #height(): number {
    return Math.max(1, (this.#io.stderr.rows || 24) - 1)
  }

  /** Leaves the text where it was typed; of one that is higher than the screen, its beginning. */
  #leave(): void {
    const { rows } = layOut(this.text, this.text.length, this.#options.prompt, this.#columns - 1)
    const most = Math.max(1, this.#height - 1)
    const left = rows.length - most
    const shown = left > 1 ? [...rows.slice(0, most), `… ${left} more lines`] : rows
    this.#rows.draw({ rows: shown, cursor: { row: shown.length - 1, column: cellsOf(shown.at(-1) ?? '') } })
    this.#rows.finish()
  }
}

const actions: Readonly<Record<string, Action>> = {
  ...movesOf({
    left: ['left', 'ctrl-b'],
    right: ['right', 'ctrl-f'],
    wordLeft: ['meta-b', 'ctrl-left', 'meta-left'],
    wordRight: ['meta-f', 'ctrl-right', 'meta-right'],
    lineStart: ['home', 'ctrl-a'],
    lineEnd: ['end', 'ctrl-e'],
  }),
  ...deletionsOf({
    left: ['backspace', 'ctrl-h'],
    right: ['delete', 'ctrl-d'],
    wordLeft: ['ctrl-w', 'meta-backspace'],
    wordRight: ['meta-d', 'meta-delete'],
    lineStart: ['ctrl-u'],
    lineEnd: ['ctrl-k'],
  }),
  up: (input) => input.goUp(),
  down: (input) => input.goDown(),
  'ctrl-p': (input) => input.goUp(),
  'ctrl-n': (input) => input.goDown(),
  'ctrl-r': (input) => input.search(),
  'ctrl-y': (input) => input.edit((edited) => edited.paste()),
  'ctrl-l': (input) => input.clearScreen(),
  tab: (input) => input.complete(),
  // Ctrl-J, Alt-Enter; Shift-Enter where a terminal tells it apart.
  enter: (input) => input.insert('\n'),
  'meta-return': (input) => input.insert('\n'),
  'meta-enter': (input) => input.insert('\n'),
  'shift-return': (input) => input.insert('\n'),
}

type Moves = Partial<Record<Parameters<EditedText['move']>[0], readonly string[]>>

function movesOf(moves: Moves): Record<string, Action> {
  return byKey(moves, (how) => (input) => input.edit((edited) => edited.move(how)))
}

function deletionsOf(moves: Moves): Record<string, Action> {
  return byKey(moves, (how) => (input) => input.edit((edited) => edited.delete(how)))
}

function byKey(moves: Moves, actionOf: (how: Parameters<EditedText['move']>[0]) => Action): Record<string, Action> {
  const all = Object.entries(moves) as [Parameters<EditedText['move']>[0], readonly string[]][]
  return Object.fromEntries(all.flatMap(([how, keys]) => keys.map((key) => [key, actionOf(how)])))
}

/** Sequences of terminals that tell Shift-Enter apart. https://sw.kovidgoyal.net/kitty/keyboard-protocol/ */
const shiftReturn = ['\x1b[13;2u', '\x1b[27;2;13~']

function nameOf({ name = '', ctrl, meta, sequence = '' }: PressedKey): string {
  if (shiftReturn.includes(sequence)) return 'shift-return'
  return `${ctrl ? 'ctrl-' : ''}${meta ? 'meta-' : ''}${name}`
}

function isTyped(text: string | undefined, { ctrl, meta }: PressedKey): text is string {
  return text !== undefined && !ctrl && !meta && !/\p{Cc}/u.test(text)
}
