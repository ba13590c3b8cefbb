import { isJsonObject, type Json, type JsonObject, type ToolCall, withoutUndefined } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { ModelResponse, ModelSink } from '../chat-model.ts'
import { type ErrorContext, isError, providerError } from '../errors/provider-error.ts'
import { ToolCallAccumulator } from '../streaming/accumulator.ts'
import { laterReason, readEnd } from '../streaming/finish-reason.ts'
import type { ResponseReader } from '../streaming/response-body.ts'
import { UsageReport } from '../usage.ts'
import { isReasoningPart, type KeptReasoning, OpenAIReasoning } from './reasoning.ts'

/** The `providerData` of a response, which is sent back to the same provider. */
interface OpenAIProviderData extends KeptReasoning {
  /**
   * Fields that arrived with calls, such as Gemini's thought signature. `position`: the position of the call in the response, for calls
   * without an id.
   */
  calls?: { id: string; position: number; fields: JsonObject }[]
}

/**
 * Reads a Chat Completions response: the chunks of a stream, or a complete response. Throws a `ModelError` if the body is not a response.
 * Format: https://platform.openai.com/docs/api-reference/chat-streaming
 */
export class OpenAIResponse implements ResponseReader {
  readonly #context: ErrorContext
  readonly #sink: ModelSink | undefined
  readonly #calls: ToolCallAccumulator
  #text: TextBuffer | undefined
  #textLength = 0
  #reasoning: OpenAIReasoning | undefined
  #refused = false
  #finish: string | undefined
  readonly #usage: UsageReport
  #id: string | undefined
  #model: string | undefined
  #done = false

  constructor(context: ErrorContext, sink: ModelSink | undefined, toolNames: ReadonlySet<string>, reportsCost: boolean) {
    this.#context = context
    this.#sink = sink
    this.#calls = new ToolCallAccumulator(toolNames)
    this.#usage = new UsageReport(reportsCost)
  }

  get isDone(): boolean {
    return this.#done
  }

  get hasFinished(): boolean {
    return this.#finish !== undefined || (this.#done && (this.#text !== undefined || !this.#calls.isEmpty))
  }

