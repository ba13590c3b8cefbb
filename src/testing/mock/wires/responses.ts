import type { Json, JsonObject, Usage } from '../../../core/messages.ts'
import type { TurnPlan } from '../../script.ts'
import { readResponsesRequest } from './responses-request.ts'
import {
  CallPieces,
  createdAt,
  type MockWire,
  objectsIn,
  type ReplyContext,
  type StreamEncoder,
  type TurnPiece,
  type WireFailure,
} from './wire.ts'

/**
 * OpenAI's Responses API. The items in a turn's `providerData.data.output` (the work of the provider's own tools) are sent before the
 * turn's text and calls. The other fields of `data` are added to the response. Source:
 * https://platform.openai.com/docs/api-reference/responses and …/responses-streaming
 */
export const responsesWire: MockWire = {
  name: 'responses',
  traits: { argumentsAsText: true, anyCallId: false, rowsOfOneRole: false, refusals: true },
  layout: {
    contentType: 'text/event-stream; charset=utf-8',
    lineEnd: '\n',
    eventName: ({ type }) => (typeof type === 'string' ? type : undefined),
  },
  route: (method, path) => (method === 'POST' && path.endsWith('/responses') ? 'generate' : undefined),
  streams: (body) => body.stream === true,
  readRequest: readResponsesRequest,
  encodeStream: (plan, about) => new ResponseStream(plan, about),
  encodeWhole: (plan, about) => wholeResponse(plan, about, itemsOf(plan, about)),
  encodeError,
  encodeStreamError: (failure) => ({ type: 'error', sequence_number: 0, ...encodeError(failure) }),
  encodeModels: (models) => ({
    object: 'list',
    data: models.map((id) => ({ id, object: 'model', created: createdAt, owned_by: 'mock' })),
  }),
}

type TextKind = 'text' | 'reasoning'

/**
 * Encodes one turn as events: each item is added, filled and done. If the pieces of several calls interleave, their items are open at the
 * same time.
 */
class ResponseStream implements StreamEncoder {
  readonly #plan: TurnPlan
  readonly #about: ReplyContext
  /** The items in their final state, in order. The items from `providerData` come first. */
  readonly #items: readonly JsonObject[]
  readonly #calls: number
  readonly #pieces: CallPieces
  #open: { kind: TextKind; at: number; text: string } | undefined
  #next = 0
  #sequence = 0

  constructor(plan: TurnPlan, about: ReplyContext) {
    this.#plan = plan
    this.#about = about
    this.#items = itemsOf(plan, about)
    this.#calls = this.#items.length - plan.toolCalls.length
    this.#pieces = new CallPieces(plan)
  }

