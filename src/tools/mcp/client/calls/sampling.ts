import { createHash } from 'node:crypto'
import { ToolloopError } from '../../../../core/errors.ts'
import { type ChatMessage, isJsonObject, type Json, type JsonObject, textOf } from '../../../../core/messages.ts'
import type { ModelAnswer, ModelQuestion, ToolContext } from '../../../tool.ts'
import type { McpServerOptions } from '../../server-config.ts'
import { asideOf } from '../set-aside.ts'
import type { CallNotes } from './call-notes.ts'
import { contentOf, readParts } from './call-result.ts'

/** Limits for a server's requests to the model. */
export interface SamplingLimits {
  maxTokens: number
  maxRequests: number
}

const defaults: SamplingLimits = { maxTokens: 4_096, maxRequests: 10 }

/** Maximum size of one request in characters, including its pictures. */
const mostCharacters = 2_000_000

/** Returns the limits of a server. Undefined if the server may not ask the model. */
export function samplingLimits({ sampling = false }: McpServerOptions): SamplingLimits | undefined {
  if (sampling === false) return undefined
  return { ...defaults, ...(sampling === true ? {} : sampling) }
}

/** Answers a server's requests to the model during one call. If the call is repeated, reuses the earlier answers. */
export class Sampler {
  readonly #server: string
  readonly #limits: SamplingLimits
  #notes: CallNotes
  /** How often each request was made, by a digest of the request. */
  readonly #asked = new Map<string, number>()
  /** Number of requests to the model. Includes failed requests, because they also incur costs. */
  #tried: number
  #turn: Promise<unknown> = Promise.resolve()

  /**
   * `continues`: whether the call continues instead of being repeated. If so, a request that equals an earlier one is not a repetition and
   * gets a new answer.
   */
  constructor(server: string, limits: SamplingLimits, notes: CallNotes, continues: boolean) {
    this.#server = server
    this.#limits = limits
    this.#notes = notes
    this.#tried = Object.keys(notes.noted.sampled ?? {}).length
    for (const key of continues ? Object.keys(notes.noted.sampled ?? {}) : []) {
      const [digest = ''] = key.split('.')
      this.#asked.set(digest, (this.#asked.get(digest) ?? 0) + 1)
    }
  }

  /** Records all further answers in `notes`. */
  noteIn(notes: CallNotes): void {
    this.#notes = notes
  }

  /** Resolves when no request is in progress. */
  get idle(): Promise<unknown> {
    return this.#turn
  }

  /** Answers a request. Requests are handled one after another. Rejects with `tool_failed`, `tool_denied`, or the model's error. */
  answer(params: unknown, askModel: ToolContext['askModel']): Promise<JsonObject> {
    const answered = this.#turn.then(() => this.#answer(params, askModel))
    this.#turn = answered.catch(() => {})
    return answered
  }

  async #answer(params: unknown, askModel: ToolContext['askModel']): Promise<JsonObject> {
    const question = readQuestion(params, this.#limits.maxTokens)
    if (question === undefined) throw this.#refused('sent a request to the model that can not be read')
    const text = JSON.stringify(question)
    if (text.length > mostCharacters) throw this.#refused(`sent a request to the model of more than ${mostCharacters} characters`)
    const digest = createHash('sha256').update(text).digest('base64url')
    const times = (this.#asked.get(digest) ?? 0) + 1
    this.#asked.set(digest, times)
    const key = `${digest}.${times}`
    const { sampled = {} } = this.#notes.noted
    const known = sampled[key]
    if (known !== undefined) return known
    if (askModel === undefined) throw this.#refused('sent a request to the model, but no run with a model has called the server')
    const { maxRequests } = this.#limits
    if (this.#tried++ >= maxRequests) throw this.#refused(`sent more than ${maxRequests} requests to the model in one call`)
    const result = resultOf(await askModel(question))
    await this.#notes.add({ sampled: { ...sampled, [key]: result } })
    return result
  }

  #refused(what: string): ToolloopError {
    return new ToolloopError('tool_failed', `The MCP server \`${this.#server}\` ${what}.`)
  }
}

/** Reads a request. `most`: the maximum of its output tokens. Undefined if the request is invalid. */
function readQuestion(params: unknown, most: number): ModelQuestion | undefined {
  if (!isJsonObject(params)) return undefined
  const { systemPrompt, maxTokens, temperature, stopSequences, messages: given } = params
  const list = asideOf(params).messages ?? given
  if (!Array.isArray(list)) return undefined
  const messages = list.map(readMessage)
  if (messages.length === 0 || !messages.every((message) => message !== undefined)) return undefined
  return {
    messages,
    maxOutputTokens: typeof maxTokens === 'number' && maxTokens >= 1 ? Math.min(Math.floor(maxTokens), most) : most,
    ...(typeof systemPrompt === 'string' && systemPrompt !== '' ? { instructions: systemPrompt } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(isTexts(stopSequences) && stopSequences.length > 0 ? { stop: stopSequences } : {}),
  }
}

function isTexts(value: Json | undefined): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function readMessage(given: unknown): ChatMessage | undefined {
  if (!isJsonObject(given)) return undefined
  const { role, content = null } = given
  const parts = readParts(Array.isArray(content) ? content : [content])
  if (parts === undefined || parts.length === 0) return undefined
  if (role === 'user') return { role, content: contentOf(parts) }
  return role === 'assistant' ? { role, content: textOf(parts) } : undefined
}

function resultOf({ text, model, finishReason }: ModelAnswer): JsonObject {
  const stopReason = finishReason === 'length' ? 'maxTokens' : 'endTurn'
  return { role: 'assistant', content: { type: 'text', text }, model, stopReason }
}