  context(): ErrorContext {
    const used = this.#usage.total()
    if (this.#text === undefined && this.#reasoning === undefined && used === undefined) return this.#context
    const reasoning = this.#shownReasoning()
    const usage = used === undefined ? {} : { usage: used }
    return { ...this.#context, partial: { text: this.#text?.toString() ?? '', ...reasoning, ...usage } }
  }

  readEvent(event: JsonObject): boolean {
    return this.#read(event, 'delta')
  }

  readEndMark(): void {
    this.#done = true
  }

  readWhole(value: unknown): boolean {
    if (!isJsonObject(value) || !this.#read(value, 'message')) return false
    if (this.#finish === undefined && this.#text === undefined && this.#reasoning === undefined && this.#calls.isEmpty) return false
    this.#done = true
    return true
  }

  finish(): ModelResponse {
    const text = this.#text?.toString() ?? ''
    const isCut = this.#calls.isCut()
    const calls = this.#calls.finish(this.#sink)
    const end = readEnd({ word: this.#finish, text, calls, isCut, isRefusal: this.#refused }, this)
    const { finishReason, toolCalls } = end
    const providerData = this.#providerData(toolCalls)
    const usage = this.#usage.total()
    const warnings = [...end.warnings, ...this.#calls.warnings]
    return {
      text,
      ...this.#shownReasoning(),
      toolCalls,
      finishReason,
      ...withoutUndefined({
        rawFinishReason: this.#finish,
        usage,
        providerData: providerData && { provider: this.#context.provider, data: providerData },
        model: this.#model,
        responseId: this.#id,
      }),
      ...(warnings.length === 0 ? {} : { warnings }),
    }
  }

  /** Reads a chunk or a complete response. Returns false for an object with neither choices nor usage. */
  #read(value: JsonObject, part: 'delta' | 'message'): boolean {
    const choices = Array.isArray(value.choices) ? value.choices : []
    if (value.error) throw providerError({ body: value }, this.context())
    if (typeof value.id === 'string' && value.id !== '') this.#id ??= value.id
    if (typeof value.model === 'string' && value.model !== '') this.#model ??= value.model
    for (const choice of choices) if (isJsonObject(choice) && (choice.index ?? 0) === 0) this.#readChoice(choice, part)
    const groq = isJsonObject(value.x_groq) ? value.x_groq.usage : undefined
    this.#usage.read(value.usage ?? groq)
    return choices.length > 0 || (isJsonObject(value.usage) && (Array.isArray(value.choices) || !isError(value)))
  }

  #readChoice(choice: JsonObject, part: 'delta' | 'message'): void {
    if (choice.error) throw providerError({ body: choice }, this.context())
    const { delta, message } = choice
    const own = part === 'delta' ? delta : message
    const other = part === 'delta' ? message : delta
    if (isJsonObject(own)) this.#readPart(own, part)
    // Some servers end a stream with a `message` that repeats everything. It is read only if nothing else has arrived.
    else if (isJsonObject(other) && this.#text === undefined && this.#calls.isEmpty)
      this.#readPart(other, part === 'delta' ? 'message' : 'delta')
    else if (isJsonObject(other) && Array.isArray(other.tool_calls)) this.#completeCalls(other.tool_calls)
    this.#finish = laterReason(this.#finish, choice.finish_reason, choice.native_finish_reason)
    this.#usage.read(choice.usage)
  }

  #readPart(delta: JsonObject, part: 'delta' | 'message'): void {
    const { reasoning_content, reasoning, reasoning_text, reasoning_details, thinking_blocks, reasoning_opaque } = delta
    if (reasoning_content || reasoning || reasoning_text || reasoning_details || thinking_blocks || reasoning_opaque) {
      this.#reasoning ??= new OpenAIReasoning(this.#sink)
      this.#reasoning.read(delta, part === 'message')
    }
    const { content } = delta
    if (typeof content === 'string') this.#addText(content)
    else if (Array.isArray(content)) this.#readParts(content, part === 'message')
    if (typeof delta.refusal === 'string' && delta.refusal !== '') {
      this.#refused = true
      this.#addText(delta.refusal)
    }
    if (Array.isArray(delta.tool_calls)) {
      const calls = delta.tool_calls
      for (let at = 0; at < calls.length; at++) this.#readCall(calls[at], part === 'message' ? at : undefined)
    } else if (isJsonObject(delta.function_call)) {
      this.#calls.add({ index: 0, name: text(delta.function_call.name), arguments: delta.function_call.arguments }, this.#sink)
    }
  }

  #readCall(call: Json | undefined, position: number | undefined): void {
    if (!isJsonObject(call)) return
    const body = isJsonObject(call.function) ? call.function : isJsonObject(call.custom) ? call.custom : {}
    const delta = {
      index: position ?? (typeof call.index === 'number' ? call.index : null),
      id: typeof call.id === 'string' || typeof call.id === 'number' ? call.id : null,
      name: text(body.name),
      arguments: body.arguments ?? body.input,
    }
    const extra = keptFields(call, body)
    this.#calls.add(extra === undefined ? delta : { ...delta, extra }, this.#sink)
  }

  /** Completes the arguments of calls that are repeated at the end of a stream. */
  #completeCalls(calls: readonly Json[]): void {
    for (const call of calls) {
      if (!isJsonObject(call) || !isJsonObject(call.function) || typeof call.id !== 'string') continue
      const { arguments: whole = '' } = call.function
      if (whole !== '') this.#calls.correct(call.id, typeof whole === 'string' ? whole : JSON.stringify(whole), this.#sink)
    }
  }

  #readParts(parts: readonly Json[], isWhole: boolean): void {
    for (const part of parts) {
      if (typeof part === 'string') this.#addText(part)
      if (!isJsonObject(part)) continue
      if (isReasoningPart(part)) {
        this.#reasoning ??= new OpenAIReasoning(this.#sink)
        this.#reasoning.readPart(part, this.#textLength, isWhole)
      } else if (typeof part.text === 'string') this.#addText(part.text)
      else if (typeof part.refusal === 'string') {
        this.#refused = true
        this.#addText(part.refusal)
      }
    }
  }

  #addText(delta: string): void {
    if (delta === '') return
    this.#text ??= new TextBuffer()
    this.#text.add(delta)
    this.#textLength += delta.length
    this.#sink?.text?.(delta)
  }

  #shownReasoning(): { reasoning?: string } {
    const reasoning = this.#reasoning?.text ?? ''
    return reasoning === '' ? {} : { reasoning }
  }

  #providerData(toolCalls: readonly ToolCall[]): JsonObject | undefined {
    const calls: { id: string; position: number; fields: JsonObject }[] = []
    for (const [position, fields] of this.#calls.extras.entries()) {
      const call = toolCalls[position]
      if (fields !== undefined && call !== undefined) calls.push({ id: call.id, position, fields })
    }
    const data: OpenAIProviderData = this.#reasoning?.kept(this.#textLength) ?? {}
    if (calls.length > 0) data.calls = calls
    return Object.keys(data).length === 0 ? undefined : { ...data }
  }
}

/** Returns the fields of a call that must be sent back. They contain Gemini's thought signature. */
function keptFields(call: JsonObject, body: JsonObject): JsonObject | undefined {
  const { extra_content: extra } = call
  const specific = call.provider_specific_fields ?? body.provider_specific_fields
  if (!isJsonObject(extra) && !isJsonObject(specific)) return undefined
  return {
    ...(isJsonObject(extra) ? { extra_content: extra } : {}),
    ...(isJsonObject(specific) ? { provider_specific_fields: specific } : {}),
  }
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
