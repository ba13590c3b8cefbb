import type { FinishReason } from '../../../core/events.ts'
import { isJsonObject, type Json, type JsonObject, type ToolCall, type Usage } from '../../../core/messages.ts'
import type { TurnPlan, TurnStep } from '../../script.ts'
import { readGeminiRequest } from './gemini-generate-content-request.ts'
import type { MockWire, ReplyContext, StreamEncoder, WireFailure } from './wire.ts'

const address = /\/(models|tunedModels|endpoints)\/[^/:]+:(generateContent|streamGenerateContent)$/

/**
 * Gemini's generateContent, as the Gemini API and Vertex AI have it. A turn's `providerData.data.parts` are parts that come before its
 * own; the other fields of `data` go into the candidate. Source: https://ai.google.dev/api/generate-content
 */
export const geminiGenerateContentWire: MockWire = {
  name: 'gemini-generate-content',
  // Arguments travel as an object; the rows that matter are those of the model.
  traits: { argumentsAsText: false, anyCallId: false, rowsOfOneRole: false, refusals: false },
  layout: { contentType: 'text/event-stream', lineEnd: '\r\n', eventName: () => undefined },
  route: (method, path) => (method === 'POST' && address.test(path) ? 'generate' : undefined),
  streams: (_body, path) => path.endsWith(':streamGenerateContent'),
  readRequest: readGeminiRequest,
  encodeStream: (plan, about) => new ChunkStream(plan, about),
  encodeWhole: (plan, about) => {
    const thoughts: JsonObject[] = plan.reasoning === undefined ? [] : [{ text: plan.reasoning, thought: true }]
    const text: JsonObject[] = plan.text === '' ? [] : [{ text: plan.text }]
    const parts = [...keptParts(plan), ...thoughts, ...text, ...plan.toolCalls.map((call, at) => encodeCall(call, plan, at))]
    return { ...chunkOf(about, [...parts, ...lastPart(plan)], candidateFields(plan)), usageMetadata: encodeUsage(plan.usage) }
  },
  encodeError,
  encodeStreamError: encodeError,
  encodeModels: (models) => ({ models: models.map((id) => ({ name: `models/${id}`, supportedGenerationMethods: ['generateContent'] })) }),
}

type Piece = Exclude<TurnStep, { type: 'wait' }>

/** One turn as chunks. A call is a part of its own, whole, and comes when it and those before it are complete. */
class ChunkStream implements StreamEncoder {
  readonly #plan: TurnPlan
  readonly #about: ReplyContext
  /** How many pieces of each call are still to come. */
  readonly #toCome = new Map<number, number>()
  #sentCalls = 0

  constructor(plan: TurnPlan, about: ReplyContext) {
    this.#plan = plan
    this.#about = about
    for (const step of plan.steps) {
      if (step.type === 'call' || step.type === 'arguments') this.#toCome.set(step.index, (this.#toCome.get(step.index) ?? 0) + 1)
    }
  }

  open(): JsonObject[] {
    const kept = keptParts(this.#plan)
    return kept.length === 0 ? [] : [chunkOf(this.#about, kept)]
  }

  step(step: Piece): JsonObject[] {
    if (step.type === 'text') return [chunkOf(this.#about, [{ text: step.text }])]
    if (step.type === 'reasoning') return [chunkOf(this.#about, [{ text: step.text, thought: true }])]
    this.#toCome.set(step.index, (this.#toCome.get(step.index) ?? 1) - 1)
    const chunks: JsonObject[] = []
    for (let at = this.#sentCalls; this.#toCome.get(at) === 0; at++) {
      const call = this.#plan.toolCalls[at]
      if (call !== undefined) chunks.push(chunkOf(this.#about, [encodeCall(call, this.#plan, at)]))
      this.#sentCalls = at + 1
    }
    return chunks
  }

  finish(): JsonObject[] {
    const [part = { text: '' }] = lastPart(this.#plan)
    return [{ ...chunkOf(this.#about, [part], candidateFields(this.#plan)), usageMetadata: encodeUsage(this.#plan.usage) }]
  }
}

function chunkOf({ id, model }: ReplyContext, parts: JsonObject[], fields: JsonObject = {}): JsonObject {
  return { candidates: [{ content: { parts, role: 'model' }, ...fields, index: 0 }], modelVersion: model, responseId: id }
}

function candidateFields(plan: TurnPlan): JsonObject {
  const { parts: _, ...fields } = plan.providerData?.data ?? {}
  return { finishReason: plan.rawFinishReason ?? stopWords[plan.finishReason], ...fields }
}

function keptParts({ providerData }: TurnPlan): JsonObject[] {
  const parts = providerData?.data.parts
  return Array.isArray(parts) ? parts.filter(isJsonObject) : []
}

/** A turn that was thought about is signed: on its first call, else on a last part of its own. */
function lastPart(plan: TurnPlan): JsonObject[] {
  return plan.reasoning === undefined || plan.toolCalls.length > 0 ? [] : [{ text: '', thoughtSignature: signatureOf(plan) }]
}

/** Stands for the provider's signature over a thought. */
function signatureOf({ reasoning = '' }: TurnPlan): string {
  return Buffer.from(`signature of ${reasoning.length} characters`).toString('base64')
}

function encodeCall({ id, function: { name, arguments: json } }: ToolCall, plan: TurnPlan, at: number): JsonObject {
  const signed: JsonObject = plan.reasoning === undefined || at > 0 ? {} : { thoughtSignature: signatureOf(plan) }
  return { functionCall: { ...(id === '' ? {} : { id }), name, args: argsOf(json) }, ...signed }
}

/** What is not an object is sent as its text, as a careless gateway would; the API itself never does. */
function argsOf(json: string): Json {
  if (json.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(json)
    // Written again to see that it can be: what is nested too deep can only be read.
    return isJsonObject(value) && JSON.stringify(value) !== '' ? value : json
  } catch {
    // Broken on purpose by the script.
    return json
  }
}

const stopWords: Record<FinishReason, string> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
  refusal: 'PROHIBITED_CONTENT',
  error: 'OTHER',
}

/** Thoughts are counted apart from the answer, and what was cached within the prompt. */
function encodeUsage(usage: Usage | undefined): JsonObject {
  if (usage === undefined) return {}
  const { inputTokens, outputTokens, reasoningTokens, cacheReadTokens } = usage
  return {
    promptTokenCount: inputTokens,
    ...(cacheReadTokens === undefined ? {} : { cachedContentTokenCount: cacheReadTokens }),
    candidatesTokenCount: outputTokens - (reasoningTokens ?? 0),
    ...(reasoningTokens === undefined ? {} : { thoughtsTokenCount: reasoningTokens }),
    totalTokenCount: inputTokens + outputTokens,
  }
}

/** Source: https://ai.google.dev/gemini-api/docs/troubleshooting */
function encodeError({ status, message, kind }: WireFailure): JsonObject {
  const told =
    kind === 'context_overflow' ? 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).' : message
  return { error: { code: status, message: told, status: errorWords[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT') } }
}

const errorWords: Record<number, string> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}
