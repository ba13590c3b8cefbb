import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import type { ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { countingTool } from '../hazards/tools.ts'
import { hello } from '../models/one-request.ts'
import { ask } from '../models/replay.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'

const look = (fields: JsonObject): JsonObject => ({ functionCall: fields })

function chunksOf(parts: JsonObject[]): JsonObject[] {
  const content = (part: JsonObject) => ({ role: 'model', parts: [part] })
  return [
    ...parts.map((part) => ({ candidates: [{ index: 0, content: content(part) }] })),
    { candidates: [{ index: 0, finishReason: 'STOP' }] },
  ]
}

/** The response to these parts: one per chunk, all in one response, and as a list of chunks from a gateway. */
async function answer(...parts: JsonObject[]): Promise<ModelResponse> {
  const whole = { candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }] }
  await using server = await startStrictProvider({ script: [{ events: chunksOf(parts) }, { body: whole }] })
  const model = createModel({ provider: 'google', model: 'gemini-3.5-flash', apiKey: 'k', baseURL: server.url, maxRetries: 0 })
  const streamed = await ask(model)
  expect(await ask(model, { stream: false })).toEqual(streamed)
  return streamed
}

const callsOf = ({ toolCalls }: ModelResponse) => toolCalls.map(({ id, function: { name, arguments: json } }) => [id, name, json])
const oslo = { city: 'Oslo' }

describe('arguments of a Gemini call in a separate part', () => {
  const forms: [name: string, parts: JsonObject[]][] = [
    ['after a name alone', [look({ name: 'look' }), look({ args: oslo })]],
    ['after empty arguments', [look({ name: 'look', args: {} }), look({ args: oslo })]],
    ['with an empty name', [look({ name: 'look', args: {} }), look({ name: '', args: oslo })]],
    ['behind a text', [look({ name: 'look' }), { text: 'So.' }, look({ args: oslo })]],
    ['before an empty part', [look({ name: 'look' }), look({ args: oslo }), look({})]],
    ['told twice', [look({ name: 'look', args: oslo }), look({ args: oslo })]],
    ['before an end that says nothing', [look({ name: 'look', willContinue: true }), look({ args: oslo, willContinue: true }), look({})]],
    [
      'after pieces, as a whole',
      [
        look({ name: 'look', willContinue: true }),
        look({ partialArgs: [{ jsonPath: '$.city', stringValue: 'Os', willContinue: true }], willContinue: true }),
        look({ args: oslo }),
      ],
    ],
  ]
  it.each(forms)('F11 %s: belong to one call', async (_name, parts) => {
    const response = await answer(...parts)
    expect(callsOf(response)).toEqual([['', 'look', '{"city":"Oslo"}']])
    expect(response.finishReason).toBe('tool_calls')
  })

  it('F11 belong to the call with their id, or to the last one', async () => {
    const rome = { city: 'Rome' }
    const begun = [look({ id: 'a', name: 'look' }), look({ id: 'b', name: 'look' })]
    const expected = [
      ['a', 'look', '{"city":"Oslo"}'],
      ['b', 'look', '{"city":"Rome"}'],
    ]
    expect(callsOf(await answer(...begun, look({ id: 'a', args: oslo }), look({ id: 'b', args: rome })))).toEqual(expected)
    expect(callsOf(await answer(...begun, look({ id: 'b', args: rome }), look({ id: 'a', args: oslo })))).toEqual(expected)
    expect(
      callsOf(await answer(look({ id: 'a', name: 'look' }), look({ args: oslo }), look({ id: 'b', name: 'look' }), look({ args: rome }))),
    ).toEqual(expected)
    const piece = (id: string, stringValue: string, willContinue: boolean): JsonObject =>
      look({ id, partialArgs: [{ jsonPath: '$.city', stringValue, willContinue }], willContinue })
    expect(
      callsOf(await answer(...begun, piece('a', 'Os', true), piece('b', 'Ro', true), piece('a', 'lo', false), piece('b', 'me', false))),
    ).toEqual(expected)
    const named = (id: string, args: JsonObject): JsonObject => look({ id, name: 'look', args })
    expect(callsOf(await answer(named('a', {}), named('b', {}), named('a', oslo), named('b', rome)))).toEqual(expected)
    expect(callsOf(await answer(look({ name: 'look' }), look({ id: 'late', args: oslo })))).toEqual([['', 'look', '{"city":"Oslo"}']])
  })

  it('F9 calls of a blocked prompt are dropped, whatever the candidate says', async () => {
    for (const finishReason of ['STOP', undefined]) {
      const candidate = {
        index: 0,
        content: { role: 'model', parts: [look({ name: 'look', args: oslo })] },
        ...(finishReason ? { finishReason } : {}),
      }
      const body = { candidates: [candidate], promptFeedback: { blockReason: 'SAFETY' } }
      await using server = await startStrictProvider({ script: [{ events: [body] }, { body }] })
      const model = createModel({ provider: 'google', model: 'gemini-3.5-flash', apiKey: 'k', baseURL: server.url, maxRetries: 0 })
      for (const stream of [true, false]) {
        expect(await ask(model, { stream })).toMatchObject({ finishReason: 'content_filter', rawFinishReason: 'SAFETY', toolCalls: [] })
      }
    }
  })

  it('F11 a call that never gets arguments has none; two sets of arguments fail to parse', async () => {
    expect(callsOf(await answer(look({ name: 'look' })))).toEqual([['', 'look', '{}']])
    const [[, , json] = []] = callsOf(await answer(look({ name: 'look', args: oslo }), look({ args: { city: 'Rome' } })))
    expect(() => JSON.parse(String(json))).toThrow()
  })

  it('F11 the tool runs once, with its arguments', async () => {
    const tool = countingTool('look')
    const parts = [look({ name: 'look', args: {} }), look({ args: { a: 1 } })]
    await using server = await startStrictProvider({ script: [{ events: chunksOf(parts) }, 'done'] })
    const model = createModel({ provider: 'google', model: 'gemini-3.5-flash', apiKey: 'k', baseURL: server.url, maxRetries: 0 })
    expect(await new AgentRunner({ model, tools: [tool.tool] }).run('go')).toMatchObject({ stopReason: 'answered', output: 'done' })
    expect(tool.calls).toEqual([{ a: 1 }])
  })

  it('F11 a signature on the later part is sent back on the call', async () => {
    const parts = [look({ name: 'look' }), { ...look({ args: oslo }), thoughtSignature: 'U2ln' }]
    expect(await sentBack(await answer(...parts))).toMatchObject([{ functionCall: { name: 'look', args: oslo }, thoughtSignature: 'U2ln' }])
  })
})

