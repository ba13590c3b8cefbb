import { emitKeypressEvents } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { KeyedInput, type KeyedInputOptions, type PressedKey } from './editor/keyed-input.ts'
import type { Lines } from './lines.ts'
import type { CliIO } from './terminal.ts'

/** Makes a terminal say where a paste begins and ends. https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode */
const pasteMarksOn = '\x1b[?2004h'
const pasteMarksOff = '\x1b[?2004l'

/**
 * What somebody types on a terminal, edited behind a prompt on stderr, over several lines. Node's own `readline` edits one line alone, and
 * no package that is kept well and small does more. What is pasted is one text, whatever is in it: it is never sent by itself. What is typed or
 * pasted while nobody reads is never sent either: it waits behind the next prompt, to be edited, and answers no question.
 */
export class TerminalLines implements Lines {
  readonly interactive = true
  onInterrupt: (typed: boolean) => void = () => {}
  readonly #io: CliIO
  readonly #prompt: KeyedInputOptions
  /** What is being typed; undefined while nobody reads. */
  #input: KeyedInput | undefined
  #typedEarly = ''
  /** What has come of a paste; undefined: none is under way. */
  #paste: string | undefined
  /** Whether the keys that come now are Ctrl-C alone, as somebody presses it: within a paste there are others beside it. */
  #isPressed = false
  #closed = false

  constructor(io: CliIO, prompt: KeyedInputOptions = { prompt: '' }) {
    this.#io = io
    this.#prompt = prompt
    const { stdin, stderr } = io
    emitKeypressEvents(stdin)
    stdin.on('keypress', this.#onKey)
    stdin.prependListener('data', this.#onPiece)
    stdin.once('end', this.#onEnd)
    stderr.on('resize', this.#onResize)
    process.once('exit', this.#unmarkPastes)
    this.#takeTerminal()
    stdin.resume()
  }

  async next(signal: AbortSignal): Promise<string | undefined> {
    if (this.#closed || signal.aborted) return undefined
    const early = this.#typedEarly
    this.#typedEarly = ''
    const line = await this.#read(this.#prompt, signal, early)
    if (line !== undefined) await this.#prompt.history?.add(line)
    return line
  }

  async ask(question: string, signal: AbortSignal, draft = ''): Promise<string> {
    // Keys that were pressed before the question was there wait in the terminal: within two rounds of the event loop they have come.
    await setImmediate()
    await setImmediate()
    signal.throwIfAborted()
    if (this.#closed) return ''
    const answer = await this.#read({ prompt: question }, signal, draft)
    signal.throwIfAborted()
    // Ctrl-D is no answer.
    return answer ?? ''
  }

  clearLine(): void {
    this.#input?.clear()
  }

  hide(): void {
    this.#input?.hide()
  }

  show(): void {
    this.#input?.show()
  }

  /** Puts a text behind the next prompt, to be edited. */
  prefill(text: string): void {
    this.#typedEarly = text
  }

  async lend<T>(work: () => Promise<T>): Promise<T> {
    this.#leaveTerminal()
    this.#io.stdin.pause()
    try {
      return await work()
    } finally {
      this.#takeTerminal()
      this.#io.stdin.resume()
    }
  }

  close(): void {
    const { stdin, stderr } = this.#io
    this.#finish()
    stdin.off('keypress', this.#onKey)
    stdin.off('data', this.#onPiece)
    stdin.off('end', this.#onEnd)
    stderr.off('resize', this.#onResize)
    process.off('exit', this.#unmarkPastes)
    process.off('SIGCONT', this.#onContinue)
    stdin.pause()
    this.#leaveTerminal()
  }

  async #read(options: KeyedInputOptions, signal: AbortSignal, draft: string): Promise<string | undefined> {
    const input = new KeyedInput(this.#io, options)
    this.#input = input
    input.begin(draft)
    const abort = () => input.end(undefined)
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await input.ended
    } finally {
      signal.removeEventListener('abort', abort)
      if (this.#input === input) this.#input = undefined
    }
  }

  readonly #finish = (): void => {
    this.#closed = true
    this.#input?.end(undefined)
    this.#input = undefined
  }

  readonly #onEnd = (): void => this.#finish()

  readonly #onResize = (): void => this.#input?.resized()

  readonly #onPiece = (piece: Buffer | string): void => {
    this.#isPressed = piece.toString().replaceAll('\x03', '') === ''
  }

  readonly #onKey = (text: string | undefined, key: PressedKey): void => {
    const isInterrupt = key.ctrl === true && key.name === 'c'
    // Without this, a paste whose end never comes would take everything that is ever typed.
    if (isInterrupt && this.#isPressed) this.#paste = undefined
    if (key.name === 'paste-start') this.#paste = ''
    else if (key.name === 'paste-end') this.#endPaste()
    else if (this.#paste !== undefined) this.#paste += key.sequence ?? text ?? ''
    else if (isInterrupt) this.#interrupt()
    else if (key.ctrl === true && key.name === 'z' && process.platform !== 'win32') this.#suspend()
    else if (this.#input === undefined) this.#typedEarly = typedOn(this.#typedEarly, text, key)
    else this.#press(this.#input, text, key)
  }

  #interrupt(): void {
    if (this.#input?.cancelSearch() === true) return
    this.onInterrupt(this.#input !== undefined && this.#input.text !== '')
  }

  #press(input: KeyedInput, text: string | undefined, key: PressedKey): void {
    if (key.ctrl === true && key.name === 'd' && input.text === '') this.#finish()
    // What comes behind the line's end in the same piece is typed ahead already.
    else if (input.press(text, key)) this.#input = undefined
  }

  #endPaste(): void {
    const pasted = (this.#paste ?? '')
      .replace(/\r\n?|[\u2028\u2029]/g, '\n')
      .replace(/[^\P{Cc}\n\t]/gu, '')
      .replace(/\n$/, '')
    this.#paste = undefined
    if (this.#input === undefined) this.#typedEarly += pasted
    else this.#input.insert(pasted)
  }

  #suspend(): void {
    this.#input?.hide()
    this.#leaveTerminal()
    process.once('SIGCONT', this.#onContinue)
    process.kill(process.pid, 'SIGTSTP')
  }

  readonly #onContinue = (): void => {
    this.#takeTerminal()
    this.#input?.show()
  }

  #takeTerminal(): void {
    this.#io.stdin.setRawMode?.(true)
    if (this.#io.env.TERM !== 'dumb') this.#io.stderr.write(pasteMarksOn)
  }

  #leaveTerminal(): void {
    this.#io.stdin.setRawMode?.(false)
    this.#unmarkPastes()
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
