import type { FinishReason } from '../../../core/events.ts'
import type { JsonObject, ToolCall, Usage } from '../../../core/messages.ts'
import type { TurnPlan } from '../../script.ts'
import { readAnthropicRequest } from './anthropic-messages-request.ts'
import {
  argumentsObject,
  CallPieces,
  type MockWire,
  objectsIn,
  type ReplyContext,
  type StreamEncoder,
  type TurnPiece,
  type WireFailure,
} from './wire.ts'

/**
 * Anthropic's Messages API. The blocks in a turn's `providerData.data.content` (thinking, the provider's own tools) are sent before the
 * turn's text and calls. The other fields of `data` are added to the message. Source: https://platform.claude.com/docs/en/api/messages and
 * …/build-with-claude/streaming
 */
export const anthropicMessagesWire: MockWire = {
  name: 'anthropic-messages',
  // Without streaming, the arguments of a call are sent as an object. Consecutive messages of the assistant are joined.
  traits: { argumentsAsText: false, anyCallId: false, rowsOfOneRole: false, refusals: true },
  layout: {
    contentType: 'text/event-stream; charset=utf-8',
    lineEnd: '\n',
    eventName: ({ type }) => (typeof type === 'string' ? type : undefined),
  },
  route: (method, path) => (method === 'POST' && path.endsWith('/messages') ? 'generate' : undefined),
  streams: (body) => body.stream === true,
  readRequest: readAnthropicRequest,
  encodeStream: (plan, about) => new MessageStream(plan, about),
  encodeWhole: (plan, about) => ({
    ...messageOf(plan, about),
    content: [...keptBlocks(plan), ...contentOf(plan)],
    stop_reason: stopWord(plan),
    usage: plan.usage === undefined ? noUsage : encodeUsage(plan.usage),
  }),
  encodeError,
  encodeStreamError: encodeError,
  encodeModels: (models) => ({
    data: models.map((id) => ({ type: 'model', id, display_name: id, created_at: '2025-01-01T00:00:00Z' })),
    has_more: false,
    first_id: models[0] ?? null,
    last_id: models.at(-1) ?? null,
  }),
}

/** The API always reports usage. A turn without usage reports zeros. */
const noUsage: JsonObject = { input_tokens: 0, output_tokens: 0 }

/**
 * Encodes one turn as events: every block is started, filled and stopped. If the pieces of several calls interleave, their blocks are open
 * at the same time.
 */
class MessageStream implements StreamEncoder {
  readonly #plan: TurnPlan
  readonly #about: ReplyContext
  readonly #pieces: CallPieces
  /** The number of the block of each call. */
  readonly #callBlocks = new Map<number, number>()
  #open: { type: 'text' | 'reasoning'; block: number } | undefined
  #blocks = 0

  constructor(plan: TurnPlan, about: ReplyContext) {
    this.#plan = plan
    this.#about = about
    this.#pieces = new CallPieces(plan)
  }

