import { Event, type EventPlace } from '../../core/events.ts'
import { jsonIn } from '../../core/json.ts'
import { isJsonObject, type Usage, withoutUndefined } from '../../core/messages.ts'
import { redact, secretTexts } from '../../core/redaction/redact.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { ChatModel, ModelRetry, ModelSink } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { History } from '../conversation/history.ts'
import type { RunContext } from '../run/run-context.ts'
import { findTool } from '../text-calls/find-tools.ts'
import type { CheckedText, PieceTimes, TextReader, TurnPieces, TurnRequest } from '../types/model-call.ts'
import type { Failed } from '../types/recorded.ts'

/** Passes the pieces of one turn's responses to listeners. Collects their text even if nobody listens, because a response may break off. */
export class TurnSink implements TurnPieces {
  readonly #run: RunContext
  readonly #model: Pick<ChatModel, 'provider' | 'model'>
  readonly #tools: ToolSet
  readonly #meta: EventPlace
  readonly #history: Pick<History, 'uniqueIds'>
  /** Whether the current request is open. A model may send pieces even after its request has ended. */
  #request = { isOpen: false }
  #said: TextBuffer | undefined
  #reader: TextReader | undefined
  #isHeld = false
  /** The text of the current response, if guardrails check it as it arrives. */
  streamed: CheckedText | undefined
  #hasReceived = false
  /** Whether a piece of the current response was shown, and whether one of these pieces was text. */
  #isShown = false
  #isTextShown = false
  #times: PieceTimes | undefined
  /** Emits the arguments of tools with secrets, once they are complete. */
  #tellHidden: (() => void) | undefined
  /** The time of the first piece, by `performance.now()`. */
  firstPieceAt: number | undefined
  usedBefore: Usage | undefined

  /** `tools`: the tools that the response may call. `history`: assigns the ids of calls. */
  constructor(run: RunContext, { model, tools }: TurnRequest, meta: EventPlace, history: Pick<History, 'uniqueIds'>) {
    this.#run = run
    this.#model = model
    this.#tools = tools
    this.#meta = meta
    this.#history = history
  }

