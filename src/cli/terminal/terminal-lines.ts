import { emitKeypressEvents } from 'node:readline'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { KeyedInput, type KeyedInputOptions, type TypedText } from './editor/keyed-input.ts'
import { isEnter, nameOf, type PressedKey } from './editor/keys.ts'
import { Picker, type PickerItem } from './editor/picker.ts'
import type { Lines } from './lines.ts'
import { type CliIO, shorten, withoutControls } from './terminal.ts'
import { wrapWords } from './wrap-words.ts'

/**
 * The sequences that make a terminal mark the start and end of a paste.
 * https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode
 */
const pasteMarksOn = '\x1b[?2004h'
const pasteMarksOff = '\x1b[?2004l'
/** A question that is answered with a single key. */
interface Choice {
  question: string
  /** The label of each key. */
  answers: Readonly<Record<string, string>>
  /** The key that Enter stands for. */
  onEnter: string
}

interface Question {
  question: string
  /** The labels of the keys. They are shown after the question once it can be answered. */
  labels?: string
  signal: AbortSignal
  since: number
  draft?: string | undefined
}

/**
 * Minimum time between the last key typed at the prompt and the first key that can answer a question, in milliseconds. A key that follows
 * sooner was typed before the person could read the question.
 */
const pauseMs = 400

/**
 * Reads input on a terminal. The text is edited at a prompt on stderr, and may have several lines. Node's own `readline` edits only a
 * single line. A paste is inserted as text, even if it contains line breaks.
 *
 * Text that is typed or pasted while no input is being read is shown at the end of the screen for editing. It never answers a question.
 * Enter makes this text the next prompt. An Enter that arrives together with other keys only starts a new line.
 */
export class TerminalLines implements Lines {
  readonly interactive = true
  onInterrupt: (typed: boolean) => void = () => {}
  onLeave: () => void = () => {}
  onEscape: (typed: boolean, isTwice: boolean) => void = () => {}
  above: () => readonly string[] = () => []
  readonly #io: CliIO
  readonly #options: KeyedInputOptions
  /** Whether this object reads prompts. If false, it only asks questions. */
  readonly #hasPrompts: boolean
  #prompt: KeyedInput
  #isPrompting = false
  /** The current question. It is shown in place of the prompt. */
  #question: KeyedInput | undefined
  /** Whether keys answer the question. If false, they are typed at the prompt. */
  #isAnswerable = false
  /** The keys that answer the question. Undefined if the answer is a text. */
  #choice: Choice | undefined
  /** The list that is shown in place of a question. */
  #picker: Picker | undefined
  /** When a key was last typed at the prompt, on the clock of `performance.now()`. */
  #typedAt = Number.NEGATIVE_INFINITY
  /** Whether the question edits a draft. Ctrl-C then ends the question. */
  #isDraft = false
  /** Prompts that were typed ahead and wait for `next`. */
  #queue: TypedText[] = []
  /** The text of the current paste so far. Undefined outside a paste. */
  #paste: string | undefined
  /** The bytes that arrived last, as text. During a paste, they contain several keys. */
  #piece = ''
  /** Whether `#piece` is a single Enter, or only Ctrl-C. */
  #isPressed = false
  /** Whether `#piece` has several lines, which means that it was pasted. */
  #isSeveralLines = false
  #isLeaving = false
  /** The input that was on the screen when the process was stopped. Undefined while the process runs. */
  #suspended: KeyedInput | undefined
  /** Whether another program uses the terminal. */
  #isLent = false
  #closed = false

