import type { CliIO } from '../terminal.ts'
import { type Complete, commonBeginning } from './completions.ts'
import { DrawnRows } from './drawn-rows.ts'
import { EditedText } from './edited-text.ts'
import { HistorySearch } from './history-search.ts'
import { isTyped, nameOf, type PressedKey } from './keys.ts'
import { cellsOf, type Layout, layOut, withinRows } from './layout.ts'
import type { PromptHistory } from './prompt-history.ts'
import { PromptLayout } from './prompt-layout.ts'

const mostShownWords = 12

export interface KeyedInputOptions {
  prompt: string
  /** The earlier prompts, for Up, Down and Ctrl-R. */
  history?: PromptHistory
  complete?: Complete
  /** Actions for other keys. Each property is the name of a key, such as `ctrl-o`. */
  keys?: Readonly<Record<string, () => void>>
  /** Returns the rows above the input, such as the current status. They may change at any time. */
  above?: () => readonly string[]
}

type Action = (input: KeyedInput) => void

export interface TypedText {
  text: string
  /** The parts of the text that were pasted. */
  pasted: readonly string[]
}

/** When an input is visible: always, only while it contains text, or never. `open` makes an input always visible. */
type Shown = 'always' | 'typed' | 'never'

/** An input line. It is open from the first key to Enter, and returns one text. */
export class KeyedInput {
  /** Resolves with the text. Resolves with undefined if the signal was aborted or the input has ended. */
  readonly ended: Promise<TypedText | undefined>
  readonly #io: CliIO
  readonly #options: KeyedInputOptions
  readonly #rows: DrawnRows
  readonly #layout: PromptLayout
  readonly #edited = new EditedText()
  readonly #resolve: (text: TypedText | undefined) => void
  #shown: Shown
  #pasted: string[] = []
  /** Possible completions of the word at the cursor. They are shown below the text until the next key. */
  #words: readonly string[] = []
  #search: HistorySearch | undefined
  /**
   * The position of the current text in the history: 1 is the newest prompt, 2 the prompt before it. 0 is the text that the person is
   * typing.
   */
  #back = 0
  #draft = ''
  /** How many calls of `hide` have not been undone by `show`. */
  #hidden = 0
  #isOver = false

  constructor(io: CliIO, options: KeyedInputOptions, shown: Shown = 'always') {
    this.#io = io
    this.#options = options
    this.#shown = shown
    this.#layout = new PromptLayout(options.prompt)
    this.#rows = new DrawnRows(io.stderr, io.env.TERM !== 'dumb')
    const { promise, resolve } = Promise.withResolvers<TypedText | undefined>()
    this.ended = promise
    this.#resolve = resolve
  }

  get text(): string {
    return this.#edited.text
  }

  begin({ text, pasted }: TypedText = { text: '', pasted: [] }): void {
    this.#edited.set(text.replace(/\n+$/, ''))
    this.#pasted = [...pasted]
    this.#draw()
  }

