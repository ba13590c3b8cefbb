import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { DiffLine } from '../../core/text/line-diff.ts'
import { readable } from '../../core/text/visible.ts'
import { charactersOf } from './editor/edited-text.ts'
import { cellsOf } from './editor/layout.ts'
import { MarkdownWriter } from './markdown/markdown-writer.ts'
import type { Style } from './style.ts'
import { wrapWords } from './wrap-words.ts'

/** The streams and environment of a command. They are passed explicitly, so that a command can also run with other streams. */
export interface CliIO {
  readonly stdin: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown }
  readonly stdout: Writable & { isTTY?: boolean; columns?: number }
  readonly stderr: Writable & { isTTY?: boolean; columns?: number; rows?: number }
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/** Whether a person is at the terminal and can be asked. */
export function isOnTerminal({ stdin, stderr }: Pick<CliIO, 'stdin' | 'stderr'>): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}

/** A prompt at the end of the screen that can be hidden while other output is written. */
interface ShownPrompt {
  hide(): void
  show(): void
  /** Draws the prompt again below the rows of `above`. These rows may still change. */
  redraw(): void
  above: () => readonly string[]
}

const spinnerFrames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const statusDelayMs = 1_000
/** Minimum width for wrapping. On a narrower screen, the terminal itself breaks the lines. */
const narrowest = 19
const frameMs = 100
const eraseLine = '\r\x1b[K'

/**
 * Combines both output streams into one screen. The answer goes to stdout. Everything else goes to stderr, line by line. On a terminal, if
 * a wait takes longer than a second, a status line shows what the command is waiting for. The status line is erased before other output.
 */
export class Terminal {
  readonly #io: CliIO
  readonly #color: boolean
  readonly #colorOut: boolean
  /** Whether an unfinished line of the answer is on the same screen as stderr. */
  #midLine = false
  #status: { text: string; since: number } | undefined
  #statusShown = false
  #timer: NodeJS.Timeout | undefined
  /** Renders the Markdown of answers. Undefined if answers are written unchanged. */
  #markdown: MarkdownWriter | undefined
  /** The prompt at the end of the screen. It stays there while an answer is being written. */
  #prompt: ShownPrompt | undefined
  /** The last, incomplete row of the answer, which is drawn above the prompt. */
  #tail = ''

  /** Whether output on the screen can be changed afterwards. */
  readonly #canMove: boolean

  constructor(io: CliIO) {
    this.#io = io
    this.#canMove = io.env.TERM !== 'dumb'
    this.#color = wantsColor(io.stderr, io.env)
    this.#colorOut = wantsColor(io.stdout, io.env)
  }

  get io(): CliIO {
    return this.#io
  }

  /** Whether a status line can show what the command is waiting for. */
  get showsStatus(): boolean {
    return this.#io.stderr.isTTY === true && this.#canMove
  }

  /** Attaches a prompt. Further output is written above it. */
  attach(prompt: ShownPrompt): void {
    this.#prompt = prompt
    prompt.above = () => this.#rowsAbovePrompt()
  }

