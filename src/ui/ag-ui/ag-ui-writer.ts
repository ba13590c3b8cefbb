import { Event, type RunEvent } from '../../core/events.ts'
import { addUsage, type JsonObject, noUsage, type Usage } from '../../core/messages.ts'
import { emptyRunView, lastText, type RunView, reduceRun } from '../../core/runs/index.ts'
import { decisionOnPage, isOwnCall } from '../pending-on-page.ts'
import { unsaidText } from '../unsaid-text.ts'
import type { ResponseWriter } from '../web/response-format.ts'
import type { RunEnding } from '../web/run-ending.ts'
import { outcomeOf } from './outcome.ts'
import { type AgUiEvent, ShownMessages } from './shown-messages.ts'

export interface AgUiWriterOptions {
  threadId: string | undefined
  runId: string | undefined
  /** The ids of the calls that the client already has. Undefined if the client's messages are unknown. */
  known: ReadonlySet<string> | undefined
  /** The results that the client has sent, by call id. */
  results: ReadonlyMap<string, string>
  /** The client's messages. Undefined if they are unknown. */
  shown: readonly JsonObject[] | undefined
}

type ToolEvent = Extract<RunEvent, { type: 'TOOL_CALL_START' | 'TOOL_CALL_END' | 'TOOL_CALL_REJECTED' | 'TOOL_PROGRESS' }>
type Ids = { threadId: string; runId: string }

/**
 * Writes a run as events of AG-UI 1.0. Skips events of nested runs, because a call's result covers them. https://docs.ag-ui.com/spec/1.0
 */
export class AgUiWriter implements ResponseWriter {
  readonly #options: AgUiWriterOptions
  readonly #shown: ShownMessages | undefined
  /** The view of the current step. */
  #view: RunView = emptyRunView()
  /** The calls whose arguments the model is writing. */
  readonly #inputs = new Set<string>()
  /** The calls that were sent, each with the number of the model request that made it. */
  readonly #told = new Map<string, number>()
  /** The usage of each model, by provider and name. */
  readonly #usage = new Map<string, { provider: string; model: string; usage: Usage }>()
  #ids: Ids | undefined
  #open: { type: 'TEXT' | 'REASONING'; id: string } | undefined
  #messages = 0
  #iteration = 0
  /** The id of the message that contains the calls of this turn. */
  #turn: string | undefined
  #step: string | undefined
  #hasAsked = false
  /** Whether the first events of the current step are no longer stored. */
  #isBehind = false
  /** Whether the client has missed events that are no longer stored. */
  #hasMissed = false
  #frames = ''

  constructor(options: AgUiWriterOptions) {
    this.#options = options
    this.#shown = options.shown && new ShownMessages(options.shown)
  }

