import { isJsonObject, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import type { ModelResponse, ModelSink } from '../chat-model.ts'
import { type ErrorContext, providerError, responseError } from '../errors/provider-error.ts'
import { ToolCallAccumulator } from '../streaming/accumulator.ts'
import { readEnd } from '../streaming/finish-reason.ts'
import type { ResponseReader } from '../streaming/response-body.ts'
import { UsageReport } from '../usage.ts'
import { itemsData } from './items.ts'
import { ResponsesOutput } from './output.ts'

/** The states of a response that has not yet ended. */
const unfinished: readonly string[] = ['in_progress', 'queued']

/**
 * Reads a response of the Responses API: the events of a stream, or a complete response. Throws a `ModelError` if the body is not a
 * response. Ignores unknown events. Keeps unknown items, so that they can be sent back. Format:
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */
export class ResponsesResponse implements ResponseReader {
  readonly #context: ErrorContext
  readonly #sink: ModelSink | undefined
  readonly #calls: ToolCallAccumulator
  readonly #output: ResponsesOutput
  readonly #warnings: string[] = []
  #status: string | undefined
  #incomplete: string | undefined
  #isStored = false
  readonly #usage = new UsageReport()
  #id: string | undefined
  #model: string | undefined

  constructor(context: ErrorContext, sink: ModelSink | undefined, toolNames: ReadonlySet<string>) {
    this.#context = context
    this.#sink = sink
    this.#calls = new ToolCallAccumulator(toolNames)
    this.#output = new ResponsesOutput(this.#calls, sink, toolNames)
  }

  get isDone(): boolean {
    return this.hasFinished
  }

  get hasFinished(): boolean {
    return this.#status !== undefined
  }

  context(): ErrorContext {
    const { text, reasoning } = this.#output
    const usage = this.#usage.total()
    if (text === '' && reasoning === '' && usage === undefined) return this.#context
    return { ...this.#context, partial: { text, ...(reasoning === '' ? {} : { reasoning }), ...withoutUndefined({ usage }) } }
  }

  readEvent(event: JsonObject): boolean {
    if (typeof event.type !== 'string' || !event.type.startsWith('response.')) return false
    this.#readEvent(event)
    return true
  }

  /** Reads `[DONE]`. Some servers send only this mark at the end of a response. */
  readEndMark(): void {
    if (this.#status !== undefined || !this.#output.isFinished) return
    this.#status = 'completed'
    this.#warnings.push('The response ended without `response.completed`')
  }

  readWhole(value: unknown): boolean {
    if (!isJsonObject(value) || !Array.isArray(value.output)) return false
    this.#readEnd(value)
    return true
  }

  finish(): ModelResponse {
    const isCut = !this.#output.endCalls() || this.#calls.isCut()
    const calls = this.#calls.finish(this.#sink)
    const { text, answer, reasoning, isRefusal } = this.#output
    const word = this.#incomplete ?? this.#status
    const otherwise = this.#status === 'incomplete' ? 'length' : 'stop'
    const end = readEnd({ word, otherwise, text, calls, isCut, isRefusal }, this)
    const { toolCalls } = end
    const usage = this.#usage.total()
    const positions = this.#calls.extras.map((extra) => (typeof extra?.item === 'number' ? extra.item : undefined))
    const providerData = itemsData(this.#context.provider, this.#output.layout(toolCalls.length === 0 ? [] : positions, this.#isStored))
    // The provider waits for something that toolloop can't provide, so a retry would not help. A warning names it.
    const isStuck = this.#output.isWaiting && toolCalls.length === 0 && text === '' && end.finishReason === 'stop'
    const finishReason = isStuck ? 'error' : end.finishReason
    const warnings = [...this.#warnings, ...end.warnings, ...this.#output.warnings, ...this.#calls.warnings]
    return {
      text,
      ...withoutUndefined({ answer }),
      ...(reasoning === '' ? {} : { reasoning }),
      toolCalls,
      finishReason,
      ...withoutUndefined({ rawFinishReason: word, usage, providerData, model: this.#model, responseId: this.#id }),
      ...(warnings.length === 0 ? {} : { warnings }),
    }
  }

  #readEvent(event: JsonObject): void {
    const { delta, item, response } = event
    switch (event.type) {
      case 'response.output_text.delta':
        this.#output.addText(event, event.content_index, delta, false)
        return
      case 'response.refusal.delta':
        this.#output.addText(event, event.content_index, delta, true)
        return
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.#output.addArguments(event, delta)
        return
      case 'response.output_text.done':
        this.#output.closeText(event, event.content_index, { type: 'output_text', text: event.text ?? null })
        return
      case 'response.refusal.done':
        this.#output.closeText(event, event.content_index, { type: 'refusal', refusal: event.refusal ?? null })
        return
      case 'response.function_call_arguments.done':
        this.#output.closeArguments(event, event.arguments)
        return
      case 'response.custom_tool_call_input.done':
        this.#output.closeArguments(event, event.input)
        return
      case 'response.reasoning_summary_text.delta':
        this.#output.addReasoning(event, `summary ${Number(event.summary_index ?? 0)}`, delta)
        return
      case 'response.reasoning_text.delta':
        this.#output.addReasoning(event, `content ${Number(event.content_index ?? 0)}`, delta)
        return
      case 'response.output_item.added':
        if (isJsonObject(item)) this.#output.open(event, item)
        return
      case 'response.output_item.done':
        if (isJsonObject(item)) this.#output.close(event, item)
        return
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.done': {
        const status = event.type === 'response.done' ? 'completed' : event.type.slice('response.'.length)
        this.#usage.read(event.usage)
        const said = isJsonObject(response) ? response : {}
        // Some servers send the initial status of the response even in its last event.
        const { status: theirs } = said
        this.#readEnd({ ...said, status: typeof theirs !== 'string' || unfinished.includes(theirs) ? status : theirs })
        return
      }
      default:
        if (isJsonObject(response)) this.#readHead(response)
    }
  }

  #readHead({ id, model, store, usage }: JsonObject): void {
    if (typeof id === 'string' && id !== '') this.#id ??= id
    if (typeof model === 'string' && model !== '') this.#model ??= model
    if (store === true) this.#isStored = true
    this.#usage.read(usage)
  }

  #readEnd(response: JsonObject): void {
    this.#readHead(response)
    const { status = 'completed', error, incomplete_details: details, output } = response
    if (error || status === 'failed') throw providerError({ body: { error: error || { message: 'The response failed' } } }, this.context())
    if (status !== 'completed' && status !== 'incomplete') {
      const got = `one that is \`${String(status)}\``
      throw responseError('bad_response', 'a response that is complete', got, this.context(), { retryable: status === 'cancelled' })
    }
    if (Array.isArray(output)) this.#output.closeAll(output)
    this.#status = status
    if (isJsonObject(details) && typeof details.reason === 'string') this.#incomplete = details.reason
  }
}
