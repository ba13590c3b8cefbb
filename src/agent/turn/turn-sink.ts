import { Event, type EventMeta } from '../../core/events.ts'
import type { Usage } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text-buffer.ts'
import type { ModelSink } from '../../models/chat-model.ts'
import type { RunContext } from '../run/run-context.ts'

/** Reads the text of a response: tells what counts as said of one that broke off after `text`. */
interface TextReader {
  partOf(text: string): string
}

/**
 * Where the pieces of one turn's responses go: to those who listen, and where nobody does, into a buffer. So what a response that breaks off
 * came to does not depend on who listens; and it can be asked for again as long as nobody has seen any of it.
 */
export class TurnSink {
  readonly #run: RunContext
  readonly #meta: Omit<EventMeta, 'runId'>
  #shownText: TextBuffer | undefined
  #unseenText: TextBuffer | undefined
  /** The request under way; a model may go on talking when it is over. */
  #request = { isOpen: false }
  #reader: TextReader | undefined
  #isHeld = false
  /** When the first piece came, by `performance.now()`. */
  firstPieceAt: number | undefined
  /** What earlier requests of the turn have used, where there was more than one. */
  usedBefore: Usage | undefined

  constructor(run: RunContext, meta: Omit<EventMeta, 'runId'>) {
    this.#run = run
    this.#meta = meta
  }

  /** Whether text is given out only when it has been checked. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  hold(): void {
    this.#isHeld = true
  }

  /** The request under way is read by `reader`. */
  readBy(reader: TextReader | undefined): void {
    this.#reader = reader
  }

  /** What was said before a response broke off; not what may have become a call. `told`: what its error tells of it. */
  partialText(told = ''): string {
    if (this.#isHeld) return ''
    // An error may tell of usage alone: that it has no text does not say that there was none.
    const shown = this.#shownText?.toString() ?? ''
    if (told === '' && shown !== '') return shown
    const text = told === '' ? (this.#unseenText?.toString() ?? '') : told
    return this.#reader?.partOf(text) ?? text
  }

  close(): void {
    this.#request.isOpen = false
  }

  /** Begins a request. Gives what somebody listens to; undefined for nothing. */
  open(): ModelSink | undefined {
    this.#request = { isOpen: true }
    this.#unseenText = undefined
    this.#reader = undefined
    const run = this.#run
    const text = run.deltas(Event.TEXT_DELTA, this.#meta)
    const reasoning = run.deltas(Event.REASONING_DELTA, this.#meta)
    const inputStart = run.deltas(Event.TOOL_INPUT_START, this.#meta)
    const inputDelta = run.deltas(Event.TOOL_INPUT_DELTA, this.#meta)
    if (text === undefined && reasoning === undefined && inputStart === undefined && inputDelta === undefined) return undefined
    const sink: ModelSink = {}
    const take = this.#taker()
    if (text !== undefined) {
      sink.text = (delta) => {
        if (delta === '' || !take()) return
        this.#shownText ??= new TextBuffer()
        this.#shownText.add(delta)
        text({ text: delta })
      }
    }
    if (reasoning !== undefined) {
      sink.reasoning = (delta) => {
        if (delta !== '' && take()) reasoning({ text: delta })
      }
    }
    if (inputStart !== undefined) {
      sink.toolCallStart = (index, id, tool) => {
        if (take()) inputStart({ index, id, tool })
      }
    }
    if (inputDelta !== undefined) {
      sink.toolCallDelta = (index, json) => {
        if (take()) inputDelta({ index, json })
      }
    }
    return sink
  }

  /** What the model is given: `heard`, as `open` gave it or wrapped, and the rest for the turn itself. */
  complete(heard: ModelSink = {}): ModelSink {
    const take = this.#taker()
    let isShown = false
    const shown = <Piece extends unknown[]>(show: (...piece: Piece) => void) => {
      return (...piece: Piece) => {
        take()
        isShown = true
        show(...piece)
      }
    }
    const keepText = (delta: string) => {
      if (delta === '' || !take()) return
      this.#unseenText ??= new TextBuffer()
      this.#unseenText.add(delta)
    }
    const { text, reasoning, toolCallStart, toolCallDelta } = heard
    return {
      text: text === undefined ? keepText : shown(text),
      reasoning: reasoning === undefined ? take : shown(reasoning),
      toolCallStart: toolCallStart === undefined ? take : shown(toolCallStart),
      ...(toolCallDelta === undefined ? {} : { toolCallDelta: shown(toolCallDelta) }),
      restart: () => {
        if (isShown) return false
        this.#unseenText = undefined
        this.firstPieceAt = undefined
        return true
      },
    }
  }

  /** Notes a piece; false once the request, or the run, is over. */
  #taker(): () => boolean {
    const request = this.#request
    return () => {
      if (!request.isOpen || this.#run.interruption !== undefined) return false
      this.firstPieceAt ??= performance.now()
      return true
    }
  }
}
