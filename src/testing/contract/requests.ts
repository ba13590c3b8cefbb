import { type ChatMessage, hasToolCalls, isToolResult } from '../../core/messages.ts'
import type { ToolChoice } from '../../models/chat-model.ts'
import type { WireRequest } from '../mock/wires/wire.ts'
import { greeting, type ModelCase, type ModelKit, tool } from './kit.ts'

const tools = [tool('zebra', { count: { type: 'integer' } }), tool('aardvark'), tool('get-weather_2', { city: { type: 'string' } })]

/** A conversation with two turns of calls: text beside calls, several calls, an empty result, and a failed call. */
const history: readonly ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Compare the weather in Rome and Oslo.' },
  {
    role: 'assistant',
    content: 'I look both up.',
    toolCalls: [call('call_1', 'get-weather_2', '{"city": "Rome"}'), call('call_2', 'get-weather_2', '{"city":"Oslo"}')],
  },
  { role: 'tool', toolCallId: 'call_1', name: 'get-weather_2', content: '24 °C' },
  { role: 'tool', toolCallId: 'call_2', name: 'get-weather_2', content: 'Error: no such city', isError: true },
  { role: 'assistant', content: '', toolCalls: [call('call_3', 'zebra', '{}')] },
  { role: 'tool', toolCallId: 'call_3', name: 'zebra', content: '' },
  { role: 'assistant', content: 'Rome has 24 °C.' },
  { role: 'user', content: 'Thanks. And now?' },
]

export const requestCases: readonly ModelCase[] = [
  {
    name: 'without tools the request has no tools and no tool choice',
    async run(kit) {
      for (const given of [undefined, []]) {
        for (const toolChoice of [undefined, 'auto', 'none', 'required'] as const) {
          const request = { tools: given, toolChoice, parallelToolCalls: false }
          const { server } = await kit.ask({ script: ['Hello'] }, request)
          const read = readOnly(kit, server.requests)
          kit.expect([read.tools, read.toolChoice]).toEqual([undefined, undefined])
        }
      }
    },
  },
  {
    name: 'tools are sent unchanged and in order',
    async run(kit) {
      const { server } = await kit.ask({ script: ['Hello'] }, { tools })
      const sent = readOnly(kit, server.requests).tools ?? []
      kit
        .expect(sent.map(({ function: { name, description } }) => ({ name, description })))
        .toEqual(tools.map(({ function: { name, description } }) => ({ name, description })))
      kit
        .expect(sent.map((definition) => definition.function.parameters))
        .toEqual(tools.map((definition) => definition.function.parameters))
    },
  },
  {
    name: 'all four tool choices reach the provider',
    async run(kit) {
      const choices: ToolChoice[] = ['none', 'required', { type: 'function', function: { name: 'aardvark' } }]
      for (const toolChoice of choices) {
        const { server } = await kit.ask({ script: ['Hello'] }, { tools, toolChoice })
        kit.expect(readOnly(kit, server.requests).toolChoice).toEqual(toolChoice)
      }
      // `auto` is the default, so the request may contain it or leave it out.
      const { server } = await kit.ask({ script: ['Hello'] }, { tools, toolChoice: 'auto' })
      kit.expect(readOnly(kit, server.requests).toolChoice ?? 'auto').toBe('auto')
    },
  },
  {
    name: 'the messages reach the provider unchanged',
    async run(kit) {
      const { server } = await kit.ask({ script: ['Hello'] }, { messages: greeting })
      kit.expect(readOnly(kit, server.requests).messages).toEqual([...greeting])
    },
  },
  {
    name: 'a history with calls is accepted, with one result for each call',
    async run(kit) {
      for (const stream of [true, false]) {
        const { server } = await kit.ask({ script: ['Now it rains.'] }, { messages: history, tools, stream })
        const sent = readOnly(kit, server.requests).messages
        const answered = sent.filter(isToolResult).map((result) => [result.toolCallId, result.content])
        kit.expect(answered.map(([id]) => id)).toEqual(['call_1', 'call_2', 'call_3'])
        kit.expect(answered[0]?.[1]).toBe('24 °C')
        const called = sent.filter(hasToolCalls).map((message) => [message.content, ...message.toolCalls.map(({ id }) => id)])
        kit.expect(called).toEqual([
          ['I look both up.', 'call_1', 'call_2'],
          ['', 'call_3'],
        ])
      }
    },
  },
  {
    name: 'one call to generate is one request, and changes none of what it was given',
    async run(kit) {
      const messages = structuredClone(history)
      const { server } = await kit.ask({ script: [{ toolCalls: [{ name: 'zebra' }] }] }, { messages, tools })
      kit.expect(server.requests.length).toBe(1)
      kit.expect(messages).toEqual(history)
    },
  },
  {
    name: 'provider options are added to the body unchanged',
    async run(kit) {
      const { server } = await kit.ask({ script: ['Hello'] }, { providerOptions: { x_test_option: { deep: [1, 'two'] } } })
      kit.expect(server.requests[0]?.body.x_test_option).toEqual({ deep: [1, 'two'] })
    },
  },
]

function call(id: string, name: string, json: string): { id: string; type: 'function'; function: { name: string; arguments: string } } {
  return { id, type: 'function', function: { name, arguments: json } }
}

/** Returns the only request, converted back to messages, tools and tool choice. */
function readOnly({ expect, wire }: ModelKit, requests: readonly { body: Parameters<ModelKit['wire']['readRequest']>[0] }[]): WireRequest {
  expect(requests.length).toBe(1)
  return wire.readRequest(requests[0]?.body ?? {})
}