  event(event: RunEvent): string {
    const { runId, parentRunId, iteration } = event.meta
    if (this.#isBehind && parentRunId !== undefined) return ''
    this.#begin(runId)
    if (runId !== this.#view.runId) return this.#flush()
    if (event.type === Event.MODEL_START && !event.continues) {
      this.#isBehind = false
      this.#view = emptyRunView(runId)
    }
    this.#iteration = iteration
    if (!this.#isBehind) this.#take(event)
    return this.#flush()
  }

  /**
   * Handles missing events. The client receives only complete steps, or the answer at the end, because an incomplete step could end
   * messages that were never started.
   */
  gap(): string {
    this.#isBehind = true
    this.#hasMissed = true
    this.#hasAsked = true
    return ''
  }

  broken(reason: string): string {
    this.#send({ type: 'RUN_ERROR', message: reason, code: 'broken_off' })
    return this.#flush()
  }

  end(ending: RunEnding): string {
    const { stopReason, error, pending, output } = ending
    const ids = this.#begin(ending.runId ?? '')
    const unsaid = unsaidText(this.#view, ending)
    if (unsaid !== '') this.#piece('TEXT', unsaid)
    this.#close()
    for (const item of pending) if (item.kind !== 'question' && isOwnCall(item)) this.#call(item.toolCallId, item.tool, item.args)
    this.#endStep()
    const usage = this.#hasMissed ? {} : this.#used()
    if (error !== undefined && stopReason !== 'aborted')
      this.#send({ type: 'RUN_ERROR', message: error.message, code: error.code, ...usage })
    else {
      const outcome = stopReason === 'aborted' ? { type: 'cancelled' } : outcomeOf(pending)
      const result = output === undefined ? {} : { result: output }
      this.#send({ type: 'RUN_FINISHED', ...ids, outcome, ...result, ...usage, metadata: { stopReason } })
    }
    return this.#flush()
  }

  #begin(run: string): Ids {
    if (this.#ids !== undefined) return this.#ids
    const { threadId = run, runId = run } = this.#options
    this.#view = emptyRunView(run)
    this.#ids = { threadId, runId }
    this.#send({ type: 'RUN_STARTED', ...this.#ids, protocolVersion: '1.0' })
    return this.#ids
  }

  #take(event: RunEvent): void {
    reduceRun(this.#view, event)
    switch (event.type) {
      case Event.MODEL_START:
        if (!event.continues) this.#beginStep()
        break
      case Event.MODEL_RETRY:
        if (event.discards) this.#discard()
        break
      case Event.TEXT_DELTA:
        this.#piece('TEXT', event.text)
        break
      case Event.REASONING_DELTA:
        this.#piece('REASONING', event.text)
        break
      case Event.TOOL_INPUT_START:
        this.#closeMessage()
        this.#inputs.add(event.id)
        this.#startCall(event.id, event.tool)
        break
      case Event.TOOL_INPUT_DELTA:
        if (this.#inputs.has(event.id)) this.#send({ type: 'TOOL_CALL_ARGS', toolCallId: event.id, delta: event.json })
        break
      case Event.MODEL_END:
        this.#count(event)
        // A text that was cut off may be continued, so its message stays open.
        if (event.finishReason !== 'length') this.#close()
        break
      case Event.DECISION_MADE:
        this.#close()
        this.#send({ type: 'CUSTOM', name: 'decision_made', value: decisionOnPage(event) })
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
    const { toolCallId = '' } = event.meta
    this.#close()
    if (event.type === Event.TOOL_CALL_START) this.#call(toolCallId, tool, event.args)
    else if (event.type === Event.TOOL_PROGRESS)
      this.#send({ type: 'CUSTOM', name: 'tool_progress', value: { toolCallId, tool, update: event.update } })
    else if (event.type === Event.TOOL_CALL_END) this.#result(toolCallId, event.result)
    else {
      this.#call(toolCallId, tool, event.args)
      this.#result(toolCallId, event.error)
    }
  }

  #result(toolCallId: string, content: string): void {
    // Skips a result that the page itself has sent, because it would appear twice. Compares only the first characters, because the run may
    // have truncated a long result.
    const own = this.#options.results.get(toolCallId)
    if (!this.#hasAsked && own?.slice(0, comparedCharacters) === content.slice(0, comparedCharacters)) return
    this.#send({ type: 'TOOL_CALL_RESULT', messageId: this.#newId('result'), toolCallId, content, role: 'tool' })
  }

  /** Sends a complete call, unless the client already has it. */
  #call(toolCallId: string, tool: string, args: JsonObject | string): void {
    const { known } = this.#options
    const knows = known === undefined ? !this.#hasAsked : known.has(toolCallId)
    if (this.#told.has(toolCallId) || knows) return
    this.#startCall(toolCallId, tool)
    this.#send({ type: 'TOOL_CALL_ARGS', toolCallId, delta: typeof args === 'string' ? args : JSON.stringify(args) })
    this.#send({ type: 'TOOL_CALL_END', toolCallId })
  }

  #startCall(toolCallId: string, toolCallName: string): void {
    this.#turn ??= this.#newId('turn')
    this.#told.set(toolCallId, this.#iteration)
    this.#send({ type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId: this.#turn })
  }

  #beginStep(): void {
    this.#close()
    this.#endStep()
    this.#hasAsked = true
    this.#turn = undefined
    // Message ids are numbered within each step, so that a client that starts reading with this step gets the same ids.
    this.#messages = 0
    this.#shown?.beginStep()
    this.#step = `request ${this.#iteration}`
    this.#send({ type: 'STEP_STARTED', stepName: this.#step })
  }

  /**
   * Handles a model response that is requested again. Removes the messages of this step from the client. If the response continues an
   * earlier text, sends that text again. If the client's messages are unknown or incomplete, nothing can be removed.
   */
  #discard(): void {
    this.#close()
    this.#turn = undefined
    for (const [id, iteration] of this.#told) if (iteration === this.#iteration) this.#told.delete(id)
    const earlier = lastText(this.#view)
    if (this.#shown === undefined || this.#hasMissed) return
    this.#send({ type: 'MESSAGES_SNAPSHOT', messages: this.#shown.discardStep() })
    if (earlier !== '') this.#piece('TEXT', earlier)
  }

  #endStep(): void {
    if (this.#step !== undefined) this.#send({ type: 'STEP_FINISHED', stepName: this.#step })
    this.#step = undefined
  }

  #piece(type: 'TEXT' | 'REASONING', delta: string): void {
    if (this.#open?.type !== type) {
      this.#closeMessage()
      this.#open = { type, id: this.#newId(type.toLowerCase()) }
      this.#startMessage(this.#open)
    }
    this.#send({ type: `${type}_MESSAGE_CONTENT`, messageId: this.#open.id, delta })
  }

  #startMessage({ type, id: messageId }: { type: 'TEXT' | 'REASONING'; id: string }): void {
    if (type === 'TEXT') {
      // Calls that follow a text belong to the message with this text.
      this.#turn ??= messageId
      this.#send({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' })
      return
    }
    this.#send({ type: 'REASONING_START', messageId })
    this.#send({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' })
  }

  /** Ends the open text, reasoning and calls. */
  #close(): void {
    this.#closeMessage()
    for (const toolCallId of this.#inputs) this.#send({ type: 'TOOL_CALL_END', toolCallId })
    this.#inputs.clear()
  }

  #closeMessage(): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    this.#send({ type: `${open.type}_MESSAGE_END`, messageId: open.id })
    if (open.type === 'REASONING') this.#send({ type: 'REASONING_END', messageId: open.id })
  }

  #count({ provider, model, usage }: Extract<RunEvent, { type: 'MODEL_END' }>): void {
    const key = JSON.stringify([provider, model])
    this.#usage.set(key, { provider, model, usage: addUsage(this.#usage.get(key)?.usage ?? noUsage, usage) })
  }

  #used(): { usage?: object[] } {
    const usage = [...this.#usage.values()].map(({ provider, model, usage }) => {
      const { inputTokens, outputTokens, totalTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens } = usage
      const counts = {
        inputTokens,
        outputTokens,
        totalTokens,
        reasoningTokens,
        cachedInputTokens: cacheReadTokens,
        cacheWriteInputTokens: cacheWriteTokens,
      }
      return { provider, model, ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined)) }
    })
    return usage.length === 0 ? {} : { usage }
  }

  #newId(kind: string): string {
    return `${this.#view.runId}-${this.#iteration}-${kind}-${++this.#messages}`
  }

  #send(event: AgUiEvent): void {
    this.#shown?.add(event)
    this.#frames += `data: ${JSON.stringify(event)}\n\n`
  }

  #flush(): string {
    const frames = this.#frames
    this.#frames = ''
    return frames
  }
}

const comparedCharacters = 1_000