  open(): JsonObject[] {
    const response = { ...responseOf(this.#plan, this.#about), status: 'in_progress' }
    const opening = ['response.created', 'response.in_progress'].map((type) => this.#event(type, { response }))
    const kept = keptItems(this.#plan).flatMap((item) => {
      const at = this.#next++
      return ['added', 'done'].map((what) => this.#event(`response.output_item.${what}`, { output_index: at, item }))
    })
    return [...opening, ...kept]
  }

  step(step: TurnPiece): JsonObject[] {
    switch (step.type) {
      case 'reasoning':
      case 'text':
        return this.#write(step.type, step.text)
      case 'call': {
        const before = this.#close()
        const item = { ...this.#item(this.#calls + step.index), status: 'in_progress', arguments: '' }
        this.#next = this.#calls + step.index + 1
        const added = this.#event('response.output_item.added', { output_index: this.#calls + step.index, item })
        return [...before, added, ...this.#count(step.index)]
      }
      case 'arguments': {
        const at = this.#calls + step.index
        const delta = this.#event('response.function_call_arguments.delta', { ...this.#place(at), delta: step.json })
        return [delta, ...this.#count(step.index)]
      }
    }
  }

  finish(): JsonObject[] {
    const closing = this.#close()
    const response = wholeResponse(this.#plan, this.#about, this.#items)
    return [...closing, this.#event(`response.${String(response.status)}`, { response })]
  }

  #write(kind: TextKind, text: string): JsonObject[] {
    const events: JsonObject[] = []
    if (this.#open?.kind !== kind) {
      events.push(...this.#close())
      this.#open = { kind, at: this.#next++, text: '' }
      const item = this.#item(this.#open.at)
      const empty: JsonObject =
        kind === 'text' ? { ...item, status: 'in_progress', content: [] } : { ...item, summary: [], encrypted_content: '' }
      events.push(this.#event('response.output_item.added', { output_index: this.#open.at, item: empty }))
      events.push(this.#event(`response.${this.#partName(kind)}.added`, { ...this.#partPlace(this.#open), part: this.#part(kind, '') }))
    }
    const open = this.#open
    open.text += text
    const extra: JsonObject = kind === 'text' && !isRefusal(this.#plan) ? { logprobs: [] } : {}
    return [...events, this.#event(`${this.#textEvent(kind)}.delta`, { ...this.#partPlace(open), delta: text, ...extra })]
  }

  #close(): JsonObject[] {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return []
    const place = this.#partPlace(open)
    const name = open.kind === 'text' && isRefusal(this.#plan) ? 'refusal' : 'text'
    return [
      this.#event(`${this.#textEvent(open.kind)}.done`, { ...place, [name]: open.text }),
      this.#event(`response.${this.#partName(open.kind)}.done`, { ...place, part: this.#part(open.kind, open.text) }),
      this.#event('response.output_item.done', { output_index: open.at, item: this.#item(open.at) }),
    ]
  }

  /** Counts a piece of the call. After the last piece, completes the item of the call. */
  #count(call: number): JsonObject[] {
    this.#pieces.send(call)
    if (!this.#pieces.isComplete(call)) return []
    const at = this.#calls + call
    const item = this.#item(at)
    return [
      this.#event('response.function_call_arguments.done', { ...this.#place(at), arguments: item.arguments ?? '' }),
      this.#event('response.output_item.done', { output_index: at, item }),
    ]
  }

  #item(at: number): JsonObject {
    return this.#items[at] ?? {}
  }

  #place(at: number): JsonObject {
    return { item_id: this.#item(at).id ?? '', output_index: at }
  }

  #partPlace({ kind, at }: { kind: TextKind; at: number }): JsonObject {
    return { ...this.#place(at), [kind === 'text' ? 'content_index' : 'summary_index']: 0 }
  }

  #partName(kind: TextKind): string {
    return kind === 'text' ? 'content_part' : 'reasoning_summary_part'
  }

  #textEvent(kind: TextKind): string {
    if (kind === 'reasoning') return 'response.reasoning_summary_text'
    return isRefusal(this.#plan) ? 'response.refusal' : 'response.output_text'
  }

  #part(kind: TextKind, text: string): JsonObject {
    return kind === 'text' ? textPart(this.#plan, text) : { type: 'summary_text', text }
  }

  #event(type: string, fields: JsonObject): JsonObject {
    return { type, sequence_number: this.#sequence++, ...fields }
  }
}

/** Returns the items of a turn in their final state. */
function itemsOf(plan: TurnPlan, { id, body }: ReplyContext): JsonObject[] {
  const { reasoning, text, toolCalls } = plan
  const isSealed = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content')
  const status = plan.finishReason === 'length' || plan.finishReason === 'content_filter' ? 'incomplete' : 'completed'
  const thought: JsonObject = {
    id: `rs_${id}`,
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: reasoning ?? '' }],
    encrypted_content: isSealed ? `sealed: ${(reasoning ?? '').length} characters` : null,
  }
  const message: JsonObject = { id: `msg_${id}`, type: 'message', status, role: 'assistant', content: [textPart(plan, text)] }
  return [
    ...keptItems(plan),
    ...(reasoning === undefined ? [] : [thought]),
    ...(text === '' ? [] : [message]),
    ...toolCalls.map((call, at) => ({
      id: `fc_${id}_${at}`,
      type: 'function_call',
      status,
      ...(call.id === '' ? {} : { call_id: call.id }),
      name: call.function.name,
      arguments: call.function.arguments,
    })),
  ]
}

function textPart(plan: TurnPlan, text: string): JsonObject {
  return isRefusal(plan) ? { type: 'refusal', refusal: text } : { type: 'output_text', annotations: [], logprobs: [], text }
}

function isRefusal({ finishReason }: TurnPlan): boolean {
  return finishReason === 'refusal'
}

function keptItems({ providerData }: TurnPlan): JsonObject[] {
  return objectsIn(providerData?.data.output)
}

function responseOf({ providerData }: TurnPlan, { id, model, body }: ReplyContext): JsonObject {
  const { output: _, ...fields } = providerData?.data ?? {}
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: createdAt,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    store: body.store ?? true,
    tool_choice: body.tool_choice ?? 'auto',
    usage: null,
    ...fields,
  }
}

function wholeResponse(plan: TurnPlan, about: ReplyContext, items: readonly JsonObject[]): JsonObject {
  const reason = plan.rawFinishReason ?? incompleteReasons[plan.finishReason]
  return {
    ...responseOf(plan, about),
    ...(reason === undefined ? {} : { status: 'incomplete', incomplete_details: { reason } }),
    ...(plan.finishReason === 'error' ? { status: 'failed', error: { code: 'server_error', message: 'The model failed' } } : {}),
    output: [...items],
    usage: plan.usage === undefined ? null : encodeUsage(plan.usage),
  }
}

/** The reasons of incomplete responses, by finish reason. With any other finish reason, a response is complete. */
const incompleteReasons: Readonly<Record<string, string>> = { length: 'max_output_tokens', content_filter: 'content_filter' }

function encodeUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cacheReadTokens ?? 0, cache_write_tokens: usage.cacheWriteTokens ?? 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.totalTokens,
  }
}

/** Source: https://platform.openai.com/docs/guides/error-codes */
function encodeError({ status, message, kind }: WireFailure): JsonObject {
  if (kind === 'context_overflow') {
    const told = 'Your input exceeds the context window of this model. Please adjust your input and try again.'
    return { error: { message: told, type: 'invalid_request_error', param: 'input', code: 'context_length_exceeded' } }
  }
  const [type, code = null]: [string, Json?] = errorKinds[status] ?? [status >= 500 ? 'server_error' : 'invalid_request_error']
  return { error: { message, type, param: null, code } }
}

const errorKinds: Readonly<Record<number, [type: string, code: string]>> = {
  401: ['invalid_request_error', 'invalid_api_key'],
  429: ['requests', 'rate_limit_exceeded'],
}
