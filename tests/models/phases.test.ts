import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { countingTool } from '../hazards/tools.ts'
import { hello } from './one-request.ts'
import { ask } from './replay.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const { logger } = recordingLogger()

function said(id: string, phase: string | undefined, text: string): JsonObject {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { id, type: 'message', role: 'assistant', status: 'completed', ...(phase === undefined ? {} : { phase }), content }
}

function whole(output: JsonObject[]): MockReply {
  const usage = { input_tokens: 5, output_tokens: 5, total_tokens: 10 }
  return { body: { id: 'r', object: 'response', status: 'completed', output, usage } }
}

/** The items in pieces of four characters. */
function streamed(output: JsonObject[]): MockReply {
  const events = output.flatMap((item, index): JsonObject[] => {
    const [part] = Array.isArray(item.content) ? (item.content as JsonObject[]) : []
    const place = { output_index: index, item_id: item.id ?? '', content_index: 0 }
    const pieces = String(part?.text ?? '').match(/.{1,4}/gs) ?? []
    return [
      { type: 'response.output_item.added', output_index: index, item: { ...item, ...(part === undefined ? {} : { content: [] }) } },
      ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
      { type: 'response.output_item.done', output_index: index, item },
    ]
  })
  return { events: [...events, { type: 'response.completed', response: { id: 'r', status: 'completed' } }] }
}

const call: JsonObject = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}', status: 'completed' }
const commented = [said('m2', 'commentary', 'The tool says sun.'), said('m3', 'final_answer', 'Sunny.')]

describe.each([true, false])('phases of an answer of the Responses API (streaming: %s)', (stream) => {
  const open = async (...outputs: JsonObject[][]) => {
    const server = await startStrictProvider({ script: outputs.map((output) => (stream ? streamed(output) : whole(output))) })
    const model = createModel({ provider: 'openai-responses', model: 'gpt-5.4', apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 })
    return { server, model, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
  }

  it('F10 the answer is the final phase; the commentary is shown before it and kept', async () => {
    await using on = await open([said('m1', 'commentary', 'Let me look.'), call], commented, [said('m4', 'final_answer', 'Bye.')])
    const runner = new AgentRunner({ model: on.model, tools: [countingTool('look').tool], stream, logger })
    let shown = ''
    runner.on(Event.TEXT_DELTA, ({ text }) => {
      shown += text
    })
    const first = await runner.run('Weather?')
    expect(first).toMatchObject({ stopReason: 'answered', output: 'Sunny.' })
    expect(first.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'The tool says sun.\n\nSunny.' })
    expect(shown).toBe('Let me look.The tool says sun.\n\nSunny.')

    await runner.run([...first.messages, { role: 'user', content: 'Bye' }])
    const input = (on.server.requests[2]?.body.input ?? []) as JsonObject[]
    expect(input.filter(({ role }) => role === 'assistant')).toEqual([
      { role: 'assistant', content: 'Let me look.', phase: 'commentary' },
      { role: 'assistant', content: 'The tool says sun.', phase: 'commentary' },
      { role: 'assistant', content: 'Sunny.', phase: 'final_answer' },
    ])
  })

  it('F10 only commentary, only final messages, and messages without a phase are the answer', async () => {
    await using on = await open(
      [said('m1', 'commentary', 'One.'), said('m2', 'commentary', 'Two.')],
      [said('m1', 'final_answer', 'One.'), said('m2', 'final_answer', 'Two.')],
      [said('m1', undefined, 'One. '), said('m2', undefined, 'Two.')],
      [said('m1', 'commentary', 'One.'), said('m2', undefined, 'Two.'), said('m3', 'final_answer', 'Three.')],
      [said('m1', 'commentary', 'One.'), said('m2', undefined, 'Two.')],
      [said('m1', undefined, 'One.'), said('m2', 'final_answer', 'Two.')],
    )
    const answers: unknown[] = []
    for (let at = 0; at < 6; at++) {
      const { text, answer } = await ask(on.model, { stream })
      answers.push([text, answer])
    }
    expect(answers).toEqual([
      ['One.\n\nTwo.', undefined],
      ['One.\n\nTwo.', undefined],
      ['One. Two.', undefined],
      ['One.\n\nTwo.\n\nThree.', 'Three.'],
      ['One.\n\nTwo.', 'Two.'],
      ['One.\n\nTwo.', 'Two.'],
    ])
  })

  it('F10 an answer with a schema is read from the final phase', async () => {
    await using on = await open([said('m1', 'commentary', 'I count {one}.'), said('m2', 'final_answer', '{"count":1}')])
    const output = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] } as const
    const result = await new AgentRunner({ model: on.model, stream, logger }).run('Count.', { output })
    expect(result).toMatchObject({ stopReason: 'answered', output: { count: 1 } })
  })

  it('F10 a hook that changes the text decides; one that changes the commentary keeps the answer', async () => {
    await using on = await open(commented, commented)
    const run = (change: (text: string) => string) =>
      new AgentRunner({ model: on.model, hooks: [{ name: 'h', afterModel: ({ text }) => ({ text: change(text) }) }], stream, logger }).run(
        'go',
      )
    expect(await run((text) => text.toUpperCase())).toMatchObject({ output: 'THE TOOL SAYS SUN.\n\nSUNNY.' })
    expect(await run((text) => text.replace('The tool', 'It'))).toMatchObject({ output: 'Sunny.' })
  })

  it('F10 a changed message, or one for another provider, is one text', async () => {
    await using on = await open(commented, [said('m4', 'final_answer', 'Bye.')])
    const { text, providerData } = await ask(on.model, { stream })
    const changed: ChatMessage = { role: 'assistant', content: `${text}!`, ...(providerData === undefined ? {} : { providerData }) }
    await ask(on.model, { stream, messages: [...hello, changed, ...hello] })
    const input = (on.server.requests[1]?.body.input ?? []) as JsonObject[]
    expect(input[1]).toEqual({ role: 'assistant', content: 'The tool says sun.\n\nSunny.!' })
  })
})