  /** Whether text is held back until it is checked. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  get received(): string | undefined {
    return this.#hasReceived ? (this.#said?.toString() ?? '') : undefined
  }

  /** Whether a piece of the current response was shown, and whether all recipients can discard it. */
  get shown(): Failed['shown'] {
    if (!this.#isShown) return undefined
    return this.#run.events.takesBack(this.#isTextShown) ? 'revocably' : 'for good'
  }

  hold(streamed?: CheckedText): void {
    this.#isHeld = true
    this.streamed = streamed
  }

  timePieces(times: PieceTimes): void {
    this.#times = times
  }

  readBy(reader: TextReader): void {
    this.#reader = reader
  }

  retry(retry: ModelRetry): void {
    const discards = this.#isShown
    this.#isShown = false
    this.#isTextShown = false
    if (this.#run.interruption !== undefined) return
    this.#run.events.emit(Event.MODEL_RETRY, discards ? { ...retry, discards } : retry, this.#meta)
  }

  partialText(ofError = ''): string {
    if (this.#isHeld) return this.streamed?.shown ?? ''
    // Text may have arrived even if the error has none.
    const text = ofError === '' ? (this.#said?.toString() ?? '') : ofError
    return this.#reader?.partOf(text) ?? text
  }

  open(): ModelSink | undefined {
    this.close()
    this.#times?.restart()
    this.#request = { isOpen: true }
    this.#said = undefined
    this.#hasReceived = false
    this.#reader = undefined
    const run = this.#run
    const text = run.events.deltas(Event.TEXT_DELTA, this.#meta)
    const reasoning = run.events.deltas(Event.REASONING_DELTA, this.#meta)
    const inputStart = run.events.deltas(Event.TOOL_INPUT_START, this.#meta)
    const inputDelta = run.events.deltas(Event.TOOL_INPUT_DELTA, this.#meta)
    if (text === undefined && reasoning === undefined && inputStart === undefined && inputDelta === undefined) return undefined
    let uniqueId: ReturnType<History['uniqueIds']> | undefined
    const ids: string[] = []
    /** Arguments of tools with secrets are emitted as a whole, because secrets can't be recognized in pieces. */
    const hidden = new Map<number, { names: ReadonlySet<string>; json: string }>()
    const restart = (): boolean => {
      uniqueId = undefined
      hidden.clear()
      return true
    }
    const toolCallStart = (index: number, given: string, name: string): void => {
      uniqueId ??= this.#history.uniqueIds()
      const id = uniqueId(given, index)
      ids[index] = id
      const { name: found, tool } = findTool(name, this.#tools)
      if (tool?.secrets !== undefined && tool.secrets.length > 0) hidden.set(index, { names: new Set(tool.secrets), json: '' })
      inputStart?.({ index, id, tool: found })
    }
    const toolCallDelta = (index: number, json: string): void => {
      const whole = hidden.get(index)
      if (whole === undefined) inputDelta?.({ index, id: ids[index] ?? '', json })
      else whole.json += json
    }
    const tellHidden = (): void => {
      for (const [index, { names, json }] of hidden) {
        const args = jsonIn(json)
        if (!isJsonObject(args)) continue
        run.events.hide(secretTexts(args, names))
        inputDelta?.({ index, id: ids[index] ?? '', json: JSON.stringify(redact(args, names)) })
      }
      hidden.clear()
    }
    this.#tellHidden = tellHidden
    const pieces: Partial<ModelSink> = withoutUndefined({
      text: text && ((delta: string) => text({ text: delta })),
      reasoning: reasoning && ((delta: string) => reasoning({ text: delta })),
      toolCallStart: inputStart || inputDelta ? toolCallStart : undefined,
      toolCallDelta: inputDelta && toolCallDelta,
    })
    return { restart, ...pieces }
  }

  /** Ends the current request. Pieces that the model sends later are ignored. */
  close(): void {
    this.#request.isOpen = false
    this.#tellHidden?.()
    this.#tellHidden = undefined
  }

  sink(heard: ModelSink = {}): ModelSink {
    const request = this.#request
    const isTaken = (listens: unknown): boolean => {
      if (!request.isOpen || this.#run.interruption !== undefined) return false
      if (this.#times !== undefined) {
        const now = performance.now()
        this.firstPieceAt ??= now
        this.#times.note(now)
      } else this.firstPieceAt ??= performance.now()
      this.#hasReceived = true
      this.#isShown ||= listens !== undefined
      return true
    }
    const { toolCallDelta } = heard
    const sink: ModelSink = {
      text: (delta) => {
        if (delta === '' || !isTaken(heard.text)) return
        this.#said ??= new TextBuffer()
        this.#said.add(delta)
        this.#isTextShown ||= heard.text !== undefined
        heard.text?.(delta)
      },
      reasoning: (delta) => {
        if (delta !== '' && isTaken(heard.reasoning)) heard.reasoning?.(delta)
      },
      toolCallStart: (index, id, name) => {
        if (isTaken(heard.toolCallStart)) heard.toolCallStart?.(index, id, name)
      },
      queued: (ahead) => {
        const { provider, model } = this.#model
        if (request.isOpen) this.#run.events.emit(Event.MODEL_QUEUED, { provider, model, ahead }, this.#meta)
      },
      restart: (retries = false) => {
        if (this.shown === 'for good' || (this.#isShown && !retries)) return false
        heard.restart?.()
        this.#said = undefined
        this.#hasReceived = false
        this.firstPieceAt = undefined
        this.#times?.restart()
        return true
      },
      retry: (retry) => {
        if (request.isOpen) this.retry(retry)
      },
      // If part of the response was shown, reading the refused text would show this part twice.
      readRefused: async (text) => (this.#isShown ? undefined : heard.readRefused?.(text)),
    }
    const takeDelta = (index: number, json: string): void => {
      if (isTaken(toolCallDelta)) toolCallDelta?.(index, json)
    }
    return toolCallDelta === undefined ? sink : { ...sink, toolCallDelta: takeDelta }
  }
}
