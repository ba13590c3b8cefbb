import type { CreateMessageRequestParamsBase } from '@modelcontextprotocol/server'
import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../../core/messages.ts'
import { ask, type JsonSchema, type Question } from '../../tool.ts'

/** A request to the model of an MCP client (sampling). */
export interface ClientModelRequest {
  /** The conversation so far, with the oldest message first. A text counts as a message of the user. */
  messages: string | readonly { role: 'user' | 'assistant'; content: string }[]
  /** The system prompt. The client may change it or leave it out. */
  instructions?: string
  /** Maximum number of tokens in the answer. Default 1,000. */
  maxOutputTokens?: number
  temperature?: number
}

/** The answer of the client's model, in `ctx.answer` of a tool that returned `askClientModel`. */
export interface ClientModelAnswer {
  text: string
  /** The model that the client has chosen. */
  model?: string
  stopReason?: string
}

const modelAnswer: JsonSchema = {
  type: 'object',
  properties: { text: { type: 'string' }, model: { type: 'string' }, stopReason: { type: 'string' } },
  required: ['text'],
}

const rootsAnswer: JsonSchema = {
  type: 'array',
  items: { type: 'object', properties: { uri: { type: 'string' }, name: { type: 'string' } }, required: ['uri'] },
}

/** A question (`Question.about`) that the client itself answers, not its user. */
export type ClientRequest = { method: 'sampling/createMessage'; params: CreateMessageRequestParamsBase } | { method: 'roots/list' }

/**
 * Asks the model of the MCP client that called the tool (sampling). Return the question from `execute`. The tool then runs again, with a
 * `ClientModelAnswer` in `ctx.answer`. `ctx.mcpClient` says whether the client supports this. In a run, the user is asked instead.
 */
export function askClientModel({ messages, instructions, maxOutputTokens = 1_000, temperature }: ClientModelRequest): Question {
  const said = typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages
  const params: JsonObject = {
    messages: said.map(({ role, content }) => ({ role, content: { type: 'text', text: content } })),
    ...withoutUndefined({ systemPrompt: instructions }),
    maxTokens: maxOutputTokens,
    ...withoutUndefined({ temperature }),
  }
  return ask({ about: { mcp: 'sampling/createMessage', params }, schema: modelAnswer })
}

/**
 * Asks the MCP client that called the tool for its folders (roots). Return the question from `execute`. The tool then runs again, with a
 * list of `{ uri, name? }` in `ctx.answer`. `ctx.mcpClient` says whether the client supports this.
 */
export function askClientRoots(): Question {
  return ask({ about: { mcp: 'roots/list' }, schema: rootsAnswer })
}

/** Returns the request to the client. Undefined if the question is for the user. */
export function clientRequestIn(about: Json): ClientRequest | undefined {
  if (!isJsonObject(about)) return undefined
  const { mcp: method, params } = about
  if (method === 'roots/list') return { method }
  return method === 'sampling/createMessage' && isModelRequest(params) ? { method, params } : undefined
}

function isModelRequest(params: unknown): params is CreateMessageRequestParamsBase {
  return isJsonObject(params) && Array.isArray(params.messages) && typeof params.maxTokens === 'number'
}
