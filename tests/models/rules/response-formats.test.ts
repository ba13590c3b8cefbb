import { expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/messages.ts'
import { startStrictProvider } from './strict-provider.ts'

const messages = [{ role: 'user', content: 'Hello' }]
const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const openOne = { type: 'object', properties: { a: { type: 'string' } } }
const optional = { ...closed, required: [] }

const chat = (response_format: unknown) => ['/v1/chat/completions', { model: 'm', messages, response_format }] as const
const named = (schema: unknown, strict = true, name = 'x') => chat({ type: 'json_schema', json_schema: { name, schema, strict } })
const responses = (format: unknown) => ['/v1/responses', { model: 'm', input: 'Hello', text: { format } }] as const
const claude = (format: unknown) => ['/v1/messages', { model: 'm', max_tokens: 9, messages, output_config: { format } }] as const
const claudes = (property: JsonObject) => claude({ type: 'json_schema', schema: { ...closed, properties: { a: property } } })
const gemini = (generationConfig: JsonObject) =>
  ['/v1beta/models/m:generateContent', { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], generationConfig }] as const

it.each([
  [200, chat({ type: 'json_object' })],
  [200, named(closed)],
  [200, named(openOne, false)],
  [400, named(openOne)],
  [400, named(optional)],
  [400, named({ ...closed, properties: { a: openOne } })],
  [400, named({ type: 'array', items: closed })],
  [400, named(undefined, false)],
  [400, named(closed, true, 'no name')],
  [400, chat({ type: 'json_schema' })],
  [400, chat({ type: 'json' })],
  [200, responses({ type: 'json_schema', name: 'x', schema: closed, strict: true })],
  [200, responses({ type: 'text' })],
  [400, responses({ type: 'json_schema', name: 'x', schema: optional, strict: true })],
  [400, responses({ type: 'json_schema', json_schema: { name: 'x', schema: closed } })],
  [400, responses({ type: 'xml' })],
  [200, claude({ type: 'json_schema', schema: optional })],
  [200, claude(null)],
  [400, claude({ type: 'json_object' })],
  [400, claude({ type: 'json_schema' })],
  [400, claude({ type: 'json_schema', schema: openOne })],
  [400, claudes({ type: 'string', minLength: 1 })],
  [400, claudes({})],
  [400, claudes({ anyOf: [openOne] })],
  [200, gemini({ responseMimeType: 'application/json', responseJsonSchema: openOne })],
  [400, gemini({ responseJsonSchema: openOne })],
  [400, gemini({ responseMimeType: 'application/json', responseJsonSchema: openOne, responseSchema: openOne })],
  [400, gemini({ responseMimeType: 'application/json', responseSchema: 'x' })],
])('%i for %j', async (status, [path, body]) => {
  await using server = await startStrictProvider({ script: ['{}'] })
  const response = await fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body) })
  expect([response.status, status === 400 ? await response.text() : '']).toEqual([
    status,
    status === 400 ? expect.stringContaining('error') : '',
  ])
})
