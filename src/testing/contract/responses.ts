import { isJsonObject, type ToolCall } from '../../core/messages.ts'
import type { ModelResponse } from '../../models/chat-model.ts'
import type { Framing, MockFault } from '../mock/fault.ts'
import type { MockWire } from '../mock/wires/wire.ts'
import type { ScriptedTurn } from '../script.ts'
import { type ModelCase, type ModelKit, SeenPieces, tool } from './kit.ts'

/**
 * A turn that combines many features: reasoning, text beside calls, characters of two to four bytes, arguments with their own white space.
 */
const richTurn: ScriptedTurn = {
  reasoning: 'Think… 思考',
  text: 'I look it up: “Zürich” 🏔️.\n',
  toolCalls: [
    { id: 'call_a', name: 'get_weather', arguments: '{"city": "Zürich", "note":"line\\n\\"quoted\\" 🌧️" }' },
    { id: 'call_b', name: 'get_time', arguments: { timezone: 'JST' } },
  ],
  usage: { inputTokens: 100, outputTokens: 20, reasoningTokens: 5, cacheReadTokens: 40 },
}
const tools = [tool('get_weather', { city: { type: 'string' } }), tool('get_time', { timezone: { type: 'string' } })]

const framings: readonly Framing[] = ['crlf', 'cr', 'no-space', 'comments', 'no-final-blank', 'no-done', 'double-done', 'bom', 'multi-data']

/** Cases about the content of responses, which must not depend on how the bytes arrive. */
export const responseCases: readonly ModelCase[] = [
  {
    name: 'text is streamed in pieces that add up to the text of the response',
    async run({ ask, expect }) {
      const { response, seen } = await ask({ script: ['Hello, world. Grüße aus 東京 🎌'] })
      expect(response.text).toBe('Hello, world. Grüße aus 東京 🎌')
      expect(seen.text).toBe(response.text)
      expect(seen.textPieces > 1).toBe(true)
      expect(response.toolCalls).toEqual([])
      expect(response.finishReason).toBe('stop')
    },
  },
  {
    name: 'a piece of text is passed on before the next one arrives',
    async run({ start, connect, expect }) {
      const seen = new SeenPieces()
      let passOn = (): void => {}
      const passedOn = new Promise<void>((resolve) => {
        passOn = resolve
      })
      const server = await start({ script: [{ chunks: ['first', passedOn, ' second'] }] })
      const model = await connect(server)
      const text = (delta: string): void => {
        seen.sink.text(delta)
        if (seen.text === 'first') passOn()
      }
      const response = await model.generate({ messages: [{ role: 'user', content: 'Hello' }] }, { text })
      expect(response.text).toBe('first second')
    },
  },
  {
    name: 'without streaming the response is the same',
    async run({ ask, expect, wire }) {
      const streamed = await ask({ script: [richTurn] }, { tools })
      const whole = await ask({ script: [richTurn] }, { tools, stream: false })
      expect(comparable(whole.response, wire)).toEqual(comparable(streamed.response, wire))
    },
  },
  {
    name: 'without a sink the response is the same',
    async run({ ask, start, connect, expect, wire }) {
      const { response } = await ask({ script: [richTurn] }, { tools })
      const model = await connect(await start({ script: [richTurn] }))
      const silent = await model.generate({ messages: [{ role: 'user', content: 'Hello' }], tools })
      expect(comparable(silent, wire)).toEqual(comparable(response, wire))
    },
  },
  {
    name: 'tool calls keep their order, ids and unparsed arguments',
    async run({ ask, expect, wire }) {
      const { response, seen } = await ask({ script: [richTurn] }, { tools })
      expectRichCalls(response.toolCalls, expect, wire)
      expect(seen.calls.map(({ id, name, json }) => ({ id, name, json }))).toEqual(
        response.toolCalls.map((call) => ({ id: call.id, name: call.function.name, json: call.function.arguments })),
      )
      expect(seen.breaches).toEqual([])
      expect(response.finishReason).toBe('tool_calls')
    },
  },
  {
    name: 'parallel calls whose pieces interleave are returned complete and in order',
    async run({ ask, expect, wire }) {
      const { response, seen } = await ask({ script: [{ ...richTurn, interleave: true }] }, { tools })
      expectRichCalls(response.toolCalls, expect, wire)
      expect(seen.calls.map((call) => call.json)).toEqual(response.toolCalls.map((call) => call.function.arguments))
      expect(seen.breaches).toEqual([])
    },
  },
  {
    name: 'arguments that are not JSON are passed on unchanged',
    async run({ ask, expect, wire }) {
      if (!wire.traits.argumentsAsText) return
      const broken = ['{"city": "Zür', '', '[1, 2', 'null']
      const toolCalls = broken.map((text, at) => ({ id: `call_${at}`, name: 'get_weather', arguments: text }))
      const { response } = await ask({ script: [{ toolCalls }] }, { tools })
      expect(response.toolCalls.map((call) => call.function.arguments)).toEqual(broken)
    },
  },
  {
    name: 'text beside calls is kept',
    async run({ ask, expect }) {
      const { response, seen } = await ask({ script: [richTurn] }, { tools })
      expect(response.text).toBe(richTurn.text)
      expect(seen.text).toBe(richTurn.text)
      expect(response.toolCalls.length).toBe(2)
    },
  },
  {
    name: 'reasoning is kept apart from the text',
    async run({ ask, expect }) {
      const { response, seen } = await ask({ script: [{ reasoning: 'First, think.', text: 'Done.' }] })
      expect(response.reasoning).toBe('First, think.')
      expect(seen.reasoning).toBe('First, think.')
      expect(response.text).toBe('Done.')
    },
  },
  {
    name: 'calls count as calls whatever the finish reason says',
    async run({ ask, expect }) {
      for (const stream of [true, false]) {
        const { response } = await ask({ script: [{ ...richTurn, finishReason: 'stop' }] }, { tools, stream })
        expect(response.finishReason).toBe('tool_calls')
      }
    },
  },
  {
    name: 'the finish reasons length, content_filter and refusal are named',
    async run({ ask, expect, wire }) {
      const refusal = wire.traits.refusals ? (['refusal'] as const) : []
      for (const stream of [true, false]) {
        for (const finishReason of ['length', 'content_filter', ...refusal] as const) {
          const { response } = await ask({ script: [{ text: 'I can', finishReason }] }, { stream })
          expect(response.finishReason).toBe(finishReason)
        }
      }
    },
  },
  {
    name: 'a response that is cut off by its length ends with length, with or without calls',
    async run({ ask, expect }) {
      const { response } = await ask({ script: [{ ...richTurn, finishReason: 'length' }] }, { tools })
      expect(response.finishReason).toBe('length')
      expect(response.text).toBe(richTurn.text)
    },
  },
  {
    name: 'an empty response is passed on unchanged',
    async run({ ask, expect }) {
      for (const stream of [true, false]) {
        const { response, seen, server } = await ask({ script: [{}] }, { stream })
        expect({ text: response.text, toolCalls: response.toolCalls, finishReason: response.finishReason }).toEqual({
          text: '',
          toolCalls: [],
          finishReason: 'stop',
        })
        expect(seen.text).toBe('')
        expect(server.requests.length).toBe(1)
      }
    },
  },
  {
    name: 'usage is normalized, streamed or not',
    async run({ ask, expect }) {
      for (const stream of [true, false]) {
        const { response } = await ask({ script: [richTurn] }, { tools, stream })
        const { inputTokens, outputTokens, totalTokens, reasoningTokens, cacheReadTokens } = response.usage ?? {}
        expect({ inputTokens, outputTokens, totalTokens, reasoningTokens, cacheReadTokens }).toEqual({
          ...richTurn.usage,
          totalTokens: 120,
        })
      }
    },
  },
  ...[1, 7, 'random' as const].map((splitBytes) => variation(`in chunks of ${splitBytes} bytes`, { splitBytes, seed: 7 })),
  variation('compressed, in small chunks', { gzip: true, splitBytes: 7 }),
  ...framings.map((framing) => variation(`with the framing ${framing}`, { framing, splitBytes: 'random' })),
  {
    name: 'concurrent requests do not mix',
    async run({ start, connect, expect }) {
      const echo = ({ readRequest }: { readRequest: () => { messages: readonly { content: unknown }[] } }): string =>
        `echo of ${String(readRequest().messages.at(-1)?.content)}`
      const model = await connect(await start({ script: echo }))
      const numbers = Array.from({ length: 50 }, (_, at) => at)
      const texts = await Promise.all(
        numbers.map(async (at) => (await model.generate({ messages: [{ role: 'user', content: `number ${at}` }] })).text),
      )
      expect(texts).toEqual(numbers.map((at) => `echo of number ${at}`))
    },
  },
]

