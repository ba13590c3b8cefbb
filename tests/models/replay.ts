import { expect } from 'vitest'
import type { ChatMessage } from '../../src/core/messages.ts'
import type { ChatModel, ModelRequest, ModelResponse } from '../../src/models/chat-model.ts'
import type { MockProvider } from '../../src/testing/mock-provider.ts'
import { readRecording } from './local-server.ts'
import { hello } from './one-request.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

/** One response. Checks that the pieces in the sink add up to it. */
export async function ask(model: ChatModel, request: Partial<ModelRequest> & { messages?: ChatMessage[] } = {}): Promise<ModelResponse> {
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
  // Calls of a filtered or refused response are dropped.
  if (response.finishReason !== 'refusal' && response.finishReason !== 'content_filter')
    expect(shown.calls).toEqual(response.toolCalls.map((call) => call.function))
  return response
}

type Open = (server: MockProvider) => ChatModel

/** The answer to recordings, one per request. Checks that it is the same complete and in pieces of 1 byte, 7 bytes and random size. */
export function replay(open: Open, ...recordings: string[]): Promise<ModelResponse> {
  return replayCut(open, [1, 7, 'random'], recordings)
}

/** The answer to recordings. Checks that it is the same complete and in pieces of these sizes, in bytes. */
export async function replayCut(open: Open, cuts: readonly (number | 'random')[], recordings: string[]): Promise<ModelResponse> {
  const found: ModelResponse[] = []
  for (const splitBytes of [undefined, ...cuts]) {
    const faults = splitBytes === undefined ? {} : { splitBytes }
    await using server = await startStrictProvider({ recordings: recordings.map(readRecording), faults })
    found.push(await ask(open(server)))
    expect(server.requests).toHaveLength(recordings.length)
  }
  const [first, ...others] = found
  if (first === undefined) throw new Error('no answer')
  for (const other of others) expect(other).toEqual(first)
  return first
}
