import type { FinishReason } from '../../../core/events.ts'
import { type JsonObject, type ToolCall, type Usage, withoutUndefined } from '../../../core/messages.ts'
import type { TurnPlan } from '../../script.ts'
import { readGeminiRequest } from './gemini-generate-content-request.ts'
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

const address = /\/(models|tunedModels|endpoints)\/[^/:]+:(generateContent|streamGenerateContent)$/

/**
 * Gemini's generateContent, which the Gemini API and Vertex AI offer. The parts in a turn's `providerData.data.parts` are sent before the
 * turn's text and calls. The other fields of `data` are added to the candidate. Source: https://ai.google.dev/api/generate-content
 */
export const geminiGenerateContentWire: MockWire = {
  name: 'gemini-generate-content',
  // The arguments of a call are sent as an object. Consecutive messages of the model are joined.
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

/** Encodes one turn as chunks. Each call is one complete part, which is sent when the call and all calls before it are complete. */
class ChunkStream implements StreamEncoder {
  readonly #plan: TurnPlan
  readonly #about: ReplyContext
  readonly #pieces: CallPieces
  #sentCalls = 0

  constructor(plan: TurnPlan, about: ReplyContext) {
    this.#plan = plan
    this.#about = about
    this.#pieces = new CallPieces(plan)
  }

  open(): JsonObject[] {
    const kept = keptParts(this.#plan)
    return kept.length === 0 ? [] : [chunkOf(this.#about, kept)]
  }

  step(step: TurnPiece): JsonObject[] {
    if (step.type === 'text') return [chunkOf(this.#about, [{ text: step.text }])]
    if (step.type === 'reasoning') return [chunkOf(this.#about, [{ text: step.text, thought: true }])]
    this.#pieces.send(step.index)
    const chunks: JsonObject[] = []
    for (let at = this.#sentCalls; this.#pieces.isComplete(at); at++) {
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
  return objectsIn(providerData?.data.parts)
}

/**
 * Returns a final part with the signature of the reasoning. Empty if the turn has no reasoning, or has calls: the first call then has the
 * signature.
 */
function lastPart(plan: TurnPlan): JsonObject[] {
  return plan.reasoning === undefined || plan.toolCalls.length > 0 ? [] : [{ text: '', thoughtSignature: signatureOf(plan) }]
}

/** Returns a placeholder for the signature of the reasoning. */
function signatureOf({ reasoning = '' }: TurnPlan): string {
  return Buffer.from(`signature of ${reasoning.length} characters`).toString('base64')
}

function encodeCall({ id, function: { name, arguments: json } }: ToolCall, plan: TurnPlan, at: number): JsonObject {
  const signed: JsonObject = plan.reasoning === undefined || at > 0 ? {} : { thoughtSignature: signatureOf(plan) }
  return { functionCall: { ...(id === '' ? {} : { id }), name, args: argumentsObject(json) }, ...signed }
}

const stopWords: Record<FinishReason, string> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
  refusal: 'PROHIBITED_CONTENT',
  error: 'OTHER',
}

/** Converts the usage to the API's form: thoughts are counted separately from the answer, and cached tokens as part of the prompt. */
function encodeUsage(usage: Usage | undefined): JsonObject {
  if (usage === undefined) return {}
  const { inputTokens, outputTokens, reasoningTokens, cacheReadTokens } = usage
  return {
    promptTokenCount: inputTokens,
    ...withoutUndefined({ cachedContentTokenCount: cacheReadTokens }),
    candidatesTokenCount: outputTokens - (reasoningTokens ?? 0),
    ...withoutUndefined({ thoughtsTokenCount: reasoningTokens }),
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
