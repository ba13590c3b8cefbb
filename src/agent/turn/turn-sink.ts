import { Event, type EventMeta } from '../../core/events.ts'
import { TextBuffer } from '../../core/text-buffer.ts'
import type { ModelSink } from '../../models/chat-model.ts'
import type { LiveRun } from '../run/run-context.ts'

/**
 * Where the pieces of one turn's responses go: to those who listen, and where nobody does, into a buffer. So what a response that breaks off
 * came to does not depend on who listens; and it can be asked for again as long as nobody has seen any of it.
 */
export class TurnSink {
  readonly #run: LiveRun
  readonly #meta: Omit<EventMeta, 'runId'>
  /** Text is given out only when it has been checked. */
  readonly #holdsText: boolean
  readonly #shownText = new TextBuffer()
  #unseenText = new TextBuffer()
  /** The request under way; a model may go on talking when it is over. */
  #request = { isOpen: false }
  /** When the first piece came, by `performance.now()`. */
  firstPieceAt: number | undefined

  constructor(run: LiveRun, meta: Omit<EventMeta, 'runId'>, holdsText: boolean) {
    this.#run = run
    this.#meta = meta
    this.#holdsText = holdsText
  }

  /** The text that was shown, of all requests. */
  get shownText(): string {
    return this.#shownText.toString()
  }

  /** The last response's text as far as it has come, where nobody listens to it. */
  get unseenText(): string {
    return this.#unseenText.toString()
  }

  close(): void {
    this.#request.isOpen = false
  }

  /** Begins a request. Gives what somebody listens to; undefined for nothing. */
  open(): ModelSink | undefined {
    this.#request = { isOpen: true }
    this.#unseenText = new TextBuffer()
    const run = this.#run
    const sink: ModelSink = {}
    const text = this.#holdsText ? undefined : run.deltas(Event.TEXT_DELTA, this.#meta)
    const reasoning = run.deltas(Event.REASONING_DELTA, this.#meta)
    const inputStart = run.deltas(Event.TOOL_INPUT_START, this.#meta)
    const inputDelta = run.deltas(Event.TOOL_INPUT_DELTA, this.#meta)
    const take = this.#taker()
    if (text !== undefined) {
      sink.text = (delta) => {
        if (delta === '' || !take()) return
        this.#shownText.add(delta)
        text({ text: delta })
      }
    }
    if (reasoning !== undefined) {
      sink.reasoning = (delta) => {
        if (delta !== '' && take()) reasoning({ text: delta })
      }
    }
    // An answer is held back like text, also where it comes as a call's arguments.
    const answers = new Set<number>()
    const holdsAnswer = this.#holdsText && run.output !== undefined
    if (inputStart !== undefined || (inputDelta !== undefined && holdsAnswer)) {
      sink.toolCallStart = (index, id, tool) => {
        if (holdsAnswer && tool === run.output?.tool.name) answers.add(index)
        if (take()) inputStart?.({ index, id, tool })
      }
    }
    if (inputDelta !== undefined) {
      sink.toolCallDelta = (index, json) => {
        if (take() && !answers.has(index)) inputDelta({ index, json })
      }
    }
    return Object.keys(sink).length === 0 ? undefined : sink
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
      if (delta !== '' && take()) this.#unseenText.add(delta)
    }
    const { text, reasoning, toolCallStart, toolCallDelta } = heard
    return {
      text: text === undefined ? keepText : shown(text),
      reasoning: reasoning === undefined ? take : shown(reasoning),
      toolCallStart: toolCallStart === undefined ? take : shown(toolCallStart),
      ...(toolCallDelta === undefined ? {} : { toolCallDelta: shown(toolCallDelta) }),
      restart: () => {
        if (isShown) return false
        this.#unseenText = new TextBuffer()
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
