import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { DiffLine } from './line-diff.ts'
import { MarkdownWriter } from './markdown/markdown-writer.ts'
import type { Style } from './style.ts'
import { visible } from './visible.ts'

/** What a command sees of its process, so that it can also be run on streams of a caller's own. */
export interface CliIO {
  readonly stdin: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown }
  readonly stdout: Writable & { isTTY?: boolean; columns?: number }
  readonly stderr: Writable & { isTTY?: boolean; columns?: number; rows?: number }
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/** Whether somebody sits there who can be asked. */
export function isOnTerminal({ stdin, stderr }: Pick<CliIO, 'stdin' | 'stderr'>): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}

/** A prompt that makes room for what is written. */
interface ShownPrompt {
  hide(): void
  show(): void
}

const spinnerFrames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const statusDelayMs = 1_000
const frameMs = 100
const eraseLine = '\r\x1b[K'

/**
 * The two output streams as one screen: answers go to stdout, everything about them to stderr, one line at a time; on a terminal a
 * status line shows what is being waited for once that takes longer than a second. It is erased before anything else is written.
 */
export class Terminal {
  readonly #io: CliIO
  readonly #colour: boolean
  readonly #colourOut: boolean
  /** Whether an unfinished line of the answer is on the same screen as stderr. */
  #midLine = false
  #status: { text: string; since: number } | undefined
  #statusShown = false
  #timer: NodeJS.Timeout | undefined
  /** Shows the Markdown of answers; undefined: they are written as they are. */
  #markdown: MarkdownWriter | undefined
  /** What somebody is typing, at the end of the screen. */
  #prompt: ShownPrompt | undefined

  constructor(io: CliIO) {
    this.#io = io
    this.#colour = wantsColour(io.stderr, io.env)
    this.#colourOut = wantsColour(io.stdout, io.env)
  }

  get io(): CliIO {
    return this.#io
  }

  /** What is written comes before this prompt from now on. */
  attach(prompt: ShownPrompt): void {
    this.#prompt = prompt
  }

  /** Shows the Markdown of answers from now on, where stdout takes colours. */
  renderMarkdown(): void {
    if (!this.#colourOut || this.#io.stdout.isTTY !== true) return
    const style = (styles: readonly Style[], text: string) => this.paint(styles, text, 'stdout')
    this.#markdown = new MarkdownWriter({ style, columns: () => this.#io.stdout.columns || 80 })
  }

  /** Writes a piece of the answer to stdout. */
  answer(text: string): void {
    if (text === '') return
    // A model must not be able to steer the terminal of who reads its answer; a file or pipe gets the text as it is.
    const shown = this.#io.stdout.isTTY ? withoutControls(text, true) : text
    this.#write(this.#markdown === undefined ? shown : this.#markdown.push(shown))
  }

  /** Ends the answer's line, if it has not ended by itself. */
  endAnswerLine(): void {
    this.#write(this.#markdown?.end() ?? '')
    if (this.#midLine) this.#write('\n')
  }

  /** Writes one line to stderr, below whatever is on the screen. */
  note(line: string): void {
    this.#prompt?.hide()
    this.startLine()
    this.#io.stderr.write(`${line}\n`)
    this.#prompt?.show()
  }

  /** Makes what is written to stderr next begin a line of the screen. */
  startLine(): void {
    this.#eraseStatus()
    if (!this.#midLine || !this.#sharesScreen) return
    this.#midLine = false
    this.#io.stderr.write('\n')
  }

  /** Writes one line of data to stdout. */
  print(line: string): void {
    this.endAnswerLine()
    this.#eraseStatus()
    this.#io.stdout.write(`${line}\n`)
  }

  /** Says what is being waited for from now on; undefined: nothing is. Shown on a terminal only. */
  waitFor(text: string | undefined): void {
    if (!this.#io.stderr.isTTY || this.#status?.text === text) return
    this.#eraseStatus()
    this.#setStatus(text, Date.now())
  }

  /** Says more of what is being waited for; it has been waited for since `waitFor`. */
  progress(text: string): void {
    if (this.#io.stderr.isTTY) this.#setStatus(text, this.#status?.since ?? Date.now())
  }

  #setStatus(text: string | undefined, since: number): void {
    this.#status = text === undefined ? undefined : { text: withoutControls(text), since }
    if (this.#status === undefined) {
      clearInterval(this.#timer)
      this.#timer = undefined
    } else if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#drawStatus(), frameMs)
      this.#timer.unref()
    }
  }

  /** `text` in a colour, where stderr (or `of`) takes colours. */
  paint(colour: Style | readonly Style[], text: string, of: 'stdout' | 'stderr' = 'stderr'): string {
    return (of === 'stderr' ? this.#colour : this.#colourOut) ? styleText([colour].flat(), text, { validateStream: false }) : text
  }

  /** A line of a difference, as stderr shows it. */
  diffLine({ kind, text }: DiffLine): string {
    if (kind === 'removed') return this.paint('red', `- ${text}`)
    if (kind === 'added') return this.paint('green', `+ ${text}`)
    return kind === 'same' ? `  ${text}` : this.paint('dim', text)
  }

  #write(text: string): void {
    if (text === '') return
    this.#eraseStatus()
    this.#midLine = !text.endsWith('\n')
    this.#io.stdout.write(text)
  }

  get #sharesScreen(): boolean {
    return this.#io.stdout.isTTY === true && this.#io.stderr.isTTY === true
  }

  #drawStatus(): void {
    if (this.#status === undefined || (this.#midLine && this.#sharesScreen)) return
    const waitedMs = Date.now() - this.#status.since
    if (waitedMs < statusDelayMs) return
    const frame = spinnerFrames[Math.floor(waitedMs / frameMs) % spinnerFrames.length]
    const line = `${frame} ${this.#status.text} ${Math.floor(waitedMs / 1000)} s`
    this.#statusShown = true
    this.#io.stderr.write(`${eraseLine}${this.paint('dim', shorten(line, (this.#io.stderr.columns || 80) - 1))}`)
  }

  #eraseStatus(): void {
    if (!this.#statusShown) return
    this.#statusShown = false
    this.#io.stderr.write(eraseLine)
  }
}

/** FORCE_COLOR wins over NO_COLOR, as in Node.js itself; see https://no-color.org and https://force-color.org. */
function wantsColour(stream: { isTTY?: boolean }, env: CliIO['env']): boolean {
  const forced = env.FORCE_COLOR
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false
  return stream.isTTY === true && env.TERM !== 'dumb'
}

/**
 * `text` on one line, without control characters, and with those visible that change its direction; with `keepLines`, only line ends and
 * tabs are left of control characters.
 */
export function withoutControls(text: string, keepLines = false): string {
  if (!keepLines) return text.replace(/\p{Cc}+/gu, ' ').replace(/\p{Bidi_Control}/gu, visible)
  return text.replace(/\p{Cc}/gu, (found) => (found === '\n' || found === '\t' ? found : ''))
}

/** The first `length` characters of `text`, the last of them `…` when something was cut. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  return `${text.slice(0, Math.max(0, length - 1)).replace(/[\uD800-\uDBFF]$/, '')}…`
}