  constructor(io: CliIO, options?: KeyedInputOptions) {
    this.#io = io
    this.#hasPrompts = options !== undefined
    this.#options = { prompt: '', ...options, above: () => this.#rowsAbove() }
    this.#prompt = this.#newPrompt()
    const { stdin, stderr } = io
    emitKeypressEvents(stdin)
    stdin.on('keypress', this.#onKey)
    stdin.prependListener('data', this.#onPiece)
    stdin.once('end', this.#onEnd)
    stderr.on('resize', this.#onResize)
    process.once('exit', this.#unmarkPastes)
    process.on('SIGTSTP', this.#suspend)
    process.on('SIGCONT', this.#onContinue)
    this.#takeTerminal()
    stdin.resume()
  }

  async next(signal: AbortSignal): Promise<TypedText | undefined> {
    if (this.#closed || signal.aborted) return undefined
    const isOver = this.#isLeaving && this.#prompt.text === ''
    const typed = this.#nextInQueue() ?? (isOver ? undefined : await this.#readPrompt(signal))
    if (typed !== undefined) await this.#options.history?.add(typed.text)
    return typed
  }

  async ask(question: string, signal: AbortSignal, draft?: string): Promise<string> {
    this.#isDraft = draft !== undefined
    // The pause starts with the last key typed at the prompt, so a person who answers several questions in a row doesn't have to wait.
    const answer = await this.#readAnswer({ question, signal, since: draft === undefined ? this.#typedAt : 0, draft })
    // Ctrl-D gives no answer.
    return answer ?? ''
  }

  async choose<K extends string>(
    question: string,
    answers: Readonly<Record<K, string>>,
    signal: AbortSignal,
    onEnter?: NoInfer<K>,
  ): Promise<K | 'n'> {
    this.#choice = { question, answers, onEnter: onEnter ?? 'n' }
    try {
      const labels = ` ${Object.values<string>(answers).join(' ')} `
      const answer = await this.#readAnswer({ question, labels, signal, since: performance.now() })
      return (answer ?? 'n') as K | 'n'
    } finally {
      this.#choice = undefined
    }
  }

  async pick(title: string, items: readonly PickerItem[], signal: AbortSignal): Promise<number | undefined> {
    signal.throwIfAborted()
    if (this.#closed) return undefined
    this.#prompt.hide()
    const picker = new Picker(title, items)
    const shown = new KeyedInput(this.#io, { prompt: '', above: () => picker.rows(this.#columns, this.#io.stderr.rows || 24) }, 'typed')
    this.#picker = picker
    this.#question = shown
    this.#isAnswerable = true
    try {
      shown.redraw()
      const chosen = await untilAborted(shown, signal)
      signal.throwIfAborted()
      return chosen === undefined ? undefined : picker.chosen
    } finally {
      this.#picker = undefined
      this.#endQuestion()
    }
  }

  clearLine(): void {
    this.#input.clear()
  }

  hide(): void {
    this.#input.hide()
  }

  show(): void {
    this.#input.show()
  }

  redraw(): void {
    this.#input.redraw()
  }

  takeBack(first?: TypedText): void {
    if (first === undefined && this.#queue.length === 0) return
    const all = [...(first === undefined ? [] : [first]), ...this.#queue, this.#prompt.take()].filter(({ text }) => text !== '')
    this.#queue = []
    this.#prompt.begin({ text: all.map(({ text }) => text).join('\n'), pasted: all.flatMap(({ pasted }) => pasted) })
  }

  async lend<T>(work: () => Promise<T>): Promise<T> {
    const hidden = this.#input
    hidden.hide()
    this.#leaveTerminal()
    this.#io.stdin.pause()
    this.#isLent = true
    try {
      return await work()
    } finally {
      this.#isLent = false
      this.#takeTerminal()
      this.#io.stdin.resume()
      hidden.show()
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
    process.off('SIGTSTP', this.#suspend)
    process.off('SIGCONT', this.#onContinue)
    stdin.pause()
    this.#leaveTerminal()
  }

  /** The input that is on the screen. */
  get #input(): KeyedInput {
    return this.#question ?? this.#prompt
  }

  /** The input that receives the keys. */
  get #typedInto(): KeyedInput {
    return this.#isAnswerable ? this.#input : this.#prompt
  }

  /** Creates an input that will be read later. The typed text is visible at once if the terminal can show it below other output. */
  #newPrompt(): KeyedInput {
    return new KeyedInput(this.#io, this.#options, this.#isShownEarly ? 'typed' : 'never')
  }

  get #isShownEarly(): boolean {
    return this.#hasPrompts && this.#marksPastes
  }

  get #marksPastes(): boolean {
    return this.#io.env.TERM !== 'dumb'
  }

  async #readPrompt(signal: AbortSignal): Promise<TypedText | undefined> {
    this.#isPrompting = true
    this.#isLeaving = false
    this.#prompt.open()
    const typed = await untilAborted(this.#prompt, signal)
    this.#isPrompting = false
    return typed
  }

  /** Removes the next prompt from the queue and shows it as if it had just been typed. */
  #nextInQueue(): TypedText | undefined {
    const typed = this.#queue.shift()
    if (typed === undefined) return undefined
    this.#prompt.hide()
    const shown = new KeyedInput(this.#io, this.#options)
    shown.begin(typed)
    shown.end(typed.text)
    this.#prompt.show()
    return typed
  }

  /**
   * Reads an answer. The answer counts only if `pauseMs` have passed since `since` and since the last key was typed at the prompt. Resolves
   * with undefined if the input ends. Rejects if `signal` is aborted.
   */
  async #readAnswer({ question, labels = '', signal, since, draft = '' }: Question): Promise<string | undefined> {
    // Keys that were pressed before the question appeared may still be on their way from the terminal. They arrive within two rounds of the
    // event loop.
    await setImmediate()
    await setImmediate()
    signal.throwIfAborted()
    if (this.#closed) return undefined
    this.#prompt.hide()
    try {
      await this.#waitForPause(question, since, signal)
      if (this.#closed) return undefined
      this.takeBack()
      const asked =
        this.#choice === undefined
          ? new KeyedInput(this.#io, { prompt: question, above: () => this.#rowsAbove() })
          : this.#keylessInput(`${question}${labels}`)
      this.#question = asked
      this.#isAnswerable = true
      asked.begin({ text: draft, pasted: [] })
      const answer = await untilAborted(asked, signal)
      if (answer === undefined && this.#choice !== undefined) this.#leaveQuestion(question)
      signal.throwIfAborted()
      return answer?.text
    } finally {
      this.#endQuestion()
    }
  }

  async #waitForPause(question: string, since: number, signal: AbortSignal): Promise<void> {
    const left = () => Math.max(since, this.#typedAt) + pauseMs - performance.now()
    if (left() <= 0) return
    const shown = this.#keylessInput(`${question.trimEnd()} …`)
    this.#question = shown
    shown.redraw()
    for (let ms = left(); ms > 0 && !this.#closed; ms = left()) {
      await setTimeout(ms, undefined, { signal }).catch(() => {})
      signal.throwIfAborted()
    }
    shown.hide()
  }

  /** Creates an input that shows a question and has no room for typing. */
  #keylessInput(question: string): KeyedInput {
    return new KeyedInput(this.#io, { prompt: '', above: () => [...this.#rowsAbove(), ...this.#rowsOf(question)] }, 'typed')
  }

  /** Writes an answered question to the screen, where it stays. */
  #leaveQuestion(text: string): void {
    for (const row of this.#rowsOf(text)) this.#io.stderr.write(`${row}\r\n`)
  }

  #rowsOf(question: string): string[] {
    return wrapWords(question, this.#columns, { exact: true })
  }

  #endQuestion(): void {
    if (this.#question === undefined) return
    this.#question = undefined
    this.#isAnswerable = false
    this.#prompt.show()
  }

  /** Ends the question if the key is one of its answers. */
  #pressAnswer(asked: KeyedInput, { question, answers, onEnter }: Choice, text: string | undefined, key: PressedKey): void {
    // A key that arrives together with other keys was pasted, so it does not answer the question.
    if (key.sequence !== this.#piece) return
    const name = nameOf(key)
    const chosen = isEnter(key) ? onEnter : /^(meta-)?escape$/.test(name) ? 'n' : (text ?? '').toLowerCase()
    const label = answers[chosen]
    if (label === undefined) return
    asked.end(chosen)
    const word = label.replace(/[[\]]/g, '').toLowerCase()
    this.#leaveQuestion(`${question} ${word}`)
    this.#endQuestion()
  }

  #rowsAbove(): string[] {
    return [...this.above(), ...this.#queue.map(({ text }) => shorten(withoutControls(`next: ${text}`), this.#columns))]
  }

  get #columns(): number {
    return Math.max(4, (this.#io.stderr.columns || 80) - 1)
  }

  readonly #finish = (): void => {
    this.#closed = true
    this.#question?.end(undefined)
    this.#question = undefined
    this.#isAnswerable = false
    this.#prompt.end(undefined)
  }

  readonly #onEnd = (): void => this.#finish()

  readonly #onResize = (): void => this.#input.resized()

  readonly #onPiece = (piece: Buffer | string): void => {
    const keys = piece.toString()
    this.#piece = keys
    if (!this.#isAnswerable) this.#typedAt = performance.now()
    this.#isPressed = keys === '\r' || keys.replaceAll('\x03', '') === ''
    this.#isSeveralLines = /[\r\n]/.test(keys.trimEnd())
  }

  readonly #onKey = (text: string | undefined, key: PressedKey): void => {
    const isInterrupt = key.ctrl === true && key.name === 'c'
    // Ctrl-C ends a paste. Without this, a paste whose end mark is missing would swallow all further input.
    if (isInterrupt && this.#isPressed) this.#paste = undefined
    if (key.name === 'paste-start') this.#paste = ''
    else if (key.name === 'paste-end') this.#endPaste()
    else if (this.#paste !== undefined) this.#paste += key.sequence ?? text ?? ''
    else if (this.#picker !== undefined) this.#pressInList(this.#picker, text, key)
    else if (isInterrupt) this.#interrupt()
    else if (key.ctrl === true && key.name === 'z' && process.platform !== 'win32') this.#suspend()
    else this.#press(this.#typedInto, text, key)
  }

  #pressInList(picker: Picker, text: string | undefined, key: PressedKey): void {
    const how = picker.press(text, key)
    if (how === undefined) this.#question?.redraw()
    else this.#question?.end(how === 'chosen' ? '' : undefined)
  }

  #interrupt(): void {
    if (this.#typedInto.cancelSearch()) return
    if (this.#question !== undefined && this.#isAnswerable && this.#isDraft) {
      this.#question.end('')
      this.#endQuestion()
    } else this.onInterrupt(this.#typedInto.text !== '')
  }

  #press(input: KeyedInput, text: string | undefined, key: PressedKey): void {
    const isEscape = this.#question === undefined && !input.isSearching && /^(meta-)?escape$/.test(nameOf(key))
    const isRead = this.#isPrompting || this.#isAnswerable
    if (isEscape) this.onEscape(input.text !== '', key.sequence === '\x1b\x1b')
    else if (key.ctrl === true && key.name === 'd' && input.text === '') this.#leave(isRead)
    else if (this.#isAnswerable && this.#choice !== undefined) this.#pressAnswer(input, this.#choice, text, key)
    else if (!isRead && isEnter(key)) this.#enterEarly(input)
    else if (this.#isAnswerable && this.#isSeveralLines && !this.#marksPastes && isEnter(key)) input.insert('\n')
    else if (input.press(text, key)) this.#endRead()
  }

  #leave(isRead: boolean): void {
    this.#isLeaving = true
    if (isRead) this.#finish()
    else this.onLeave()
  }

  /** Called after Enter. The prompt receives the keys that arrived together with Enter. */
  #endRead(): void {
    if (this.#isAnswerable) this.#endQuestion()
    else {
      this.#isPrompting = false
      this.#prompt = this.#newPrompt()
    }
  }

  #enterEarly(input: KeyedInput): void {
    if (!input.finishes()) return
    if (input.text.trim() === '') input.clear()
    else if (this.#isPressed && this.#isShownEarly) {
      this.#queue.push(input.take())
      this.#input.redraw()
    } else input.insert('\n')
  }

  #endPaste(): void {
    const pasted = (this.#paste ?? '')
      .replace(/\r\n?|[\u2028\u2029]/g, '\n')
      .replace(/[^\P{Cc}\n\t]/gu, '')
      .replace(/\n$/, '')
    this.#paste = undefined
    // A paste goes into the prompt if the question expects a key or shows a list.
    const into = this.#choice === undefined && this.#picker === undefined ? this.#typedInto : this.#prompt
    into.paste(pasted)
  }

  /** Handles Ctrl-Z, and SIGTSTP from another process. Restores the terminal before it stops the process. */
  readonly #suspend = (): void => {
    if (!this.#isLent) this.#makeWay()
    process.kill(process.pid, 'SIGSTOP')
  }

  readonly #onContinue = (): void => {
    if (this.#isLent) return
    // After a SIGSTOP from outside, the terminal is still in raw mode for Node.js, but the shell has changed the mode. `#makeWay` resets
    // the mode, so that Node.js sets it again.
    this.#makeWay()
    this.#takeTerminal()
    this.#suspended?.show()
    this.#suspended = undefined
  }

  #makeWay(): void {
    if (this.#suspended !== undefined) return
    this.#suspended = this.#input
    this.#suspended.hide()
    this.#leaveTerminal()
  }

  #takeTerminal(): void {
    this.#io.stdin.setRawMode?.(true)
    if (this.#marksPastes) this.#io.stderr.write(pasteMarksOn)
  }

  #leaveTerminal(): void {
    this.#io.stdin.setRawMode?.(false)
    this.#unmarkPastes()
  }

  readonly #unmarkPastes = (): void => {
    if (this.#marksPastes) this.#io.stderr.write(pasteMarksOff)
  }
}

async function untilAborted(input: KeyedInput, signal: AbortSignal): Promise<TypedText | undefined> {
  const abort = () => input.end(undefined)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await input.ended
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
