import { type ChatMessage, isJsonObject, type JsonObject, type Usage, withoutUndefined } from '../../core/messages.ts'
import type { ModelResponse, ModelSink } from '../chat-model.ts'
import { type ErrorContext, responseError } from '../errors/provider-error.ts'
import { ToolCallAccumulator } from '../streaming/accumulator.ts'
import { isPause, laterReason, readEnd } from '../streaming/finish-reason.ts'
import type { ResponseReader } from '../streaming/response-body.ts'
import { sumOfUsage, UsageReport } from '../usage.ts'
import { AnthropicBlocks } from './blocks.ts'
import { layoutData } from './content.ts'

/**
 * Reads a Messages response: the events of a stream, or a complete message. Throws a `ModelError` if the body is not a response. Format:
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */
export class AnthropicResponse implements ResponseReader {
  readonly #context: ErrorContext
  readonly #sink: ModelSink | undefined
  readonly #calls: ToolCallAccumulator
  readonly #blocks: AnthropicBlocks
  #usage = new UsageReport()
  /** The usage of all messages that ended with a pause, added up. */
  #spent: Usage | undefined
  #stop: string | undefined
  #explanation = ''
  #id: string | undefined
  /** The id of the message that is arriving. After a pause, the next message has another id. */
  #message: string | undefined
  #model: string | undefined
  #container: string | undefined
  #done = false

  constructor(context: ErrorContext, sink: ModelSink | undefined, toolNames: ReadonlySet<string>) {
    this.#context = context
    this.#sink = sink
    this.#calls = new ToolCallAccumulator(toolNames)
    this.#blocks = new AnthropicBlocks(this.#calls, sink)
  }

  get isDone(): boolean {
    return this.#done
  }

  get hasFinished(): boolean {
    return this.#stop !== undefined || (this.#done && (this.#blocks.text !== '' || !this.#calls.isEmpty))
  }

  /** Whether the provider has paused while its own tools are running, and expects another request. */
  get isPaused(): boolean {
    return isPause(this.#stop) && this.#calls.isEmpty
  }

  context(): ErrorContext {
    const { text, reasoning } = this.#blocks
    const usage = this.#totalUsage()
    if (text === '' && reasoning === '' && usage === undefined) return this.#context
    return { ...this.#context, partial: { text, ...(reasoning === '' ? {} : { reasoning }), ...withoutUndefined({ usage }) } }
  }

  readWhole(value: unknown): boolean {
    if (!isJsonObject(value) || !Array.isArray(value.content)) return false
    this.#readMessage(value)
    this.#done = true
    return true
  }

  /** Returns the message so far. The next request sends it back, and the provider continues it. Resets the reader for the next message. */
  pause(): ChatMessage {
    const { text } = this.#blocks
    const providerData = layoutData(this.#context.provider, this.#blocks.layout([], true), this.#container)
    this.#spent = this.#totalUsage()
    this.#usage = new UsageReport()
    this.#message = undefined
    this.#blocks.endMessage()
    this.#stop = undefined
    this.#done = false
    return { role: 'assistant', content: text, ...withoutUndefined({ providerData }) }
  }

  finish(): ModelResponse {
    this.#blocks.closeAll()
    const isCut = this.#calls.isCut()
    const calls = this.#calls.finish(this.#sink)
    const end = readEnd({ word: this.#stop, text: this.#blocks.text, calls, isCut }, this)
    const { finishReason, toolCalls } = end
    if (finishReason === 'refusal' && this.#blocks.text === '') this.#blocks.addText(this.#explanation)
    const { text, reasoning, warnings } = this.#blocks
    const positions = this.#calls.extras.map((extra) => (typeof extra?.block === 'number' ? extra.block : undefined))
    const layout = this.#blocks.layout(toolCalls.length === 0 ? [] : positions, toolCalls.length > 0)
    const providerData = layoutData(this.#context.provider, layout, this.#container)
    const usage = this.#totalUsage()
    const oddities = [...end.warnings, ...warnings, ...this.#calls.warnings]
    return {
      text,
      ...(reasoning === '' ? {} : { reasoning }),
      toolCalls,
      finishReason,
      ...withoutUndefined({ rawFinishReason: this.#stop, usage, providerData, model: this.#model, responseId: this.#id }),
      ...(oddities.length === 0 ? {} : { warnings: oddities }),
    }
  }

  readEvent(event: JsonObject): boolean {
    switch (event.type) {
      case 'content_block_delta':
        if (isJsonObject(event.delta)) this.#blocks.add(event.index, event.delta)
        return true
      case 'content_block_start':
        if (isJsonObject(event.content_block)) this.#blocks.open(event.index, event.content_block)
        return true
      case 'content_block_stop':
        this.#blocks.close(event.index)
        return true
      case 'message_start':
        if (isJsonObject(event.message)) this.#readMessage(event.message)
        return true
      case 'message_delta':
        if (isJsonObject(event.delta)) this.#readStop(event.delta)
        this.#usage.read(event.usage)
        return true
      case 'message_stop':
        this.#usage.read(event.usage)
        this.#done = true
        return true
      case 'ping':
        return true
      default:
        return false
    }
  }

  /**
   * Reads a complete message, or the message at the start of a stream. The start may already contain calls made by code that the provider
   * runs.
   */
  #readMessage(message: JsonObject): void {
    if (typeof message.id === 'string' && message.id !== '') {
      if (this.#message !== undefined && this.#message !== message.id) {
        throw responseError('stream_cut', 'the rest of a message', 'the start of another', this.context(), { retryable: true })
      }
      this.#message = message.id
      this.#id ??= message.id
    }
    if (typeof message.model === 'string' && message.model !== '') this.#model ??= message.model
    for (const block of Array.isArray(message.content) ? message.content : []) if (isJsonObject(block)) this.#blocks.addWhole(block)
    this.#readStop(message)
    this.#usage.read(message.usage)
  }

  #readStop({ stop_reason: reason, stop_details: details, container }: JsonObject): void {
    this.#stop = laterReason(this.#stop, reason)
    if (isJsonObject(details) && typeof details.explanation === 'string') this.#explanation = details.explanation
    if (isJsonObject(container) && typeof container.id === 'string') this.#container = container.id
  }

  #totalUsage(): Usage | undefined {
    return sumOfUsage(this.#spent, this.#usage.total())
  }
}
