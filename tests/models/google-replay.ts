import { expect } from 'vitest'
import { type ChatMessage, hasToolCalls, type JsonObject } from '../../src/core/messages.ts'
import type { ChatModel, ModelRequest, ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockProvider } from '../../src/testing/mock-provider.ts'
import { readRecording } from './local-server.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

export const hello: ChatMessage[] = [{ role: 'user', content: 'Hello' }]

export function modelAt({ url }: MockProvider, settings: Partial<ModelSettings> = {}): ChatModel {
  return createModel({ provider: 'google', model: 'gemini-3.5-flash', apiKey: 'test-key', baseURL: url, maxRetries: 0, ...settings })
}

/** One response. Checks that the pieces in the sink add up to it. */
export async function ask(model: ChatModel, request: Partial<ModelRequest> = {}): Promise<ModelResponse> {
  const shown = { text: '', reasoning: '', calls: [] as { name: string; arguments: string }[] }
  const response = await model.generate(
    { messages: hello, ...request },
    {
      text: (delta) => {
        shown.text += delta
      },
      reasoning: (delta) => {
        shown.reasoning += delta
      },
      toolCallStart: (index, _id, name) => {
        expect(index).toBe(shown.calls.length)
        shown.calls.push({ name, arguments: '' })
      },
      toolCallDelta: (index, json) => {
        const call = shown.calls[index]
        if (call !== undefined) call.arguments += json
      },
    },
  )
  expect(shown.text).toBe(response.text)
  expect(shown.reasoning).toBe(response.reasoning ?? '')
  if (response.finishReason !== 'content_filter') expect(shown.calls).toEqual(response.toolCalls.map((call) => call.function))
  return response
}

/** The answer to recordings, one per request. Checks that it is the same complete and in pieces of 1 byte, 7 bytes and random size. */
export async function replay(...recordings: string[]): Promise<ModelResponse> {
  const found: ModelResponse[] = []
  for (const splitBytes of [undefined, 1, 7, 'random'] as const) {
    const faults = splitBytes === undefined ? {} : { splitBytes }
    await using server = await startStrictProvider({ recordings: recordings.map(readRecording), faults })
    found.push(await ask(modelAt(server)))
    expect(server.requests).toHaveLength(recordings.length)
  }
  const [first, ...others] = found
  if (first === undefined) throw new Error('no answer')
  for (const other of others) expect(other).toEqual(first)
  return first
}

/** A recording as the API sends it without streaming: all parts in order, and the last value of everything else. */
function wholeOf(recording: string): JsonObject {
  const chunks = readRecording(recording).map((line): JsonObject => JSON.parse(line))
  const candidates = chunks.map(({ candidates: [candidate] = [] as JsonObject[] }: { candidates?: JsonObject[] }) => candidate ?? {})
  const parts = candidates.flatMap(({ content }) => ((content as JsonObject | undefined)?.parts ?? []) as JsonObject[])
  const merged = Object.assign({}, ...candidates, { content: { parts, role: 'model' } })
  return { ...Object.assign({}, ...chunks), ...('candidates' in (chunks[0] ?? {}) ? { candidates: [merged] } : {}) }
}

/** Streamed and not streamed, which must give the same result. */
export async function both(recording: string): Promise<ModelResponse> {
  const streamed = await replay(recording)
  await using server = await startStrictProvider({ script: [{ body: wholeOf(recording) }] })
  expect(await ask(modelAt(server), { stream: false })).toEqual(streamed)
  return streamed
}

/** The parts of a response that are sent in the next round, with results for its calls. */
export async function sentBack(response: ModelResponse, settings: Partial<ModelSettings> = {}): Promise<JsonObject[]> {
  await using server = await startStrictProvider({ script: ['ok'] })
  const { text, toolCalls, providerData } = response
  const message: ChatMessage = {
    role: 'assistant',
    content: text,
    ...(toolCalls.length === 0 ? {} : { toolCalls: toolCalls.map((call, at) => ({ ...call, id: call.id || `made_${at}` })) }),
    ...(providerData === undefined ? {} : { providerData }),
  }
  const results = hasToolCalls(message)
    ? message.toolCalls.map(({ id }): ChatMessage => ({ role: 'tool', toolCallId: id, content: 'x' }))
    : []
  await ask(modelAt(server, settings), { messages: [...hello, message, ...results, { role: 'user', content: 'And?' }] })
  const contents = (server.requests[0]?.body.contents ?? []) as { role: string; parts: JsonObject[] }[]
  return contents.find(({ role }) => role === 'model')?.parts ?? []
}
