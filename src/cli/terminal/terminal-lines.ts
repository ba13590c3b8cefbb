import { emitKeypressEvents, type Key } from 'node:readline'
import { createInterface, type Interface } from 'node:readline/promises'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { Lines } from './lines.ts'
import type { CliIO } from './terminal.ts'

/** Makes a terminal say where a paste begins and ends. https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode */
const pasteMarksOn = '\x1b[?2004h'
const pasteMarksOff = '\x1b[?2004l'

/** A key as Node.js tells of it, with names its types don't have: `paste-start`, `paste-end`. */
type PressedKey = Key & { sequence?: string }

/**
 * The lines somebody types on a terminal, edited behind a prompt on stderr, with the earlier ones at hand. What is pasted is one text
 * whatever is in it: it is never run by itself, and its line ends and tabs are shown as ␊ and ␉ until the line is sent. What is typed or
 * pasted while nobody reads is never run either: it waits behind the next prompt, to be edited, and answers no question.
 */
export class TerminalLines implements Lines {
  readonly interactive = true
  onInterrupt: (typed: boolean) => void = () => {}
  readonly #io: CliIO
  readonly #editor: Interface
  /** Whether keys are for the editor, which shows them. */
  #reading = false
  #typedEarly = ''
  /** What has come of a paste; undefined: none is under way. */
  #paste: string | undefined
  #wake: ((line: string | undefined) => void) | undefined
  readonly #closed = new AbortController()

  /** `completions` are what Tab makes of the beginning of a line. */
  constructor(io: CliIO, prompt: string, completions: readonly string[] = []) {
    this.#io = io
    const { stdin, stderr } = io
    // The editor is given keys one by one; but it knows best when the terminal has to be in raw mode.
    const setRawMode = (raw: boolean) => stdin.setRawMode?.(raw)
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode })
    const completer = (line: string): [string[], string] => [line === '' ? [] : completions.filter((one) => one.startsWith(line)), line]
    this.#editor = createInterface({ input, output: stderr, prompt, terminal: true, completer })
    this.#editor.on('line', (line) => this.#finishLine(asTyped(line)))
    this.#editor.on('SIGINT', () => this.onInterrupt(this.#editor.line !== ''))
    this.#editor.on('SIGCONT', this.#markPastes)
    this.#editor.on('close', () => {
      this.#closed.abort()
      this.#finishLine(undefined)
    })
    emitKeypressEvents(stdin)
    stdin.on('keypress', this.#onKey)
    stdin.once('end', this.#onEnd)
    stdin.resume()
    this.#markPastes()
    process.once('exit', this.#unmarkPastes)
  }

  async next(signal: AbortSignal): Promise<string | undefined> {
    if (this.#closed.signal.aborted || signal.aborted) return undefined
    this.#reading = true
    this.#editor.prompt()
    if (this.#typedEarly !== '') this.#editor.write(asOneLine(this.#typedEarly))
    this.#typedEarly = ''
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    this.#wake = resolve
    const abort = () => this.#finishLine(undefined)
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async ask(question: string, signal: AbortSignal): Promise<string> {
    // Keys that were pressed before the question was there wait in the terminal: within two rounds of the event loop they have come.
    await setImmediate()
    await setImmediate()
    signal.throwIfAborted()
    if (this.#closed.signal.aborted) return ''
    this.#reading = true
    try {
      return asTyped(await this.#editor.question(question, { signal: AbortSignal.any([signal, this.#closed.signal]) }))
    } catch (error) {
      // Ctrl-D is no answer.
      if (!signal.aborted && this.#closed.signal.aborted) return ''
      throw error
    } finally {
      this.#reading = false
      if (this.#editor.line !== '' && !this.#closed.signal.aborted) this.clearLine()
    }
  }

  clearLine(): void {
    this.#editor.write(null, { ctrl: true, name: 'e' })
    this.#editor.write(null, { ctrl: true, name: 'u' })
  }

  showPrompt(): void {
    this.#editor.prompt()
  }

  close(): void {
    const { stdin } = this.#io
    stdin.off('keypress', this.#onKey)
    stdin.off('end', this.#onEnd)
    stdin.pause()
    this.#editor.close()
    this.#unmarkPastes()
    process.off('exit', this.#unmarkPastes)
  }

  readonly #onEnd = (): void => this.#editor.close()

  readonly #onKey = (text: string | undefined, key: PressedKey): void => {
    const isInterrupt = key.ctrl === true && key.name === 'c'
    // Without this, a paste whose end never comes would take everything that is ever typed.
    if (isInterrupt) this.#paste = undefined
    if (key.name === 'paste-start') this.#paste = ''
    else if (key.name === 'paste-end') this.#endPaste()
    else if (this.#paste !== undefined) this.#paste += key.sequence ?? text ?? ''
    else if (this.#reading || (key.ctrl === true && key.name === 'z')) this.#press(text, key)
    else if (isInterrupt) this.onInterrupt(false)
    else this.#typedEarly = typedOn(this.#typedEarly, text, key)
  }

  #press(text: string | undefined, key: PressedKey): void {
    if (key.ctrl === true && key.name === 'z') this.#unmarkPastes()
    // What comes behind the line's end in the same piece is typed ahead already.
    if (key.name === 'return' || key.name === 'enter') this.#reading = false
    this.#editor.write(text ?? null, key)
  }

  #endPaste(): void {
    const pasted = (this.#paste ?? '')
      .replace(/\r\n?|[\u2028\u2029]/g, '\n')
      .replace(/[^\P{Cc}\n\t]/gu, '')
      .replace(/\n$/, '')
    this.#paste = undefined
    if (!this.#reading) this.#typedEarly += pasted
    else if (pasted !== '') this.#editor.write(asOneLine(pasted))
  }

  #finishLine(line: string | undefined): void {
    this.#reading = false
    this.#wake?.(line)
    this.#wake = undefined
  }

  readonly #markPastes = (): void => {
    if (this.#io.env.TERM !== 'dumb') this.#io.stderr.write(pasteMarksOn)
  }

  readonly #unmarkPastes = (): void => {
    if (this.#io.env.TERM !== 'dumb') this.#io.stderr.write(pasteMarksOff)
  }
}

/** What has been typed unseen, after one more key. Keys that move or search do nothing to it. */
function typedOn(typed: string, text: string | undefined, { name, ctrl, meta }: PressedKey): string {
  if (name === 'return' || name === 'enter') return typed === '' ? '' : `${typed}\n`
  if (name === 'backspace') return typed.replace(/.$/su, '')
  if (ctrl && name === 'u') return ''
  return ctrl || meta || text === undefined || (text !== '\t' && /\p{Cc}/u.test(text)) ? typed : typed + text
}

function asOneLine(text: string): string {
  return text.replace(/\n+$/, '').replaceAll('\n', '␊').replaceAll('\t', '␉')
}

function asTyped(line: string): string {
  return line.replaceAll('␊', '\n').replaceAll('␉', '\t')
}