  /** Makes the input visible from now on. */
  open(): void {
    this.#shown = 'always'
    this.begin({ text: this.text, pasted: this.#pasted })
  }

  /** Ends the input and leaves it on the screen. */
  end(text: string | undefined): void {
    if (this.#isOver) return
    this.#words = []
    this.#search = undefined
    if (this.#shown !== 'always') this.#rows.erase()
    else if (this.#hidden === 0) this.#leave()
    this.#isOver = true
    this.#resolve(text === undefined ? undefined : { text, pasted: this.#pasted })
  }

  /** Returns the typed text and clears the input. */
  take(): TypedText {
    const taken = { text: this.text, pasted: this.#pasted }
    this.clear()
    return taken
  }

  clear(): void {
    this.#edited.set('')
    this.#pasted = []
    this.#back = 0
    this.#words = []
    this.#draw()
  }

  /** Removes the input from the screen, so that other output can be written. */
  hide(): void {
    if (this.#isOver) return
    this.#hidden++
    this.#rows.erase()
  }

  show(): void {
    this.#hidden--
    this.#draw()
  }

  resized(): void {
    this.#rows.resized(this.#columns)
    this.hide()
    this.show()
  }

  redraw(): void {
    this.#draw()
  }

  insert(text: string): void {
    if (this.#search !== undefined) this.#search.type(text)
    else this.#edited.insert(text)
    this.#draw()
  }

  paste(text: string): void {
    this.#pasted.push(text)
    this.insert(text)
  }

  get isSearching(): boolean {
    return this.#search !== undefined
  }

  /** Ends a search. Returns whether a search was active. */
  cancelSearch(): boolean {
    if (this.#search === undefined) return false
    this.#search = undefined
    this.#draw()
    return true
  }

  /**
   * Handles Enter. Returns whether Enter ends the input. During a search, Enter accepts the match. After a backslash, Enter starts a new
   * line.
   */
  finishes(): boolean {
    const found = this.#search?.found
    this.#search = undefined
    if (found !== undefined) this.#edited.set(found)
    const isEnd = !this.#continuesLine()
    this.#draw()
    return isEnd
  }

  /** Handles a key. Returns whether the key has ended the input. */
  press(text: string | undefined, key: PressedKey): boolean {
    this.#words = []
    const name = nameOf(key)
    if (name === 'return') {
      if (this.finishes()) this.end(this.text)
      return this.#isOver
    }
    if (this.#search !== undefined && this.#pressInSearch(this.#search, name, text)) {
      this.#draw()
      return false
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

  /** Moves the cursor up one line. In the first line, shows the previous prompt of the history. */
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

  /** If the line ends with a backslash, replaces it by a line break. Returns whether the line was continued. */
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

  /** Handles a key during a search. Returns false if the key ends the search and must then be handled as a normal key. */
  #pressInSearch(search: HistorySearch, name: string, text: string | undefined): boolean {
    if (name === 'ctrl-r') search.older()
    else if (name === 'backspace' || name === 'ctrl-h') search.erase()
    else if (name === 'ctrl-g') this.#search = undefined
    else if (text !== undefined && !/\p{Cc}/u.test(text) && !/^(ctrl|meta)-/.test(name)) search.type(text)
    else {
      if (search.found !== undefined) this.#edited.set(search.found)
      this.#search = undefined
      // Escape only ends the search.
      return name === 'meta-escape' || name === 'escape'
    }
    return true
  }

  #draw(): void {
    if (this.#hidden > 0 || this.#isOver || this.#shown === 'never') return
    const above = this.#options.above?.() ?? []
    const isShown = this.#shown === 'always' || this.text !== '' || this.#search !== undefined
    const own = isShown ? this.#ownRows(Math.max(1, this.#height - above.length)) : undefined
    const row = above.length + (own?.cursor.row ?? -1)
    const column = own?.cursor.column ?? cellsOf(above.at(-1) ?? '')
    this.#rows.draw(withinRows({ rows: [...above, ...(own?.rows ?? [])], cursor: { row, column } }, this.#height))
  }

  /** Returns the prompt and the text after it, in up to `most` rows. */
  #ownRows(most: number): Layout {
    const width = this.#columns - 1
    if (this.#search !== undefined) {
      const { query, found } = this.#search
      const prompt = `(${found === undefined && query !== '' ? 'not found' : 'search'}) ${query}: `
      return withinRows(layOut(found ?? '', 0, prompt, width), most)
    }
    const typed = this.#layout.of(this.text, this.#edited.at, width)
    if (this.#words.length === 0) return withinRows(typed, most)
    const below = layOut(this.#shownWords(), 0, '', width).rows.slice(0, Math.max(0, most - 1))
    const { rows, cursor } = withinRows(typed, most - below.length)
    return { rows: [...rows, ...below], cursor }
  }

  #shownWords(): string {
    const more = this.#words.length - mostShownWords
    return `${this.#words.slice(0, mostShownWords).join('  ')}${more > 0 ? `  … ${more} more` : ''}`
  }

  get #height(): number {
    return Math.max(1, (this.#io.stderr.rows || 24) - 1)
  }

  /** Leaves the text on the screen. If the text is higher than the screen, leaves only its beginning. */
  #leave(): void {
    const { rows } = this.#layout.of(this.text, this.text.length, this.#columns - 1)
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
  'ctrl-_': (input) => input.edit((edited) => edited.undo()),
  'ctrl-y': (input) => input.edit((edited) => edited.paste()),
  'ctrl-l': (input) => input.clearScreen(),
  tab: (input) => input.complete(),
  // The keys that start a new line: Ctrl-J, Alt-Enter, and Shift-Enter if the terminal distinguishes it.
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
