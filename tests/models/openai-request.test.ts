import { describe, expect, expectTypeOf, it } from 'vitest'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import type { ModelRequest, ToolChoice } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { messagesFromOpenAI } from '../../src/models/openai/from-openai.ts'
import type { ToolDefinition } from '../../src/tools/tool.ts'
import { eventStream, startServer, textEvents } from './local-server.ts'
import { hello, send } from './one-request.ts'

const weather: ToolDefinition = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const time: ToolDefinition = {
  type: 'function',
  function: { name: 'get_time', description: 'The time.', parameters: { type: 'object', properties: {} }, strict: true },
}
describe('requests to a Chat Completions server', () => {
  it('S0-1 S0-5 S2-1 S2-19 S2-34 S3-4 S4-19 send tools, in order, to chat completions through the SDK, as a stream', async () => {
    const { sent, body } = await send({ tools: [weather, time] })
    expect([sent.method, sent.url]).toEqual(['POST', '/v1/chat/completions'])
    expect(sent.headers).toMatchObject({ authorization: 'Bearer test-key', 'content-type': 'application/json' })
    expect(sent.headers['user-agent']).toMatch(/^OpenAI\/JS /)
    expect(body).toEqual({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [weather, time],
      stream: true,
      stream_options: { include_usage: true },
    })
    expect((await send({ tools: [time] }, { provider: 'ollama' })).body.tools).toEqual([
      { type: 'function', function: { name: 'get_time', description: 'The time.', parameters: { type: 'object', properties: {} } } },
    ])
  })

  it('S0-6 have no field about tools if there are none', async () => {
    for (const tools of [undefined, []]) {
      const { sent } = await send({ ...(tools ? { tools } : {}), toolChoice: 'required', parallelToolCalls: false })
      expect(sent.text).not.toMatch(/tool/)
    }
  })

  it('S0-7 have their own tools, not those of the request before', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'k', baseURL: server.baseURL })
    const tools = [weather]
    await model.generate({ messages: hello, tools })
    tools[0] = time
    await model.generate({ messages: hello, tools })
    await model.generate({ messages: hello, tools: [] })
    expect(server.requests.map(({ body }) => body.tools)).toEqual([[weather], [time], undefined])
  })

  it('S0-3 have the exact system message, with no trace of the tools', async () => {
    const system = 'Be brief.\n\n  <b>"quoted"</b> \u2028 東京 🗼 \\n '
    const { body } = await send({ messages: [{ role: 'system', content: system }, ...hello], tools: [weather] })
    expect(body.messages).toEqual([
      { role: 'system', content: system },
      { role: 'user', content: 'Hello' },
    ])
  })

  it('S2-6 S2-20 S3-5 have the tool choice, and no such field if there is none', async () => {
    const named: ToolChoice = { type: 'function', function: { name: 'get_weather' } }
    expectTypeOf<ToolChoice>().toEqualTypeOf<'auto' | 'none' | 'required' | { type: 'function'; function: { name: string } }>()
    for (const toolChoice of ['auto', 'none', 'required', named] as const) {
      expect((await send({ tools: [weather], toolChoice })).body.tool_choice).toEqual(toolChoice)
    }
    expect((await send({ tools: [weather] })).body).not.toHaveProperty('tool_choice')
  })

  it('S2-2 S2-7 S2-8 S2-9 S2-10 S2-11 S2-21 S2-51 S2-54 map messages, calls and results', async () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: 'Weather?', name: 'anna' },
      {
        role: 'assistant',
        content: 'I will look.',
        toolCalls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city": "Tokyo"}' } }],
      },
      { role: 'tool', content: '21 °C', toolCallId: 'call_1', name: 'get_weather', isError: false },
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_2', type: 'function', function: { name: 'get_time', arguments: '' } }] },
      { role: 'tool', content: 'failed', toolCallId: 'call_2', isError: true },
      { role: 'assistant', content: 'Warm.' },
    ]
    expect((await send({ messages })).body.messages).toEqual([
      { role: 'user', content: 'Weather?', name: 'anna' },
      {
        role: 'assistant',
        content: 'I will look.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city": "Tokyo"}' } }],
      },
      { role: 'tool', content: '21 °C', tool_call_id: 'call_1' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_2', type: 'function', function: { name: 'get_time', arguments: '{}' } }],
      },
      { role: 'tool', content: 'failed', tool_call_id: 'call_2' },
      { role: 'assistant', content: 'Warm.' },
    ])
  })

  it('S2-14 have sampling settings under the API’s names', async () => {
    const { body, response } = await send({
      temperature: 0.2,
      topP: 0.9,
      maxOutputTokens: 50,
      stop: ['END'],
      seed: 7,
      frequencyPenalty: 0.1,
      presencePenalty: 0.3,
      parallelToolCalls: false,
      tools: [weather],
    })
    expect(body).toMatchObject({
      temperature: 0.2,
      top_p: 0.9,
      max_completion_tokens: 50,
      stop: ['END'],
      seed: 7,
      frequency_penalty: 0.1,
      presence_penalty: 0.3,
      parallel_tool_calls: false,
    })
    expect(response.warnings).toBeUndefined()
  })

  it('have provider options in the body unchanged; the request’s override the settings’', async () => {
    const { body } = await send(
      { providerOptions: { user: 'u2', nested: { a: [1] } } },
      { providerOptions: { user: 'u1', logit_bias: {} } },
    )
    expect(body).toMatchObject({ user: 'u2', nested: { a: [1] }, logit_bias: {} })
  })

  it('S2-38 have a provider’s own tools only as provider options, after the others', async () => {
    const theirs = { type: 'builtin_function', function: { name: '$web_search' } }
    expect((await send({ tools: [weather], providerOptions: { tools: [theirs] } })).body.tools).toEqual([weather, theirs])
    expect((await send({ providerOptions: { tools: [theirs], messages: [] } })).body).toMatchObject({
      tools: [theirs],
      messages: [{ role: 'user', content: 'Hello' }],
    })
  })

  it('ask for a response without a stream if told to', async () => {
    const { body } = await send({ stream: false })
    expect(body.stream).toBe(false)
    expect(body).not.toHaveProperty('stream_options')
  })

  it('convert a frozen message once and an unfrozen one each time', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'k', baseURL: server.baseURL })
    let reads = 0
    const frozen: ChatMessage = Object.freeze({
      role: 'user',
      get content() {
        reads++
        return 'frozen'
      },
    })
    const loose = { role: 'user' as const, content: 'before' }
    await model.generate({ messages: [frozen, loose] })
    const readsOnce = reads
    loose.content = 'after'
    await model.generate({ messages: [frozen, loose] })
    expect(reads).toBe(readsOnce)
    expect(server.requests.map(({ body }) => body.messages)).toEqual(
      ['before', 'after'].map((content) => [
        { role: 'user', content: 'frozen' },
        { role: 'user', content },
      ]),
    )
  })

  it('have images and files if they are accepted, otherwise a note with a warning', async () => {
    const content: ChatMessage['content'] = [
      { type: 'text', text: 'See' },
      { type: 'image', data: 'aGk=', mediaType: 'image/png' },
      { type: 'file', data: 'aGk=', mediaType: 'application/pdf', name: 'a.pdf' },
      { type: 'file', url: 'https://example.com/b.pdf' },
    ]
    const full = await send({ messages: [{ role: 'user', content }] })
    expect(full.body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,aGk=', filename: 'a.pdf' } },
          { type: 'text', text: '[file not shown]' },
        ],
      },
    ])
    expect(full.response.warnings).toEqual([expect.stringContaining("type 'file'")])
    const none = await send({ messages: [{ role: 'user', content }] }, { provider: 'deepseek' })
    expect(none.sent.text).not.toContain('aGk=')
    expect(none.response.warnings).toHaveLength(2)
  })

  it('have a tool’s result as text, with a note for unsupported parts', async () => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', type: 'function', function: { name: 'shoot', arguments: '{}' } }] },
      {
        role: 'tool',
        toolCallId: 'c',
        content: [
          { type: 'text', text: 'a picture' },
          { type: 'file', data: 'aGk=', mediaType: 'text/csv' },
        ],
      },
    ]
    const list = await send({ messages })
    expect(list.body.messages).toMatchObject([
      {},
      {
        content: [
          { type: 'text', text: 'a picture' },
          { type: 'text', text: '[file not shown]' },
        ],
      },
    ])
    const joined = await send({ messages }, { provider: 'vllm' })
    expect(joined.body.messages).toMatchObject([{}, { content: 'a picture\n[file not shown]' }])
    expect(joined.response.warnings).toEqual([expect.stringContaining("type 'file'")])
  })

  it('Q16 replay arguments that are not an object as {}, unless the server is known to accept them, and empty ones everywhere', async () => {
    const call = (id: string, json: string) => ({ id, type: 'function' as const, function: { name: 'f', arguments: json } })
    const messages: ChatMessage[] = [
      { role: 'assistant', content: '', toolCalls: [call('a', '{"x":'), call('b', '[1]'), call('c', ' '), call('d', '{"x":1}')] },
    ]
    const sentTo = async (provider: string) => {
      const { body } = await send({ messages }, { provider })
      const [message] = body.messages as { tool_calls: { function: { arguments: string } }[] }[]
      return message?.tool_calls.map((one) => one.function.arguments)
    }
    expect(await sentTo('ollama')).toEqual(['{}', '{}', '{}', '{"x":1}'])
    // It is unknown what an unknown server requires.
    expect(await sentTo('custom')).toEqual(['{}', '{}', '{}', '{"x":1}'])
    expect(await sentTo('openai')).toEqual(['{"x":', '[1]', '{}', '{"x":1}'])
    expect(messages[0]).toMatchObject({ toolCalls: [{ function: { arguments: '{"x":' } }, {}, {}, {}] })
  })

  it('Q17 H18 replace ids that a provider refuses, alike in call and result, always in the same way', async () => {
    const ids = ['call_with_a_name_longer_than_the_forty_characters_allowed', 'call_short', 'toolu:01/x', 'abcDEF123']
    const messages: ChatMessage[] = [
      { role: 'assistant', content: '', toolCalls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })) },
      ...ids.map((toolCallId) => ({ role: 'tool' as const, toolCallId, content: 'x' })),
    ]
    const sentTo = async (provider: string) => {
      const { body } = await send({ messages }, { provider })
      const [calls, ...results] = body.messages as { tool_calls: { id: string }[]; tool_call_id: string }[]
      const sent = calls?.tool_calls.map(({ id }) => id) ?? []
      expect(results.map((result) => result.tool_call_id)).toEqual(sent)
      expect(new Set(sent).size).toBe(ids.length)
      return sent
    }
    const mistral = await sentTo('mistral')
    expect(mistral.every((id) => /^[a-zA-Z0-9]{9}$/.test(id))).toBe(true)
    expect(mistral[3]).toBe('abcDEF123')
    expect(await sentTo('mistral')).toEqual(mistral)
    const openai = await sentTo('openai')
    expect(openai.slice(1)).toEqual(ids.slice(1))
    expect(openai[0]).toHaveLength(32)
    expect(await sentTo('vllm')).toEqual(ids)
  })

  it('Q17 follow each provider’s quirks, with warnings about what was left out', async () => {
    const request: Partial<ModelRequest> = {
      maxOutputTokens: 9,
      seed: 3,
      reasoningEffort: 'high',
      parallelToolCalls: false,
      toolChoice: { type: 'function', function: { name: 'get_time' } },
      tools: [time],
    }
    const bodies: Record<string, JsonObject> = {
      mistral: { max_tokens: 9, random_seed: 3, reasoning_effort: 'high', parallel_tool_calls: false },
      groq: { max_completion_tokens: 9, seed: 3, reasoning_effort: 'high', stream_options: { include_usage: true } },
      openrouter: { max_tokens: 9, reasoning: { effort: 'high' } },
      deepseek: { reasoning_effort: 'high' },
      lmstudio: { tool_choice: 'required' },
    }
    const absent: Record<string, string[]> = {
      mistral: ['seed', 'stream_options'],
      groq: ['max_tokens'],
      openrouter: ['reasoning_effort'],
      deepseek: ['tool_choice', 'parallel_tool_calls', 'seed'],
      lmstudio: ['parallel_tool_calls'],
    }
    const warned: Record<string, number> = { mistral: 0, groq: 1, openrouter: 1, deepseek: 4, lmstudio: 3 }
    for (const [provider, expected] of Object.entries(bodies)) {
      const { body, response } = await send(request, { provider, model: 'some-model' })
      expect(body).toMatchObject(expected)
      for (const key of absent[provider] ?? []) expect(body).not.toHaveProperty(key)
      expect(response.warnings ?? []).toHaveLength(warned[provider] ?? 0)
    }
  })

  it('Q17 leave out what a model of a provider does not accept', async () => {
    const { body, response } = await send({ temperature: 0, stop: ['x'], reasoningEffort: 'low' }, { model: 'gpt-5-mini' })
    expect(body).not.toHaveProperty('temperature')
    expect(body).not.toHaveProperty('stop')
    expect(body.reasoning_effort).toBe('low')
    expect(response.warnings).toEqual([expect.stringContaining('`temperature`'), expect.stringContaining('`stop`')])
    for (const model of ['gpt-5.2', 'gpt-5-chat-latest', 'gpt-4.1'])
      expect((await send({ temperature: 0 }, { model })).body.temperature).toBe(0)
  })

  it('Q17 have no forced choice for Kimi while it thinks, and one while it does not', async () => {
    const settings = { provider: 'moonshot', model: 'kimi-k2.6' }
    const thinking = await send({ tools: [weather], toolChoice: 'required' }, settings)
    expect(thinking.body).not.toHaveProperty('tool_choice')
    expect(thinking.response.warnings).toEqual([expect.stringContaining('"required"')])
    const not = await send({ tools: [weather], toolChoice: 'required', reasoningEffort: 'none' }, settings)
    expect(not.body).toMatchObject({ tool_choice: 'required', thinking: { type: 'disabled' } })
    expect((await send({ tools: [weather], toolChoice: 'none' }, settings)).body.tool_choice).toBe('none')
  })

  it('Q17 let settings override any quirk', async () => {
    const quirks = {
      maxTokensField: 'max_completion_tokens',
      streamOptions: false,
      strictTools: true,
      toolChoice: ['auto'],
      reasoningEffort: false,
    }
    const { body, response } = await send(
      { maxOutputTokens: 5, tools: [time], toolChoice: 'none', reasoningEffort: 'low' },
      { provider: 'custom', quirks },
    )
    expect(body).toEqual({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], stream: true, max_completion_tokens: 5 })
    expect(response.warnings).toEqual([expect.stringContaining('reasoningEffort'), expect.stringContaining('tools were left out')])
  })

  it('Q17 have a developer message as system if the role is unknown', async () => {
    const messages = messagesFromOpenAI([{ role: 'developer', content: 'Be brief.' }])
    expect((await send({ messages })).body.messages).toEqual([{ role: 'developer', content: 'Be brief.' }])
    expect((await send({ messages }, { provider: 'deepseek' })).body.messages).toEqual([{ role: 'system', content: 'Be brief.' }])
  })

  it('Q11 have the reasoning field that DeepSeek and Kimi require, even after another provider', async () => {
    const call = { id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{}' } }
    const foreign: ChatMessage[] = [
      {
        role: 'assistant',
        content: '',
        toolCalls: [call],
        providerData: { provider: 'openai', data: { reasoning: { field: 'reasoning', text: 'secret' } } },
      },
    ]
    const sentTo = async (provider: string, model: string) => (await send({ messages: foreign }, { provider, model })).body.messages
    expect(await sentTo('deepseek', 'deepseek-flash')).toMatchObject([{ reasoning_content: '' }])
    expect(await sentTo('moonshot', 'kimi-k2.6')).toMatchObject([{ reasoning_content: ' ' }])
    expect(JSON.stringify(await sentTo('vllm', 'any'))).not.toContain('reasoning')
  })
})
