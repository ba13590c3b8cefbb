import type { RunResult } from '../../agent/types/options.ts'
import { Event, type RunEvent } from '../../core/events.ts'
import type { ChatMessage, JsonObject, ToolCall, Usage } from '../../core/messages.ts'
import { sseFrame } from '../../ui/web/sse-stream.ts'
import type { ClientReply } from '../chat/answer-client.ts'
import { ReplyFrames } from '../chat/reply-frames.ts'
import { SaidText } from '../chat/said-text.ts'
import { clientCalls, previewNote, problemIn, type Shortfall, shortfallIn } from '../chat/told-result.ts'
import { errorBody, type HttpProblem, problemOfRun } from '../http/problem.ts'
import { inputItems } from './input-list.ts'
import { type CallItem, type OutputItem, outputText, summaryText, type TextItem, textEvents } from './output-items.ts'
import type { ReadTools } from './requested-tools.ts'
import { itemIdOf } from './response-ids.ts'
import { type ResponseRequest, wantsJson } from './response-request.ts'

export interface ResponseReplyOptions {
  id: string
  request: ResponseRequest
  tools: Pick<ReadTools, 'writtenName'>
  /**
   * Stores the response and its conversation. Never rejects. Resolves with false if storing failed. Undefined if the response must not be
   * stored.
   */
  keep: ((response: object, messages: readonly ChatMessage[]) => Promise<boolean>) | undefined
}

/**
 * Represents a run as a response: as typed events while the run continues, or as a whole when the run has ended. Both forms have the same
 * content. The text of each turn is a separate item, because clients show the items separately.
 */
export class ResponseReply implements ClientReply {
  readonly frames: ReplyFrames | undefined
  /** Resolves when the run has ended, and the response is stored. */
  readonly ended: Promise<void>
  readonly #end = Promise.withResolvers<void>()
  readonly #options: ResponseReplyOptions
  /** The fields that don't change during the run. */
  readonly #settings: object
  readonly #output: OutputItem[] = []
  #events = 0
  #open: { item: TextItem; text: string; iteration: number } | undefined
  /** What to restore if a retry discards text. */
  #before: { items: number; open: { item: TextItem; text: string; iteration: number } | undefined } = { items: 0, open: undefined }
  /** The texts of all message items. */
  readonly #said = new SaidText()
  /** The final response. Set when the run has ended. */
  #response: object | undefined
  #problem: HttpProblem | undefined
  #isCancelled = false
  #isDiscarded = false
  #isBeingKept = false

