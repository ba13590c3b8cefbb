import { isJsonObject, type JsonObject, type Usage, withoutUndefined } from '../../core/messages.ts'
import type { ModelResponse, ModelSink } from '../chat-model.ts'
import { type ErrorContext, providerError } from '../errors/provider-error.ts'
import { ToolCallAccumulator } from '../streaming/accumulator.ts'
import { isPause, laterReason, readEnd } from '../streaming/finish-reason.ts'
import type { ResponseReader } from '../streaming/response-body.ts'
import { isPlain, layoutJson } from '../streaming/response-layout.ts'
import { sumOfUsage, UsageReport } from '../usage.ts'
import { GoogleContent } from './content.ts'

/**
 * Reads a generateContent response: the chunks of a stream, or a complete response. Throws a `ModelError` if the body is not a response.
 * Format: https://ai.google.dev/api/generate-content#generatecontentresponse
 */
export class GoogleResponse implements ResponseReader {
  /** Always false. The stream has no end mark, so it must be read to its end. */
  readonly isDone = false
  readonly #context: ErrorContext
  readonly #sink: ModelSink | undefined
  readonly #calls: ToolCallAccumulator
  readonly #content: GoogleContent
  #usage = new UsageReport()
  /** The usage of all responses that ended with a pause, added up. */
  #spent: Usage | undefined
  #finish: string | undefined
  /** The reason why the prompt was blocked. */
  #blocked: string | undefined
  #explanation = ''
  #continuationToken: string | undefined
  #isWhole = false
  #id: string | undefined
  #model: string | undefined

  /** `names`: the original names of renamed tools, keyed by the names that were sent. */
  constructor(context: ErrorContext, sink: ModelSink | undefined, toolNames: ReadonlySet<string>, names: ReadonlyMap<string, string>) {
    this.#context = context
    this.#sink = sink
    this.#calls = new ToolCallAccumulator(toolNames)
    this.#content = new GoogleContent(this.#calls, sink, names)
  }

  get hasFinished(): boolean {
    return (
      this.#finish !== undefined || this.#blocked !== undefined || (this.#isWhole && (this.#content.text !== '' || !this.#calls.isEmpty))
    )
  }

  /** Whether the provider has stopped at its own limit for one request and expects another request. */
  get isPaused(): boolean {
    return isPause(this.#finish) && this.#continuationToken !== undefined
  }

  context(): ErrorContext {
    const { text, reasoning } = this.#content
    const usage = this.#totalUsage()
    if (text === '' && reasoning === '' && usage === undefined) return this.#context
    return { ...this.#context, partial: { text, ...(reasoning === '' ? {} : { reasoning }), ...withoutUndefined({ usage }) } }
  }

  readEvent(chunk: JsonObject): boolean {
    if (!isChunk(chunk)) return false
    this.#read(chunk)
    return true
  }

  readWhole(value: unknown): boolean {
    // A gateway may remove `alt=sse` from the URL. The stream is then one JSON array.
    const chunks = Array.isArray(value) && value.length > 0 ? value : [value]
    if (!chunks.every(isChunk)) return false
    for (const chunk of chunks) this.#read(chunk)
    this.#isWhole = true
    return true
  }

  /** Returns the token with which the next request continues the response, and resets the reader for the next chunks. */
  pause(): string {
    const token = this.#continuationToken ?? ''
    this.#spent = this.#totalUsage()
    this.#usage = new UsageReport()
    this.#finish = undefined
    this.#continuationToken = undefined
    return token
  }

  /** Throws if the provider reports that generation failed. */
  finish(): ModelResponse {
    const isCut = !this.#content.endCalls()
    const calls = this.#calls.finish(this.#sink)
    const { text, reasoning, warnings } = this.#content
    // If the prompt was blocked, a candidate may still have a normal finish reason, which is ignored.
    const word = this.#blocked === undefined ? this.#finish : 'SAFETY'
    const end = readEnd({ word, explanation: this.#explanation, text, calls, isCut }, this)
    const { finishReason, toolCalls } = end
    if (this.#blocked !== undefined) end.warnings.push(`The prompt was blocked: \`${this.#blocked}\``)
    const positions = this.#calls.extras.map((extra) => (typeof extra?.piece === 'number' ? extra.piece : undefined))
    const layout = this.#content.layout(toolCalls.length === 0 ? [] : positions)
    const usage = this.#totalUsage()
    const rawFinishReason = this.#blocked ?? this.#finish
    const oddities = [...end.warnings, ...warnings, ...this.#calls.warnings]
    return {
      text,
      ...(reasoning === '' ? {} : { reasoning }),
      toolCalls,
      finishReason,
      ...withoutUndefined({ rawFinishReason, usage }),
      ...(isPlain(layout) ? {} : { providerData: { provider: this.#context.provider, data: { layout: layoutJson(layout) } } }),
      ...withoutUndefined({ model: this.#model, responseId: this.#id }),
      ...(oddities.length === 0 ? {} : { warnings: oddities }),
    }
  }

  #read(chunk: JsonObject): void {
    const { candidates, promptFeedback, usageMetadata, usage, modelVersion, responseId, error } = chunk
    if (error !== undefined && error !== null) throw providerError({ body: chunk }, this.context())
    this.#usage.read(usageMetadata ?? usage)
    if (typeof modelVersion === 'string' && modelVersion !== '') this.#model ??= modelVersion
    if (typeof responseId === 'string' && responseId !== '') this.#id ??= responseId
    if (isJsonObject(promptFeedback)) this.#readFeedback(promptFeedback)
    for (const candidate of Array.isArray(candidates) ? candidates : []) {
      // Only the first candidate is read. The others are alternatives to it.
      if (isJsonObject(candidate) && (candidate.index === undefined || candidate.index === 0)) this.#readCandidate(candidate)
    }
  }

  #readCandidate({ content, finishReason, finishMessage, continuationToken }: JsonObject): void {
    if (isJsonObject(content) && Array.isArray(content.parts)) for (const part of content.parts) this.#content.add(part)
    this.#finish = laterReason(this.#finish, finishReason)
    if (typeof finishMessage === 'string') this.#explanation = finishMessage
    if (typeof continuationToken === 'string' && continuationToken !== '') this.#continuationToken = continuationToken
  }

  #readFeedback({ blockReason, blockReasonMessage }: JsonObject): void {
    this.#blocked = laterReason(this.#blocked, blockReason)
    if (typeof blockReasonMessage === 'string') this.#explanation = blockReasonMessage
  }

  #totalUsage(): Usage | undefined {
    return sumOfUsage(this.#spent, this.#usage.total())
  }
}

function isChunk(value: unknown): value is JsonObject {
  return isJsonObject(value) && ['candidates', 'promptFeedback', 'usageMetadata', 'error'].some((key) => key in value)
}
