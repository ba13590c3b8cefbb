import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/index.ts'
import { createModel } from '../../src/models/create-model.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { countingTool } from '../hazards/tools.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { json, startService, token } from './start-service.ts'

const weather = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'The weather.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

async function startWithClient(options: Parameters<typeof startService>[0]) {
  const started = await startService(options)
  return { ...started, client: new OpenAI({ baseURL: `${started.url}/v1`, apiKey: token, maxRetries: 0 }) }
}

const usage = { inputTokens: 10, outputTokens: 5 }

describe('POST /v1/chat/completions, by the official client', () => {
  it('runs a tool loop of the client’s own, with whole responses', async () => {
    const model = scriptedModel([
      { text: 'I look.', toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }], usage },
      { text: 'Sunny.', usage },
    ])
    const { client } = await startWithClient({ model })
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Weather in Oslo?' }]
    const first = await client.chat.completions.create({ model: 'toolloop', messages, tools: [weather] })
    const [choice] = first.choices
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { role: 'assistant', content: 'I look.' } })
    expect(first.usage).toEqual({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })
    const call = choice?.message.tool_calls?.[0]
    if (choice === undefined || call?.type !== 'function') throw new Error('no call')
    expect(call.function).toEqual({ name: 'weather', arguments: '{"city":"Oslo"}' })
    messages.push(choice.message, { role: 'tool', tool_call_id: call.id, content: 'sunny' })
    const second = await client.chat.completions.create({ model: 'toolloop', messages, tools: [weather] })
    expect(second.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'Sunny.' } })
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    // Of a whole response, nothing arrives before its end, so that a silent provider would not be noticed.
    expect(model.requests.map(({ stream }) => stream)).toEqual([undefined, undefined])
  })

  it('runs it streaming too, with the agent’s own tools run in between', async () => {
    const own = countingTool('look')
    const model = scriptedModel([
      { text: 'First.', toolCalls: [{ name: 'look' }], usage },
      {
        text: 'Then.',
        toolCalls: [
          { name: 'weather', arguments: { city: 'Oslo' } },
          { name: 'weather', arguments: { city: 'Lima' } },
        ],
        usage,
      },
      { text: 'Done.', usage },
    ])
    const { client } = await startWithClient({ model, tools: [own.tool] })
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Go.' }]
    const stream = client.chat.completions.stream({
      model: 'toolloop',
      messages,
      tools: [weather],
      stream_options: { include_usage: true },
    })
    const first = await stream.finalChatCompletion()
    expect(own.calls).toHaveLength(1)
    const [choice] = first.choices
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'First.\n\nThen.' } })
    expect(first.usage?.total_tokens).toBe(30)
    const calls = choice?.message.tool_calls ?? []
    expect(calls.map((call) => call.type === 'function' && call.function.arguments)).toEqual(['{"city":"Oslo"}', '{"city":"Lima"}'])
    if (choice !== undefined) messages.push(choice.message)
    for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'sunny' })
    let text = ''
    for await (const chunk of await client.chat.completions.create({ model: 'toolloop', messages, tools: [weather], stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe('Done.')
  })

  it('lists the agents as models, and no others', async () => {
    const { client } = await startWithClient({ model: scriptedModel(['hi']) })
    const { data } = await client.models.list()
    expect(data.map(({ id }) => id)).toEqual(['toolloop'])
    expect(await client.models.retrieve('toolloop')).toEqual(data[0])
    await expect(client.models.retrieve('gpt-99')).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
    const asked = client.chat.completions.create({ model: 'gpt-99', messages: [{ role: 'user', content: 'x' }] })
    await expect(asked).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
  })

  it('returns JSON of a schema, and nothing else', async () => {
    const model = scriptedModel([
      { text: 'Let me see.', toolCalls: [{ name: 'look' }] },
      { toolCalls: [{ name: 'final_answer', arguments: { n: 3 } }] },
    ])
    const { client } = await startWithClient({ model, tools: [countingTool('look').tool] })
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false }
    const response = await client.chat.completions.create({
      model: 'toolloop',
      messages: [{ role: 'user', content: 'how many' }],
      response_format: { type: 'json_schema', json_schema: { name: 'count', schema } },
    })
    expect(response.choices[0]?.message.content).toBe('{"n":3}')
  })

  it('passes on sampling options, and refuses unsupported ones that would change the answer', async () => {
    const model = scriptedModel(['ok'])
    const { client } = await startWithClient({ model })
    const messages = [{ role: 'user' as const, content: 'x' }]
    await client.chat.completions.create({
      model: 'toolloop',
      messages,
      temperature: 0.5,
      max_completion_tokens: 7,
      stop: 'END',
      user: 'u',
    })
    expect(model.requests[0]).toMatchObject({ temperature: 0.5, maxOutputTokens: 7, stop: ['END'] })
    await expect(client.chat.completions.create({ model: 'toolloop', messages, n: 2 })).rejects.toMatchObject({ status: 400, param: 'n' })
    await expect(client.chat.completions.create({ model: 'toolloop', messages, logprobs: true })).rejects.toMatchObject({
      param: 'logprobs',
    })
  })

  it('accepts null for absent fields, as clients send it, and ignores fields without effect', async () => {
    const { post } = await startWithClient({ model: scriptedModel(['ok', 'ok']) })
    const fields = 'stream stream_options tools tool_choice parallel_tool_calls response_format n logprobs logit_bias functions modalities'
    const absent = Object.fromEntries(`${fields} temperature stop max_tokens reasoning_effort`.split(' ').map((name) => [name, null]))
    const harmless = { user: 'u', metadata: {}, store: false, service_tier: 'auto', verbosity: 'low', logit_bias: {}, modalities: ['text'] }
    const messages = [{ role: 'user', content: 'x', name: 'ann' }]
    for (const more of [absent, harmless]) {
      const response = await post('/v1/chat/completions', { model: 'toolloop', messages, ...more })
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"content":"ok"')])
    }
  })

  it('refuses an option that would change the answer, by its name', async () => {
    const { post } = await startWithClient({ model: scriptedModel(['ok']) })
    const image = { type: 'image_url', image_url: 'https://example.com/a.png' }
    for (const [param, more] of [
      ['functions', { functions: [{ name: 'a' }] }],
      ['logit_bias', { logit_bias: { 50256: -100 } }],
      ['modalities', { modalities: ['text', 'audio'] }],
      ['web_search_options', { web_search_options: {} }],
      ['tool_choice.function.name', { tool_choice: { type: 'function', function: { name: 'not_there' } } }],
      ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
      [
        'response_format.json_schema.schema.type',
        { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'array' } } } },
      ],
      [
        'messages.0.content.0',
        { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }] }] },
      ],
      ['messages.0.content.1', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, image] }] }],
      ['messages.0.content.0', { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] }],
    ] as const) {
      const response = await post('/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content: 'x' }], ...more })
      expect([response.status, (await json(response)).error]).toEqual([400, expect.objectContaining({ param, code: 'invalid_request' })])
    }
  })

  it('reports the kind of the model’s failure, in OpenAI’s terms', async () => {
    await using provider = await startStrictProvider({ faults: [{ status: 429, headers: { 'retry-after': '7' } }] })
    const model = { provider: 'custom', model: 'm', baseURL: provider.baseURL, maxRetries: 0 }
    const { client } = await startWithClient({ model })
    const asked = client.chat.completions.create({ model: 'toolloop', messages: [{ role: 'user', content: 'x' }] })
    const error = await asked.catch((thrown: unknown) => thrown)
    if (!(error instanceof OpenAI.APIError)) throw new Error('no error')
    expect([error.status, error.code, error.headers?.get('retry-after')]).toEqual([429, 'rate_limit_exceeded', '7'])
  })

  it('a stream that has to be closed ends with an error, which is all its readers get', async () => {
    const held = Promise.withResolvers<string>()
    const model = scriptedModel([{ chunks: ['a', held.promise] }])
    const stuck = defineTool({ name: 'stuck', description: 'Never ends.', execute: () => new Promise(() => {}) })
    const { service, post } = await startWithClient({ model, tools: [stuck] })
    const response = await post('/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content: 'x' }], stream: true })
    await service.drain(0)
    const text = await response.text()
    expect(text).toContain('"code":"')
    expect(text).not.toContain('event: CLOSE')
    held.resolve('')
  })

  it('reports failures in OpenAI’s format, whole and in the stream, and nobody retries them', async () => {
    const failing = () => scriptedModel([{ text: 'par', error: new Error('the key sk-abcdefghijklmnopqrstuvwx is bad') }])
    const { client } = await startWithClient({ model: failing() })
    const messages = [{ role: 'user' as const, content: 'x' }]
    const whole = await client.chat.completions.create({ model: 'toolloop', messages }).catch((error: unknown) => error)
    expect(whole).toMatchObject({ status: 502, code: 'provider_error', type: 'server_error' })
    expect(String(whole)).not.toContain('sk-abc')
    const { client: other } = await startWithClient({ model: failing() })
    const chunks: string[] = []
    const read = async () => {
      for await (const chunk of await other.chat.completions.create({ model: 'toolloop', messages, stream: true }))
        chunks.push(chunk.choices[0]?.delta.content ?? '')
    }
    await expect(read()).rejects.toThrow(/\[redacted\] is bad/)
    expect(chunks.join('')).toBe('par')
  })

  it('F21 a response that breaks off is requested again for a whole completion; a stream of chunks ends', async () => {
    const fault = { cutAfterBytes: 'content' as const }
    await using provider = await startStrictProvider({
      script: () => ({ text: 'It is lo' }),
      faults: ({ index }) => (index % 2 === 0 ? fault : undefined),
    })
    const agent = createModel({ provider: 'custom', model: 'm', baseURL: provider.baseURL, maxRetries: 1, maxRetryDelayMs: 1 })
    const { client } = await startWithClient({ model: agent })
    const request = { model: 'toolloop', messages: [{ role: 'user' as const, content: 'go' }] }
    const whole = await client.chat.completions.create(request)
    expect(whole.choices[0]?.message.content).toBe('It is lo')
    let shown = ''
    const reading = (async () => {
      const stream = await client.chat.completions.create({ ...request, stream: true })
      for await (const { choices } of stream) shown += choices[0]?.delta.content ?? ''
    })()
    await expect(reading).rejects.toThrow()
    expect([shown, provider.requests.length]).toEqual(['It is lo', 3])
  })

  it('F7 an answer that was cut has the finish reason `length`, whole and streamed', async () => {
    const half = { text: 'Half', finishReason: 'length', usage } as const
    const { client } = await startWithClient({ model: scriptedModel([half, half]) })
    const request = { model: 'toolloop', messages: [{ role: 'user' as const, content: 'x' }] }
    const { choices } = await client.chat.completions.create(request)
    expect(choices).toMatchObject([{ finish_reason: 'length', message: { content: 'Half' } }])
    const reasons: unknown[] = []
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
      const reason = chunk.choices[0]?.finish_reason
      if (reason) reasons.push(reason)
    }
    expect(reasons).toEqual(['length'])
  })

  it('F7 an answer that is continued is one text, whole and streamed, and one item of a response', async () => {
    const script = () => [{ text: 'Half', finishReason: 'length' as const }, ' and half.']
    const model = scriptedModel([...script(), ...script(), ...script()])
    const { client } = await startWithClient({ model, agent: { onTruncated: 'continue' } })
    const request = { model: 'toolloop', messages: [{ role: 'user' as const, content: 'x' }] }
    const { choices } = await client.chat.completions.create(request)
    expect(choices).toMatchObject([{ finish_reason: 'stop', message: { content: 'Half and half.' } }])
    let text = ''
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true }))
      text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('Half and half.')
    const { output, status } = await client.responses.create({ model: 'toolloop', input: 'x' })
    expect([status, output]).toMatchObject(['completed', [{ type: 'message', content: [{ text: 'Half and half.' }] }]])
  })

  it('F15 gives the client its call with decoded values', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'weather', arguments: '"{\\"city\\":\\"Oslo\\"}"' }] }])
    const { client } = await startWithClient({ model })
    const messages = [{ role: 'user' as const, content: 'Weather?' }]
    const { choices } = await client.chat.completions.create({ model: 'toolloop', messages, tools: [weather] })
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'weather', arguments: '{"city":"Oslo"}' } }])
  })

  it('doesn’t send the text of a nested run to the client', async () => {
    const inner = new AgentRunner({ model: scriptedModel(['Inside.']) })
    const think = defineTool({
      name: 'think',
      description: 'Thinks.',
      execute: async (_args, parent) => (await inner.run('x', { parent, forwardEvents: true })).text,
    })
    const { client } = await startWithClient({ model: scriptedModel([{ toolCalls: [{ name: 'think' }] }, 'Outside.']), tools: [think] })
    const { choices } = await client.chat.completions.create({ model: 'toolloop', messages: [{ role: 'user', content: 'x' }] })
    expect(choices[0]?.message.content).toBe('Outside.')
  })

  it('returns the result of a final tool, even if the text before it ends the same', async () => {
    const add = defineTool({ name: 'add', description: 'Adds.', final: true, execute: () => '4' })
    const model = scriptedModel([{ text: '2 + 2, not 2 + 4', toolCalls: [{ name: 'add' }] }])
    const { client } = await startWithClient({ model, tools: [add] })
    const { choices } = await client.chat.completions.create({ model: 'toolloop', messages: [{ role: 'user', content: 'x' }] })
    expect(choices[0]?.message.content).toBe('2 + 2, not 2 + 4\n\n4')
  })

  it('refuses a call that needs an approval, with the reason', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
    const model = scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'Not paid.'])
    const { client } = await startWithClient({ model, tools: [pay] })
    const response = await client.chat.completions.create({ model: 'toolloop', messages: [{ role: 'user', content: 'pay' }] })
    expect(response.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'Not paid.' } })
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('cannot be given here')
  })

  it('aborts the run when its reader disconnects', async () => {
    const model = scriptedModel([{ text: 'slow', hang: true }])
    const { client, service } = await startWithClient({ model })
    const ended = new Promise((resolve) => service.bus.on('RUN_END', ({ stopReason }) => resolve(stopReason)))
    for await (const chunk of await client.chat.completions.create({
      model: 'toolloop',
      messages: [{ role: 'user', content: 'x' }],
      stream: true,
    })) {
      if (chunk.choices[0]?.delta.content) break
    }
    expect(await ended).toBe('aborted')
  })

  it('aborts the run when the client that waits for the whole answer disconnects', async () => {
    await using provider = await startStrictProvider({ script: [{ text: '', hang: true }] })
    const { client, service } = await startWithClient({ model: { provider: 'custom', model: 'm', baseURL: provider.baseURL } })
    const ended = new Promise((resolve) => service.bus.on('RUN_END', ({ stopReason }) => resolve(stopReason)))
    const leave = new AbortController()
    const asked = client.chat.completions.create(
      { model: 'toolloop', messages: [{ role: 'user', content: 'x' }] },
      { signal: leave.signal },
    )
    await provider.waitForRequest()
    leave.abort()
    await expect(asked).rejects.toThrow('abort')
    expect(await ended).toBe('aborted')
  })
})