/** The parts of the response that are sent back with the next request. */
async function sentBack({ text, toolCalls, providerData }: ModelResponse): Promise<JsonObject[]> {
  await using server = await startStrictProvider({ script: ['ok'] })
  const model = createModel({ provider: 'google', model: 'gemini-3.5-flash', apiKey: 'k', baseURL: server.url, maxRetries: 0 })
  const said: ChatMessage = { role: 'assistant', content: text, toolCalls, ...(providerData === undefined ? {} : { providerData }) }
  const results = toolCalls.map(({ id }): ChatMessage => ({ role: 'tool', content: 'done', toolCallId: id }))
  await ask(model, { messages: [...hello, said, ...results] })
  const contents = (server.requests[0]?.body.contents ?? []) as { parts: JsonObject[] }[]
  return contents[1]?.parts ?? []
}

describe('signatures of Gemini', () => {
  const call = look({ id: 'a', name: 'look', args: oslo })
  const signed = { text: 'I look.', thoughtSignature: 'U2ln' }
  const signatures = (parts: JsonObject[]) => parts.map(({ thoughtSignature }) => thoughtSignature)
  const standIn = 'skip_thought_signature_validator'

  it('F11 a call after a signed text gets no placeholder', async () => {
    expect(signatures(await sentBack(await answer(signed, call)))).toEqual(['U2ln', undefined])
    expect(signatures(await sentBack(await answer({ text: 'I look.' }, { text: '', thoughtSignature: 'U2ln' }, call)))).toEqual([
      undefined,
      'U2ln',
      undefined,
    ])
  })

  it('F11 a call after an unsigned text does, even if a text after it is signed', async () => {
    expect(signatures(await sentBack(await answer({ text: 'I look.' }, call)))).toEqual([undefined, standIn])
    expect(signatures(await sentBack(await answer(call, signed)))).toEqual([standIn, 'U2ln'])
  })
})