  constructor(options: ResponseReplyOptions) {
    const { id, request, keep } = options
    this.#options = options
    this.ended = this.#end.promise
    this.#settings = settingsOf(id, request, keep !== undefined)
    this.frames = request.stream === true ? new ReplyFrames((problem) => this.#failureFrame(problem)) : undefined
    const response = this.#inProgress()
    this.#write('response.created', () => ({ response }))
    this.#write('response.in_progress', () => ({ response }))
  }

  get input(): JsonObject[] {
    const { id, request } = this.#options
    return inputItems(request.input, id)
  }

  get response(): object {
    return this.#response ?? this.#inProgress()
  }

  /** Marks the response as cancelled by the client. */
  cancel(): void {
    this.#isCancelled = true
  }

  /** Prevents the response from being stored. Resolves with true if it may already be stored. */
  async discard(): Promise<boolean> {
    this.#isDiscarded = true
    if (this.#isBeingKept) await this.ended
    return this.#isBeingKept
  }

  /** Whether the reply can discard text that a retry replaces. A streamed reply has already sent its text. */
  get takesBack(): boolean {
    return this.frames === undefined
  }

  event(event: RunEvent): void {
    // Skips nested runs, because their text is only for the model of the outer run.
    if (event.meta.parentRunId !== undefined) return
    const iteration = this.#said.follow(event)
    if (event.type === Event.MODEL_START) this.#before = { items: this.#output.length, open: this.#open && { ...this.#open } }
    if (event.type === Event.MODEL_RETRY && event.discards) {
      this.#output.length = this.#before.items
      this.#open = this.#before.open
    }
    if (event.type === Event.REASONING_DELTA) this.#add('reasoning', event.text, iteration)
    else if (event.type === Event.TEXT_DELTA && !wantsJson(this.#options.request)) this.#say(event.text, iteration)
  }

  over(result: RunResult | undefined): void {
    void this.#finish(result).finally(() => {
      this.frames?.close()
      this.#end.resolve()
    })
  }

  async whole(): Promise<string> {
    await this.ended
    if (this.#problem !== undefined) throw this.#problem
    return JSON.stringify(this.#response)
  }

  async #finish(result: RunResult | undefined): Promise<void> {
    this.#problem = result === undefined ? problemOfRun(undefined) : problemIn(result)
    if (result === undefined || this.#problem !== undefined) {
      this.#closeText('incomplete')
      const isCancelled = this.#isCancelled && result?.stopReason === 'aborted'
      const failure = isCancelled ? { status: 'cancelled' } : failureOf(this.#problem ?? problemOfRun(undefined))
      this.#response = { ...this.#inProgress(), ...failure, usage: usageOf(result?.usage), store: false }
      this.#endWith('response.failed')
      return
    }
    if (this.#said.lacks(result.text)) this.#say(result.text, result.iterations + 1)
    const note = wantsJson(this.#options.request) ? undefined : previewNote(result)
    if (note !== undefined) this.#say(note, result.iterations + 2)
    const shortfall = shortfallIn(result)
    this.#closeText(shortfall === undefined ? 'completed' : 'incomplete')
    for (const call of clientCalls(result)) this.#call(call)
    const response = { ...this.#inProgress(), ...endingOf(shortfall), usage: usageOf(result.usage) }
    this.#response = response
    if (this.#options.keep !== undefined) this.#response = { ...response, store: await this.#keep(response, result.messages) }
    this.#endWith(shortfall === undefined ? 'response.completed' : 'response.incomplete')
  }

  async #keep(response: object, messages: readonly ChatMessage[]): Promise<boolean> {
    if (this.#isDiscarded) return false
    this.#isBeingKept = true
    return (await this.#options.keep?.(response, messages)) === true && !this.#isDiscarded
  }

  #endWith(type: string): void {
    const response = this.#response
    this.#write(type, () => ({ response }))
    this.frames?.push('data: [DONE]\n\n')
  }

  #say(text: string, iteration: number): void {
    this.#said.add(text, iteration)
    this.#add('message', text, iteration)
  }

  /** Appends to the text of the open item. If that item has another kind or belongs to another turn, opens a new item. */
  #add(type: TextItem['type'], text: string, iteration: number): void {
    if (this.#open?.item.type !== type || this.#open.iteration !== iteration) {
      this.#closeText('completed')
      this.#open = { item: this.#openText(type), text: '', iteration }
    }
    this.#open.text += text
    const delta = { delta: text, ...(type === 'message' ? { logprobs: [] } : {}) }
    this.#write(`${textEvents[type].text}.delta`, { ...this.#placeIn(this.#open.item), ...delta })
  }

  #openText(type: TextItem['type']): TextItem {
    const item: TextItem =
      type === 'message'
        ? { type, id: this.#itemId('msg'), status: 'in_progress', role: 'assistant', content: [] }
        : { type, id: this.#itemId('rs'), status: 'in_progress', summary: [] }
    this.#addItem(item)
    this.#write(`${textEvents[type].part}.added`, { ...this.#placeIn(item), part: textEvents[type].partOf('') })
    return item
  }

  #closeText(status: 'completed' | 'incomplete'): void {
    if (this.#open === undefined) return
    const { item, text } = this.#open
    this.#open = undefined
    const events = textEvents[item.type]
    const place = this.#placeIn(item)
    item.status = status
    if (item.type === 'message') item.content = [outputText(text)]
    else item.summary = [summaryText(text)]
    this.#write(`${events.text}.done`, () => ({ ...place, text, ...(item.type === 'message' ? { logprobs: [] } : {}) }))
    this.#write(`${events.part}.done`, () => ({ ...place, part: events.partOf(text) }))
    this.#write('response.output_item.done', () => ({ output_index: place.output_index, item }))
  }

  /** Returns the fields that locate the text of the newest item. */
  #placeIn(item: TextItem): { item_id: string; output_index: number } {
    return { item_id: item.id, output_index: this.#output.length - 1, [textEvents[item.type].number]: 0 }
  }

  #call({ id, function: { name: tool, arguments: json } }: ToolCall): void {
    const written = this.#options.tools.writtenName(tool)
    const item: CallItem = { type: 'function_call', id: this.#itemId('fc'), status: 'in_progress', call_id: id, ...written, arguments: '' }
    this.#addItem(item)
    const place = { item_id: item.id, output_index: this.#output.length - 1 }
    item.status = 'completed'
    item.arguments = json
    this.#write('response.function_call_arguments.delta', () => ({ ...place, delta: json }))
    this.#write('response.function_call_arguments.done', () => ({ ...place, name: written.name, arguments: json }))
    this.#write('response.output_item.done', () => ({ output_index: place.output_index, item }))
  }

  #addItem(item: OutputItem): void {
    this.#output.push(item)
    this.#write('response.output_item.added', { output_index: this.#output.length - 1, item })
  }

  #itemId(kind: string): string {
    return itemIdOf(kind, this.#options.id, this.#output.length)
  }

  #inProgress(): object {
    return { ...this.#settings, status: 'in_progress', output: [...this.#output], usage: null, error: null, incomplete_details: null }
  }

  /** Writes an event. A function is called when the event is read, so that its fields take no memory until then. */
  #write(type: string, fields: object | (() => object)): void {
    const { frames } = this
    if (frames === undefined) return
    const sequence_number = this.#events++
    const write = (rest: object) => sseFrame(type, JSON.stringify({ type, sequence_number, ...rest }))
    frames.push(typeof fields === 'function' ? () => write(fields()) : write(fields))
  }

  /** Formats an error. Some clients read `error`, others the top level. */
  #failureFrame(problem: HttpProblem): string {
    const { error } = errorBody(problem)
    const { code, message, param } = error
    return sseFrame('error', JSON.stringify({ type: 'error', sequence_number: this.#events++, code, message, param, error }))
  }
}

/** Returns the settings of the request in the format of a response. */
function settingsOf(id: string, request: ResponseRequest, isKept: boolean): object {
  return {
    id,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    background: false,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: request.metadata ?? {},
    model: request.model,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: null },
    service_tier: 'default',
    store: isKept,
    temperature: request.temperature ?? null,
    text: { format: request.text?.format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_logprobs: 0,
    top_p: request.top_p ?? null,
    truncation: 'disabled',
  }
}

function endingOf(shortfall: Shortfall | undefined): object {
  const completed_at = Math.floor(Date.now() / 1000)
  if (shortfall === undefined) return { status: 'completed', completed_at }
  return { status: 'incomplete', incomplete_details: { reason: shortfall === 'length' ? 'max_output_tokens' : shortfall } }
}

function failureOf(problem: HttpProblem): object {
  const { code, message } = errorBody(problem).error
  return { status: 'failed', error: { code, message } }
}

function usageOf(usage: Usage | undefined): object | null {
  if (usage === undefined) return null
  const { inputTokens, outputTokens, totalTokens, reasoningTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: totalTokens,
  }
}
