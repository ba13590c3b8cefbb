import { ModelError } from '../../core/errors.ts'
import { type ChatMessage, deepFreeze } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'
import { divideThinking, ThinkingReader, type ThinkingSink } from '../../dialects/reader/thinking.ts'
import { type ChatModel, isModelError, type ModelRequest, type ModelResponse, type ModelSink } from '../chat-model.ts'
import type { ThinkTags } from '../quirk-checks.ts'

interface ThinkTagOptions {
  tags: ThinkTags
  /** Whether to send thinking back to the model, in its tags, before the answer. */
  sendBack: boolean
}

/** The field of `providerData` that holds the tags and the thinking before the text, as the model wrote them. */
const dataKey = 'thinkTags'

/**
 * Wraps a model so that thinking in tags becomes its reasoning. Text that was already streamed may turn out to be thinking when an end tag
 * arrives. The response is then streamed again from its start if the sink can take the text back. The returned response is correct either
 * way.
 */
export function withThinkTags(model: ChatModel, { tags, sendBack }: ThinkTagOptions): ChatModel {
  const restored = new WeakMap<ChatMessage, ChatMessage>()
  const restore = (message: ChatMessage): ChatMessage => {
    const prefix = message.providerData?.provider === model.provider ? message.providerData.data[dataKey] : undefined
    if (message.role !== 'assistant' || typeof prefix !== 'string') return message
    const known = restored.get(message) ?? deepFreeze({ ...message, content: prefix + message.content })
    restored.set(message, known)
    return known
  }
  return {
    provider: model.provider,
    model: model.model,
    capabilities: model.capabilities,
    get baseURL() {
      return model.baseURL
    },
    get api() {
      return model.api
    },
    async prepare(): Promise<void> {
      await model.prepare?.()
    },
    async generate(request: ModelRequest, sink: ModelSink = {}): Promise<ModelResponse> {
      const live = sink.text === undefined && sink.reasoning === undefined ? undefined : new LiveThinking(sink, tags)
      const sent = sendBack ? { ...request, messages: request.messages.map(restore) } : request
      try {
        const response = divide(await model.generate(sent, live?.sink ?? sink), model.provider, tags)
        return live?.finish(response) ?? response
      } catch (error) {
        throw withDividedPart(error, tags)
      }
    },
  }
}

function divide(response: ModelResponse, provider: string, tags: ThinkTags): ModelResponse {
  const { toolCalls, finishReason } = response
  const mayBeCut = finishReason !== 'stop' || toolCalls.length > 0
  const { prefix, reasoning, text } = divideThinking(response.text, isOpened(tags, response.reasoning), mayBeCut)
  if (prefix === '') return text === response.text ? response : { ...response, text }
  const all = [response.reasoning, reasoning].filter(Boolean).join('\n\n')
  const data = { ...response.providerData?.data, [dataKey]: prefix }
  return { ...response, text, ...(all === '' ? {} : { reasoning: all }), providerData: { provider, data } }
}

/** Whether the text begins inside thinking. A server that reports reasoning separately has already removed it from the text. */
function isOpened(tags: ThinkTags, reasoning: string | undefined): boolean {
  return tags === 'opened' && !reasoning
}

function withDividedPart(error: unknown, tags: ThinkTags): unknown {
  if (!isModelError(error) || error.partial === undefined) return error
  const { code, message, cause: _, partial, ...fields } = error
  const { prefix, reasoning, text } = divideThinking(partial.text, isOpened(tags, partial.reasoning), true)
  if (prefix === '') return error
  const all = [partial.reasoning, reasoning].filter(Boolean).join('\n\n')
  return new ModelError(code, message, { ...fields, partial: { ...partial, text, reasoning: all }, cause: error })
}

const shownAsText = "Thinking was shown as text until its end tag came: with `thinkTags: 'opened'`, it is shown as reasoning"

/** Separates thinking from text while a response is streamed. */
class LiveThinking implements ThinkingSink {
  /** The sink that the model writes to. */
  readonly sink: ModelSink
  readonly #shownTo: ModelSink
  #reader: ThinkingReader | undefined
  /** The text that was shown. Emptied if the text turns out to be thinking. */
  #text = new TextBuffer()
  #warnings: string[] = []

  constructor(shownTo: ModelSink, tags: ThinkTags) {
    this.#shownTo = shownTo
    let hasReasoning = false
    const text = (delta: string) => {
      this.#reader ??= new ThinkingReader(this, tags === 'opened' && !hasReasoning)
      this.#reader.push(delta)
    }
    const reasoning = (delta: string) => {
      hasReasoning = true
      shownTo.reasoning?.(delta)
    }
    this.sink = { ...shownTo, text, reasoning }
  }

  text(text: string): void {
    this.#text.add(text)
    this.#shownTo.text?.(text)
  }

  reasoning(text: string): void {
    this.#shownTo.reasoning?.(text)
  }

  thoughtSoFar(): void {
    const thought = this.#text.toString().trim()
    this.#text = new TextBuffer()
    if (thought === '') return
    if (this.#shownTo.restart?.() === true) this.#shownTo.reasoning?.(thought)
    else this.#warnings.push(shownAsText)
  }

  /** Passes on the text that the reader held back. */
  finish(response: ModelResponse): ModelResponse {
    this.#reader?.end()
    // Without an end tag, the whole answer was streamed as reasoning. It is now streamed as text.
    if (this.#reader?.isUnproven === true && response.text !== '') {
      this.#shownTo.restart?.()
      this.#shownTo.text?.(response.text)
    }
    if (this.#warnings.length === 0) return response
    return { ...response, warnings: [...(response.warnings ?? []), ...this.#warnings] }
  }
}