describe('texts with something else between them', () => {
  it('F10 are separated in the Messages API, and are sent back unchanged', async () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rain' } }
    const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
    const text = (words: string) => ({ type: 'text', text: words })
    const content = [text('I search.'), search, found, text('It rains'), text(', says the page.')]
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', stop_reason: 'end_turn', content }
    const events = content.flatMap((block, index): JsonObject[] => [
      { type: 'content_block_start', index, content_block: 'text' in block ? { type: 'text', text: '' } : block },
      ...('text' in block ? [{ type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text } }] : []),
      { type: 'content_block_stop', index },
    ])
    const begin: JsonObject[] = [{ type: 'message_start', message: { ...message, content: [], stop_reason: null } }, ...events]
    const end: JsonObject[] = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, { type: 'message_stop' }]
    await using server = await startStrictProvider({ script: [{ body: message }, 'ok', { events: [...begin, ...end] }] })
    const model = createModel({ provider: 'anthropic', model: 'claude-x', apiKey: 'sk-ant-t', baseURL: server.url, maxRetries: 0 })
    const response = await ask(model, { stream: false })
    expect(response.text).toBe('I search.\n\nIt rains, says the page.')
    const { providerData } = response
    const said: ChatMessage = { role: 'assistant', content: response.text, ...(providerData === undefined ? {} : { providerData }) }
    await ask(model, { stream: false, messages: [...hello, said, ...hello] })
    expect(server.requests[1]?.body).toMatchObject({ messages: [{}, { content }, {}] })
    expect(await ask(model)).toEqual(response)
  })

  it('F10 are separated in Gemini, and are sent back unchanged', async () => {
    const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } }
    const parts = [{ text: 'I run it.' }, code, { text: 'It is' }, { text: ' 1.' }]
    const body = { candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }] }
    await using server = await startStrictProvider({ script: [{ body }, 'ok'] })
    const model = createModel({ provider: 'google', model: 'gemini-x', apiKey: 'k', baseURL: server.url, maxRetries: 0 })
    const response = await ask(model, { stream: false })
    expect(response.text).toBe('I run it.\n\nIt is 1.')
    const { providerData } = response
    const said: ChatMessage = { role: 'assistant', content: response.text, ...(providerData === undefined ? {} : { providerData }) }
    await ask(model, { stream: false, messages: [...hello, said, ...hello] })
    const back = { parts: [{ text: 'I run it.' }, code, { text: 'It is 1.' }] }
    expect(server.requests[1]?.body).toMatchObject({ contents: [{}, back, {}] })
  })
})
