import type { CreateMessageRequestParamsBase } from '@modelcontextprotocol/server'
import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../../core/messages.ts'
import { ask, type JsonSchema, type Question } from '../../tool.ts'

/** What a tool asks the model of its MCP client. */
export interface ClientModelRequest {
  /** What was said so far, the oldest first; a text is said by the user. */
  messages: string | readonly { role: 'user' | 'assistant'; content: string }[]
  /** The client may change or leave them out. */
  instructions?: string
  /** Most tokens of its answer. Default 1,000. */
  maxOutputTokens?: number
  temperature?: number
}

/** What it answers: `ctx.answer` of a tool that has asked with `askClientModel`. */
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

/** The requests that can be put to a client instead of its user, by what `about` says. */
export type ClientRequest = { method: 'sampling/createMessage'; params: CreateMessageRequestParamsBase } | { method: 'roots/list' }

/**
 * Returned from `execute`, asks the model of the MCP client that has made the call (sampling); the tool is called again with its
 * `ClientModelAnswer`. Not every client has one to ask: see `ctx.mcpClient`. In a run, it is a question like any other, for whoever decides.
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
 * Returned from `execute`, asks the MCP client that has made the call for its folders (roots); the tool is called again with a list of
 * `{ uri, name? }`. See `askClientModel`.
 */
export function askClientRoots(): Question {
  return ask({ about: { mcp: 'roots/list' }, schema: rootsAnswer })
}

/** Undefined: `about` is for the user. */
export function clientRequestIn(about: Json): ClientRequest | undefined {
  if (!isJsonObject(about)) return undefined
  const { mcp: method, params } = about
  if (method === 'roots/list') return { method }
  return method === 'sampling/createMessage' && isModelRequest(params) ? { method, params } : undefined
}

function isModelRequest(params: unknown): params is CreateMessageRequestParamsBase {
  return isJsonObject(params) && Array.isArray(params.messages) && typeof params.maxTokens === 'number'
}