/** Creates a case: the same turn must give the same response, however its bytes are framed and split. */
function variation(how: string, fault: MockFault): ModelCase {
  return {
    name: `a response that arrives ${how} is the same`,
    async run({ ask, expect, wire }) {
      const plain = await ask({ script: [richTurn] }, { tools })
      const varied = await ask({ script: [{ ...richTurn, fault }], pieceLength: 24 }, { tools })
      expect(comparable(varied.response, wire)).toEqual(comparable(plain.response, wire))
      expect(varied.seen.text).toBe(plain.seen.text)
      expect(varied.seen.calls).toEqual(plain.seen.calls)
    },
  }
}

function expectRichCalls(calls: readonly ToolCall[], expect: ModelKit['expect'], wire: MockWire): void {
  const expected = [
    { id: 'call_a', type: 'function', function: { name: 'get_weather', arguments: richArguments(0) } },
    { id: 'call_b', type: 'function', function: { name: 'get_time', arguments: richArguments(1) } },
  ]
  expect(calls.map((call) => canonical(call, wire))).toEqual(expected.map((call) => canonical({ ...call, type: 'function' }, wire)))
}

function richArguments(index: number): string {
  const given = richTurn.toolCalls?.[index]?.arguments
  return typeof given === 'string' ? given : JSON.stringify(given)
}

/** Returns the parts of a response that must not depend on how the response arrived. Other parts, such as `responseId`, may differ. */
function comparable(response: ModelResponse, wire: MockWire): unknown {
  const { text, reasoning, finishReason, usage, toolCalls } = response
  return { text, reasoning, finishReason, usage, toolCalls: toolCalls.map((call) => canonical(call, wire)) }
}

/** Returns a call in a form that can be compared. Arguments are compared as values if the wire format doesn't send them as text. */
function canonical(call: ToolCall, wire: MockWire): unknown {
  if (wire.traits.argumentsAsText) return call
  const value: unknown = JSON.parse(call.function.arguments)
  return { ...call, function: { name: call.function.name, arguments: isJsonObject(value) ? value : call.function.arguments } }
}