  /** Renders the Markdown of answers from now on, if stdout supports colors. */
  renderMarkdown(): void {
    if (!this.#colorOut || this.#io.stdout.isTTY !== true) return
    const style = (styles: readonly Style[], text: string) => this.paint(styles, text, 'stdout')
    this.#markdown = new MarkdownWriter({ style, columns: () => this.#io.stdout.columns || 80 })
  }

  /** Writes a piece of the answer to stdout. */
  answer(text: string): void {
    if (text === '') return
    // Control characters are made visible on a terminal, because a model must not control the terminal of its reader. A file or pipe gets
    // the text unchanged.
    const shown = this.#io.stdout.isTTY ? readable(text) : text
    this.#write(this.#markdown === undefined ? shown : this.#markdown.push(shown))
  }

  /** Ends the current line of the answer, if it is still open. */
  endAnswerLine(): void {
    this.#write(this.#markdown?.end() ?? '')
    if (this.#midLine || this.#tail !== '') this.#write('\n')
  }

  /** Writes text to stderr on a new line. On a terminal, the text is wrapped. */
  note(line: string): void {
    const rows = this.#io.stderr.isTTY ? line.split('\n').flatMap((one) => wrapWords(one, Math.max(narrowest, this.columns))) : [line]
    for (const row of rows) this.row(row)
  }

  /** Writes a line to stderr without wrapping it. */
  row(line: string): void {
    this.startLine()
    this.#abovePrompt(() => void this.#io.stderr.write(`${this.#io.stderr.isTTY ? steerless(line) : line}\n`))
  }

  /** The number of cells in a row. */
  get columns(): number {
    return Math.max(4, (this.#io.stderr.columns || 80) - 1)
  }

  /** Empties the screen, except for the prompt. */
  clear(): void {
    if (this.#io.stderr.isTTY && this.#canMove) this.#abovePrompt(() => void this.#io.stderr.write('\x1b[H\x1b[2J'))
  }

  /** Makes sure that the next output to stderr starts in a new line. */
  startLine(): void {
    this.#eraseStatus()
    if (this.#tail !== '') this.#grow('\n')
    else if (this.#midLine && this.#sharesScreen) {
      this.#midLine = false
      this.#io.stderr.write('\n')
    }
  }

  /** Writes a line of data to stdout. On a terminal, control characters are made visible. */
  print(line: string): void {
    this.#print(this.#io.stdout.isTTY ? readable(line) : line)
  }

  #print(line: string): void {
    this.endAnswerLine()
    this.#eraseStatus()
    this.#io.stdout.write(`${line}\n`)
  }

  /** Writes a line to stdout for a person. On a terminal, it is wrapped between words. */
  say(line: string): void {
    const { isTTY, columns = 80 } = this.#io.stdout
    const rows = isTTY ? line.split('\n').flatMap((one) => wrapWords(one, Math.max(narrowest, columns - 1))) : [line]
    for (const row of rows) this.#print(isTTY ? steerless(row) : row)
  }

  /**
   * Sets the status line to what the command is waiting for, or removes the line if `text` is undefined. Has an effect only on a terminal.
   */
  waitFor(text: string | undefined): void {
    if (!this.showsStatus || this.#status?.text === text) return
    this.#eraseStatus()
    this.#setStatus(text, Date.now())
  }

  /** Changes the text of the status line, but not its start time. */
  progress(text: string): void {
    if (this.showsStatus) this.#setStatus(text, this.#status?.since ?? Date.now())
  }

  #setStatus(text: string | undefined, since: number): void {
    this.#status = text === undefined ? undefined : { text: withoutControls(text), since }
    if (this.#status === undefined) {
      clearInterval(this.#timer)
      this.#timer = undefined
      this.#prompt?.redraw()
    } else if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#drawStatus(), frameMs)
      this.#timer.unref()
    }
  }

  /** Colors `text` if the stream `of` supports colors. */
  paint(color: Style | readonly Style[], text: string, of: 'stdout' | 'stderr' = 'stderr'): string {
    return (of === 'stderr' ? this.#color : this.#colorOut) ? styleText([color].flat(), text, { validateStream: false }) : text
  }

  diffLine({ kind, text }: DiffLine): string {
    if (kind === 'removed') return this.paint('red', `- ${text}`)
    if (kind === 'added') return this.paint('green', `+ ${text}`)
    return kind === 'same' ? `  ${text}` : this.paint('dim', text)
  }

  previewLine({ kind, text }: DiffLine, cells: number): string {
    const line = shorten(text, cells - 2)
    return kind === 'removed' || kind === 'added' ? this.diffLine({ kind, text: line }) : this.paint('dim', line)
  }

  #write(text: string): void {
    if (text === '') return
    this.#eraseStatus()
    if (this.#prompt !== undefined && this.#canMove && this.#sharesScreen) this.#grow(text)
    else {
      this.#midLine = !text.endsWith('\n')
      this.#io.stdout.write(text)
    }
  }

  /** Writes more of the answer above the prompt. Complete rows are final. The last row is drawn again with the prompt. */
  #grow(text: string): void {
    const rows = `${this.#tail}${text}`.split('\n').flatMap((line) => wrapWords(line, this.columns))
    this.#tail = rows.pop() ?? ''
    if (rows.length > 0) this.#abovePrompt(() => void this.#io.stdout.write(`${rows.join('\n')}\n`))
    else this.#prompt?.redraw()
  }

  #abovePrompt(write: () => void): void {
    this.#prompt?.hide()
    write()
    this.#prompt?.show()
  }

  #rowsAbovePrompt(): string[] {
    const status = this.#statusRow()
    return [...(this.#tail === '' ? [] : wrapWords(this.#tail, this.columns, { exact: true })), ...(status === undefined ? [] : [status])]
  }

  get #sharesScreen(): boolean {
    return this.#io.stdout.isTTY === true && this.#io.stderr.isTTY === true
  }

  #drawStatus(): void {
    this.#prompt?.redraw()
    const isTaken = this.#prompt !== undefined || (this.#midLine && this.#sharesScreen)
    const row = isTaken ? undefined : this.#statusRow()
    if (row === undefined) return
    this.#statusShown = true
    this.#io.stderr.write(`${eraseLine}${row}`)
  }

  /** The status line. Undefined while the wait is still short. */
  #statusRow(): string | undefined {
    if (this.#status === undefined) return undefined
    const waitedMs = Date.now() - this.#status.since
    if (waitedMs < statusDelayMs) return undefined
    const frame = spinnerFrames[Math.floor(waitedMs / frameMs) % spinnerFrames.length]
    return this.paint('dim', shorten(`${frame} ${this.#status.text} ${Math.floor(waitedMs / 1000)} s`, this.columns))
  }

  #eraseStatus(): void {
    if (!this.#statusShown) return
    this.#statusShown = false
    this.#io.stderr.write(eraseLine)
  }
}

/**
 * Whether to write colors. As in Node.js, FORCE_COLOR takes precedence over NO_COLOR. See https://no-color.org and https://force-color.org.
 */
function wantsColor(stream: { isTTY?: boolean }, env: CliIO['env']): boolean {
  const forced = env.FORCE_COLOR
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false
  return stream.isTTY === true && env.TERM !== 'dumb'
}

/** Removes control characters and line breaks from `text`, and makes characters visible that change the direction of text. */
export function withoutControls(text: string): string {
  return readable(text.replace(/\p{Cc}+/gu, ' '))
}

/** Matches the codes of colors and other styles, except the code that hides text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with it
const look = /(\x1b\[(?:[0-79]|[1-9]\d|10\d)m)/

/** Makes `text` safe for a terminal: keeps the control sequences of colors and styles, and makes all other control characters visible. */
function steerless(text: string): string {
  if (!/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(text)) return text
  return text
    .split(look)
    .map((part, at) => (at % 2 === 1 ? part : readable(part)))
    .join('')
}

/** Shortens `text` to a number of cells. If something was cut, the text ends with `…`. */
export function shorten(text: string, cells: number): string {
  if (text.length <= cells / 2 || cellsOf(text) <= cells) return text
  let shown = ''
  let left = cells - 1
  for (const character of charactersOf(text.slice(0, cells * 4))) {
    left -= cellsOf(character)
    if (left < 0) break
    shown += character
  }
  return `${shown}…`
}
