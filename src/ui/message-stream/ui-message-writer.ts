import type { PendingItem } from '../../agent/types/result.ts'
import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { Event, type RunEvent, type StopReason } from '../../core/events.ts'
import { jsonOrText } from '../../core/json.ts'
import { isJsonObject, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { emptyRunView, lastText, type RunView, reduceRun } from '../../core/runs/index.ts'
import { continuedText, withinText } from '../page-texts.ts'
import { decisionOnPage, idOnPage, isOwnCall, isYesOrNo, metadataOf } from '../pending-on-page.ts'
import { structured } from '../structured.ts'
import { unsaidText } from '../unsaid-text.ts'
import type { ResponseWriter } from '../web/response-format.ts'
import type { RunEnding } from '../web/run-ending.ts'
import type { UIToolPart } from './ui-message.ts'

export interface WriterOptions {
  /** The id of the response's message. Undefined if the client creates the id. */
  messageId: string | undefined
  /** The calls that the client already has, by id. Undefined if the client's messages are unknown. */
  known: ReadonlyMap<string, UIToolPart> | undefined
  messageMetadata: ((ending?: RunEnding) => unknown) | undefined
}

type Chunk = { type: string } & Record<string, unknown>
type WaitingItem = Pick<PendingItem, 'kind' | 'toolCallId' | 'tool' | 'args' | 'about' | 'schema' | 'fingerprint' | 'path'>
type ToolEvent = Extract<RunEvent, { type: 'TOOL_CALL_START' | 'TOOL_CALL_END' | 'TOOL_CALL_REJECTED' | 'TOOL_PROGRESS' }>

/**
 * Writes a run as chunks of the AI SDK's UI message stream. Skips events of nested runs, because a call's result covers them.
 * https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
 */
export class UIMessageWriter implements ResponseWriter {
  readonly #options: WriterOptions
  /** The view of the current step. */
  #view: RunView = emptyRunView()
  /** The ids of the calls whose arguments were sent. */
  readonly #available = new Set<string>()
  /** The ids of the calls that waited for a decision before the run continued. */
  readonly #decided = new Set<string>()
  /** The text or reasoning that is still open. */
  #part: { type: 'text' | 'reasoning'; id: string } | undefined
  #parts = 0
  #isInStep = false
  /**
   * Whether the run has sent a model request since this response started. Earlier events belong to calls that a previous response has sent.
   */
  #hasAsked = false
  /** Whether the first events of the current step are no longer stored. */
  #isBehind = false
  #frames = ''

  constructor(options: WriterOptions) {
    this.#options = options
  }

  event(event: RunEvent): string {
    const { runId, parentRunId } = event.meta
    if (this.#isBehind && parentRunId !== undefined) return ''
    if (this.#view.runId === '') this.#start(runId)
    if (runId !== this.#view.runId) return this.#flush()
    if (event.type === Event.MODEL_START && !event.continues) {
      this.#isBehind = false
      this.#callNoted()
      this.#view = emptyRunView(runId)
    }
    if (!this.#isBehind) this.#take(event)
    return this.#flush()
  }

  /** Handles missing events. The client receives only complete steps, or the answer at the end. */
  gap(): string {
    this.#isBehind = true
    this.#hasAsked = true
    return ''
  }

  broken(reason: string): string {
    this.#send({ type: 'error', errorText: reason })
    return this.#flush()
  }

  end(ending: RunEnding): string {
    const { stopReason, error, pending } = ending
    if (this.#view.runId === '' && this.#isBehind) this.#start(ending.runId ?? '')
    const unsaid = unsaidText(this.#view, ending)
    if (unsaid !== '') this.#piece('text', unsaid)
    this.#closePart()
    for (const item of pending) this.#wait(item)
    if (this.#isInStep) this.#send({ type: 'finish-step' })
    if (stopReason === 'aborted') this.#send({ type: 'abort', ...withoutUndefined({ reason: error?.message }) })
    else if (error !== undefined) this.#send({ type: 'error', errorText: error.message })
    else this.#send({ type: 'finish', finishReason: this.#finish(stopReason), ...this.#metadata(ending) })
    return `${this.#flush()}data: [DONE]\n\n`
  }

  #start(runId: string): void {
    const { messageId } = this.#options
    this.#view = emptyRunView(runId)
    this.#send({ type: 'start', ...withoutUndefined({ messageId }), ...this.#metadata() })
  }

  #metadata(ending?: RunEnding): { messageMetadata?: unknown } {
    const messageMetadata = syncAnswer('messageMetadata', this.#options.messageMetadata?.(ending))
    return messageMetadata === undefined ? {} : { messageMetadata }
  }

  #take(event: RunEvent): void {
    // Sends the pending items first, because `reduceRun` drops them when the run continues.
    if (event.type === Event.RUN_START) this.#sendWaiting([...this.#view.pending.values()])
    reduceRun(this.#view, event)
    switch (event.type) {
      case Event.DECISION_MADE:
        this.#decide(event)
        break
      case Event.MODEL_START:
        if (!event.continues) this.#beginStep()
        break
      case Event.MODEL_RETRY:
        if (event.discards) this.#resetStep()
        break
      case Event.TEXT_DELTA:
        this.#piece('text', event.text)
        break
      case Event.REASONING_DELTA:
        this.#piece('reasoning', event.text)
        break
      case Event.TOOL_INPUT_START:
        this.#closePart()
        this.#send({ type: 'tool-input-start', toolCallId: event.id, toolName: event.tool })
        break
      case Event.TOOL_INPUT_DELTA:
        if (this.#view.calls.has(event.id)) this.#send({ type: 'tool-input-delta', toolCallId: event.id, inputTextDelta: event.json })
        break
      case Event.MODEL_END:
        // A text that was cut off may be continued, so its part stays open.
        if (event.finishReason !== 'length') this.#closePart()
        break
      case Event.TOOL_CALL_START:
      case Event.TOOL_CALL_END:
      case Event.TOOL_CALL_REJECTED:
      case Event.TOOL_PROGRESS:
        this.#takeCall(event)
    }
  }

  #takeCall(event: ToolEvent): void {
    const { tool } = event
    const { toolCallId = '', ok } = event.meta
    if (event.type === Event.TOOL_CALL_START) this.#call(toolCallId, tool, event.args)
    else if (event.type === Event.TOOL_PROGRESS)
      this.#send({ type: 'data-tool-progress', data: { toolCallId, tool, update: event.update }, transient: true })
    else if (event.type === Event.TOOL_CALL_REJECTED) this.#reject(toolCallId, event)
    else if (ok === false) this.#send({ type: 'tool-output-error', toolCallId, errorText: event.result })
    else this.#send({ type: 'tool-output-available', toolCallId, output: structured(event.result) })
  }

  /** Sends the arguments of a call, unless the client already has the call. The client would treat a repeated call as a new call. */
  #call(toolCallId: string, toolName: string, input: JsonObject): void {
    const { known } = this.#options
    const knows = known === undefined || hasCall(known.get(toolCallId))
    if (this.#available.has(toolCallId) || (!this.#hasAsked && knows)) return
    this.#available.add(toolCallId)
    this.#send({ type: 'tool-input-available', toolCallId, toolName, input })
  }

  #reject(toolCallId: string, { tool, args, error, outcome }: Extract<RunEvent, { type: 'TOOL_CALL_REJECTED' }>): void {
    const { known } = this.#options
    const part = known?.get(toolCallId)
    const isEarlier = !this.#hasAsked && (known === undefined || part !== undefined)
    const isDenied = this.#decided.has(toolCallId)
      ? outcome === 'denied'
      : isEarlier && (part === undefined || part.approval?.approved === false)
    if (isDenied) this.#send({ type: 'tool-output-denied', toolCallId })
    else if (isEarlier || this.#available.has(toolCallId)) this.#send({ type: 'tool-output-error', toolCallId, errorText: error })
    else this.#send({ type: 'tool-input-error', toolCallId, toolName: tool, input: args, errorText: error })
    this.#available.add(toolCallId)
  }

  /** Sends the items that the run was waiting for before it was resumed. A client that reads the run from the beginning needs them. */
  #sendWaiting(waiting: readonly WaitingItem[]): void {
    for (const item of waiting) {
      this.#wait(item)
      this.#decided.add(item.toolCallId)
    }
  }

  /** Sends a waiting call with its arguments and the requested decision. */
  #wait(item: WaitingItem): void {
    const { kind, tool, args, about, schema, fingerprint } = item
    const toolCallId = idOnPage(item)
    if (!isOwnCall(item)) {
      this.#available.add(toolCallId)
      this.#send({ type: 'tool-input-available', toolCallId, toolName: tool, input: args, providerMetadata: metadataOf(item) })
    } else if (kind !== 'question') this.#call(toolCallId, tool, args)
    // The page has to provide the answer as the output of the call.
    else this.#send({ type: 'tool-input-available', toolCallId, toolName: tool, input: args })
    if (isYesOrNo(item)) this.#send({ type: 'tool-approval-request', approvalId: fingerprint, toolCallId })
    if (kind === 'question') this.#send({ type: 'data-question', id: toolCallId, data: { toolCallId, tool, about, schema } })
  }

  #decide(event: Extract<RunEvent, { type: 'DECISION_MADE' }>): void {
    this.#send({ type: 'data-decision', id: event.place, data: decisionOnPage(event) })
    const toolCallId = idOnPage(event)
    const { known } = this.#options
    const isShown = this.#available.has(toolCallId) || (!this.#hasAsked && (known === undefined || known.has(toolCallId)))
    // A call of the run itself gets its own end event.
    if (isOwnCall(event) || !isYesOrNo(event) || !isShown) return
    const agent = event.path?.at(-1)?.agent
    if (!event.approved) this.#send({ type: 'tool-output-denied', toolCallId })
    else this.#send({ type: 'tool-output-available', toolCallId, output: agent === undefined ? continuedText : withinText(agent) })
  }

  #beginStep(): void {
    this.#closePart()
    if (this.#isInStep) this.#send({ type: 'finish-step' })
    this.#send({ type: 'start-step' })
    this.#isInStep = true
    this.#hasAsked = true
  }

  /**
   * Sends the calls that a preview lists without running them. Called before their step ends, because a client searches only that step for
   * the parts of a call.
   */
  #callNoted(): void {
    for (const { id, tool, status, written } of this.#view.calls.values()) {
      const input = status === 'writing' ? jsonOrText(written) : undefined
      if (isJsonObject(input)) this.#call(id, tool, input)
    }
  }

  /**
   * Handles a model response that is requested again. The client removes all parts of this step, including the open parts. If the response
   * continues an earlier text, that text is sent again.
   */
  #resetStep(): void {
    this.#part = undefined
    this.#send({ type: 'reset-step' })
    const earlier = lastText(this.#view)
    if (earlier !== '') this.#piece('text', earlier)
  }

  #piece(type: 'text' | 'reasoning', delta: string): void {
    if (this.#part?.type !== type) {
      this.#closePart()
      this.#part = { type, id: `${type}-${++this.#parts}` }
      this.#send({ type: `${type}-start`, id: this.#part.id })
    }
    this.#send({ type: `${type}-delta`, id: this.#part.id, delta })
  }

  #closePart(): void {
    if (this.#part !== undefined) this.#send({ type: `${this.#part.type}-end`, id: this.#part.id })
    this.#part = undefined
  }

  #finish(stopReason: StopReason | undefined): string {
    if (stopReason === 'paused') return 'tool-calls'
    return stopReason !== undefined && atLimit.has(stopReason) ? 'length' : 'stop'
  }

  #send(chunk: Chunk): void {
    this.#frames += `data: ${JSON.stringify(chunk)}\n\n`
  }

  #flush(): string {
    const frames = this.#frames
    this.#frames = ''
    return frames
  }
}

const atLimit: ReadonlySet<StopReason> = new Set<StopReason>(['truncated', 'max_iterations', 'budget', 'deadline', 'repeated_calls'])

/**
 * Whether the call must not be sent again: the client has its output, or the call was decided in an earlier step. In an earlier step, the
 * client would not find the call, because it searches only the last step, and would show the call twice.
 */
function hasCall(part: UIToolPart | undefined): boolean {
  return part !== undefined && (part.state.startsWith('output-') || (part.state === 'approval-responded' && part.isEarlier === true))
}