  open(): JsonObject[] {
    const { usage } = this.#plan
    const reported = usage === undefined ? noUsage : { ...encodeUsage(usage), output_tokens: Math.min(1, usage.outputTokens) }
    const message = { ...messageOf(this.#plan, this.#about), content: [], stop_reason: null, usage: reported }
    const kept = keptBlocks(this.#plan).flatMap((block) => {
      const index = this.#blocks++
      return [start(index, block), stop(index)]
    })
    return [{ type: 'message_start', message }, { type: 'ping' }, ...kept]
  }

  step(step: TurnPiece): JsonObject[] {
    switch (step.type) {
      case 'reasoning':
      case 'text':
        return this.#write(step.type, step.text)
      case 'call': {
        const before = this.#close()
        const index = this.#blocks++
        this.#callBlocks.set(step.index, index)
        const id: JsonObject = step.id === '' ? {} : { id: step.id }
        return [...before, start(index, { type: 'tool_use', ...id, name: step.name, input: {} }), ...this.#count(step.index)]
      }
      case 'arguments': {
        const index = this.#callBlocks.get(step.index) ?? 0
        return [delta(index, { type: 'input_json_delta', partial_json: step.json }), ...this.#count(step.index)]
      }
    }
  }

  finish(): JsonObject[] {
    const { usage } = this.#plan
    const reported = usage === undefined ? noUsage : encodeUsage(usage)
    return [
      ...this.#close(),
      { type: 'message_delta', delta: { stop_reason: stopWord(this.#plan), stop_sequence: null }, usage: reported },
      { type: 'message_stop' },
    ]
  }

  #write(type: 'text' | 'reasoning', text: string): JsonObject[] {
    const events: JsonObject[] = []
    if (this.#open?.type !== type) {
      events.push(...this.#close())
      this.#open = { type, block: this.#blocks++ }
      const empty: JsonObject = type === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' }
      events.push(start(this.#open.block, empty))
    }
    const piece: JsonObject = type === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text }
    return [...events, delta(this.#open.block, piece)]
  }

  #close(): JsonObject[] {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return []
    const signed = open.type === 'reasoning' ? [delta(open.block, { type: 'signature_delta', signature: signatureOf(this.#plan) })] : []
    return [...signed, stop(open.block)]
  }

  /** Counts a piece of the call. After the last piece, ends the block of the call. */
  #count(call: number): JsonObject[] {
    this.#pieces.send(call)
    return this.#pieces.isComplete(call) ? [stop(this.#callBlocks.get(call) ?? 0)] : []
  }
}

function start(index: number, block: JsonObject): JsonObject {
  return { type: 'content_block_start', index, content_block: block }
}

function delta(index: number, piece: JsonObject): JsonObject {
  return { type: 'content_block_delta', index, delta: piece }
}

function stop(index: number): JsonObject {
  return { type: 'content_block_stop', index }
}

function messageOf({ providerData }: TurnPlan, { id, model }: ReplyContext): JsonObject {
  const { content: _, ...fields } = providerData?.data ?? {}
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null, ...fields }
}

function keptBlocks({ providerData }: TurnPlan): JsonObject[] {
  return objectsIn(providerData?.data.content)
}

function contentOf(plan: TurnPlan): JsonObject[] {
  const thinking: JsonObject = { type: 'thinking', thinking: plan.reasoning ?? '', signature: signatureOf(plan) }
  return [
    ...(plan.reasoning === undefined ? [] : [thinking]),
    ...(plan.text === '' ? [] : [{ type: 'text', text: plan.text }]),
    ...plan.toolCalls.map(encodeCall),
  ]
}

/** Returns a placeholder for the signature of the reasoning. */
function signatureOf({ reasoning = '' }: TurnPlan): string {
  return `signature of ${reasoning.length} characters`
}

function encodeCall({ id, function: { name, arguments: json } }: ToolCall): JsonObject {
  return { type: 'tool_use', ...(id === '' ? {} : { id }), name, input: argumentsObject(json) }
}

const stopWords: Record<FinishReason, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'content_filter',
  refusal: 'refusal',
  error: 'error',
}

function stopWord(plan: TurnPlan): string {
  return plan.rawFinishReason ?? stopWords[plan.finishReason]
}

/** Converts the usage to the API's form, in which `input_tokens` excludes tokens that were read from the cache or written to it. */
function encodeUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, reasoningTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage
  return {
    input_tokens: inputTokens - cacheReadTokens - cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    output_tokens: outputTokens,
    ...(reasoningTokens === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoningTokens } }),
  }
}

/** Source: https://platform.claude.com/docs/en/api/errors */
function encodeError({ status, message, kind }: WireFailure): JsonObject {
  const told = kind === 'context_overflow' ? 'prompt is too long: 208310 tokens > 200000 maximum' : message
  const type =
    kind === 'context_overflow' ? 'invalid_request_error' : (errorTypes[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error'))
  return { type: 'error', error: { type, message: told }, request_id: 'req_mock' }
}

const errorTypes: Record<number, string> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}
