import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI from 'openai'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/index.ts'
import { createModel } from '../../src/models/create-model.ts'
import { createService, type ServiceOptions } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { countingTool } from '../hazards/tools.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { configFile, json, startService, token } from './start-service.ts'

const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
  strict: true,
}
const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 4, reasoningTokens: 2 }
const model = 'toolloop'
const callWeather = (city: string) => ({ name: 'weather', arguments: { city } })

async function startWithClient(options: ServiceOptions) {
  const started = await startService(options)
  return { ...started, client: new OpenAI({ baseURL: `${started.url}/v1`, apiKey: token, maxRetries: 0 }) }
}

/** Two callers, by their tokens. */
async function startWithTwo(options: ServiceOptions) {
  const authenticate = (request: Request) => {
    const name = request.headers.get('authorization')?.replace('Bearer ', '')
    return name === undefined ? undefined : { name, roles: name === 'root' ? (['run', 'admin'] as const) : (['run'] as const) }
  }
  const { url } = await startService({ ...options, token: undefined, authenticate })
  const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
  return { url, ann: clientOf('ann'), bob: clientOf('bob'), root: clientOf('root') }
}

function callIn({ output }: Response) {
  const call = output.find((item) => item.type === 'function_call')
  if (call?.type !== 'function_call') throw new Error('no call')
  return call
}

/** The events of a stream, checked: numbered in a row, each item opened, filled and closed before the next, and one end. */
async function eventsOf(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress'])
  const last = events.at(-1)
  if (last?.type !== 'response.completed' && last?.type !== 'response.incomplete') throw new Error(`ended with ${last?.type}`)
  const done: unknown[] = []
  let text = ''
  for (const event of events) {
    if ('output_index' in event) expect(event.output_index).toBe(done.length)
    if (event.type === 'response.output_item.added') text = ''
    if ('delta' in event && typeof event.delta === 'string') text += event.delta
    if ('text' in event) expect(event.text).toBe(text)
    if (event.type === 'response.function_call_arguments.done') expect(event.arguments).toBe(text)
    if (event.type === 'response.output_item.done') done.push(event.item)
  }
  expect(last.response.output).toEqual(done)
  return events
}

describe('POST /v1/responses, by the official client', () => {
  it('F21 a response that breaks off is requested again for a whole answer; a stream of events ends', async () => {
    const script = () => ({ reasoning: 'Hm.', text: 'It is lo' })
    const faults = ({ index }: { index: number }) => (index % 2 === 0 ? { cutAfterBytes: 'content' as const } : undefined)
    await using provider = await startStrictProvider({ script, faults })
    const agent = createModel({ provider: 'custom', model: 'm', baseURL: provider.baseURL, maxRetries: 1, maxRetryDelayMs: 1 })
    const { client } = await startWithClient({ model: agent })
    const whole = await client.responses.create({ model, input: 'go' })
    expect(whole).toMatchObject({ status: 'completed', output_text: 'It is lo' })
    expect(whole.output.map(({ type }) => type)).toEqual(['reasoning', 'message'])
    const events: ResponseStreamEvent[] = []
    for await (const event of await client.responses.create({ model, input: 'go', stream: true })) events.push(event)
    expect(events.at(-1)?.type).toBe('response.failed')
    const said = events.filter((event) => event.type === 'response.output_text.delta').map(({ delta }) => delta)
    expect([said.join(''), provider.requests.length]).toEqual(['It is lo', 3])
  })

  it('runs a tool loop of the client’s own, with the whole conversation sent again', async () => {
    const scripted = scriptedModel([
      { text: 'I look.', toolCalls: [callWeather('Oslo'), callWeather('Lima')], usage },
      { text: 'Sunny.', usage },
    ])
    const { client } = await startWithClient({ model: scripted })
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Weather?' }]
    const first = await client.responses.create({ model, input, tools: [weather], store: false })
    expect(first).toMatchObject({ object: 'response', status: 'completed', error: null, output_text: 'I look.', store: false })
    expect(first.output.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call'])
    expect(callIn(first)).toMatchObject({ name: 'weather', arguments: '{"city":"Oslo"}', status: 'completed' })
    expect(first.usage).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
    })
    for (const item of first.output) {
      if (item.type === 'message' || item.type === 'function_call') input.push(item)
    }
    for (const item of first.output)
      if (item.type === 'function_call')
        input.push({ type: 'function_call_output', call_id: item.call_id, output: `sunny ${item.arguments}` })
    const second = await client.responses.create({ model, input, tools: [weather] })
    expect(second.output_text).toBe('Sunny.')
    const sent = scripted.requests[1]?.messages ?? []
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool'])
    expect(sent[1]).toMatchObject({ content: 'I look.', toolCalls: [{}, {}] })
  })

  it('continues a stored response, even the same one twice, with the tools that the service itself ran', async () => {
    const own = countingTool('look')
    const scripted = scriptedModel([{ toolCalls: [{ name: 'look' }, callWeather('Oslo')] }, 'Sunny.', 'In winter?', 'Otherwise.'])
    const { client } = await startWithClient({ model: scripted, tools: [own.tool] })
    const first = await client.responses.create({ model, input: 'Weather?', instructions: 'Be brief.', tools: [weather] })
    expect(first.output.map(({ type }) => type)).toEqual(['function_call'])
    const answer = { type: 'function_call_output' as const, call_id: callIn(first).call_id, output: 'sunny' }
    const second = await client.responses.create({ model, input: [answer], previous_response_id: first.id, tools: [weather] })
    expect([second.output_text, second.previous_response_id]).toEqual(['Sunny.', first.id])
    await client.responses.create({ model, input: 'And then?', previous_response_id: second.id, instructions: 'Be long.' })
    await client.responses.create({ model, input: 'Or?', previous_response_id: second.id })
    const sent = scripted.requests.map(({ messages }) => messages.map(({ role, content }) => [role, content]))
    const begin = [
      ['user', 'Weather?'],
      ['assistant', ''],
      ['tool', expect.any(String)],
      ['tool', 'sunny'],
    ]
    expect(sent[0]).toEqual([['system', 'Be brief.'], begin[0]])
    expect(sent[1]).toEqual(begin)
    expect(sent[2]).toEqual([['system', 'Be long.'], ...begin, ['assistant', 'Sunny.'], ['user', 'And then?']])
    expect(sent[3]).toEqual([...begin, ['assistant', 'Sunny.'], ['user', 'Or?']])
    expect(own.calls).toHaveLength(1)
  })

  it('streams text, reasoning and calls in typed events that the client’s own helper assembles', async () => {
    const script = () =>
      scriptedModel([
        { reasoning: 'Hm, the city.', text: 'First.', toolCalls: [{ name: 'look' }], usage },
        { reasoning: 'Now both.', text: 'Then.', toolCalls: [callWeather('Oslo'), callWeather('Lima')], usage },
      ])
    const options = { tools: [countingTool('look').tool] }
    const { client } = await startWithClient({ ...options, model: script() })
    const events = await eventsOf(await client.responses.create({ model, input: 'Weather?', tools: [weather], stream: true }))
    expect([...new Set(events.map(({ type }) => type))]).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.completed',
    ])
    const { client: other } = await startWithClient({ ...options, model: script() })
    const helper = other.responses.stream({ model, input: 'Weather?', tools: [weather] })
    const whole = await helper.finalResponse()
    const types = ['reasoning', 'message', 'reasoning', 'message', 'function_call', 'function_call']
    expect(whole.output.map(({ type }) => type)).toEqual(types)
    expect(whole.output_text).toBe('First.Then.')
    expect(whole.usage?.total_tokens).toBe(30)
    expect(await other.responses.retrieve(whole.id)).toMatchObject({
      id: whole.id,
      output: JSON.parse(JSON.stringify(whole.output, leaveOutParsed)),
    })
  })

  it('accepts images and files, as data and as address, even as the result of a call', async () => {
    const scripted = scriptedModel([{ toolCalls: [callWeather('Oslo')] }, 'Seen.'])
    const { client } = await startWithClient({ model: scripted })
    const png = 'data:image/png;base64,iVBORw0KGgo='
    const pdf = 'data:application/pdf;base64,JVBERi0='
    const first = await client.responses.create({
      model,
      tools: [weather],
      input: [
        { role: 'developer', content: 'Look closely.' },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image_url: png, detail: 'auto' },
            { type: 'input_file', filename: 'a.pdf', file_data: pdf },
            { type: 'input_file', file_url: 'https://example.com/b.pdf' },
          ],
        },
      ],
    })
    await client.responses.create({
      model,
      previous_response_id: first.id,
      input: [
        { type: 'function_call_output', call_id: callIn(first).call_id, output: [{ type: 'input_image', image_url: png, detail: 'auto' }] },
      ],
    })
    expect(scripted.requests[1]?.messages).toMatchObject([
      { role: 'system', content: 'Look closely.' },
      {
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image', url: png },
          { type: 'file', url: pdf, name: 'a.pdf' },
          { type: 'file', url: 'https://example.com/b.pdf' },
        ],
      },
      { role: 'assistant' },
      { role: 'tool', content: [{ type: 'image', url: png }] },
    ])
  })

  it('returns JSON of a schema, and nothing else', async () => {
    const scripted = scriptedModel([
      { text: 'Let me see.', toolCalls: [{ name: 'look' }] },
      { toolCalls: [{ name: 'final_answer', arguments: { n: 3 } }] },
    ])
    const { client } = await startWithClient({ model: scripted, tools: [countingTool('look').tool] })
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false }
    const response = await client.responses.parse({
      model,
      input: 'how many',
      text: { format: { type: 'json_schema', name: 'count', schema } },
    })
    expect([response.output_text, response.output_parsed]).toEqual(['{"n":3}', { n: 3 }])
  })

  it('passes on settings and returns them, and reports why an answer is incomplete', async () => {
    const scripted = scriptedModel([{ text: 'Half', finishReason: 'length' }])
    const { client } = await startWithClient({ model: scripted, tools: [countingTool('look').tool] })
    const settings = { temperature: 0.5, top_p: 0.9, max_output_tokens: 7, parallel_tool_calls: false, metadata: { user: 'ann' } }
    const response = await client.responses.create({
      model,
      input: 'x',
      ...settings,
      reasoning: { effort: 'low' },
      tool_choice: { type: 'function', name: 'look' },
      user: 'u',
      include: ['reasoning.encrypted_content'],
    })
    expect(scripted.requests[0]).toMatchObject({
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 7,
      parallelToolCalls: false,
      reasoningEffort: 'low',
      toolChoice: { type: 'function', function: { name: 'look' } },
    })
    const incomplete = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [{ status: 'incomplete' }] }
    expect(response).toMatchObject({ ...settings, ...incomplete })
  })

  it('refuses an output without a call, and a call without an output, before the model is asked', async () => {
    const calls = { toolCalls: [callWeather('Oslo'), callWeather('Lima')] }
    const scripted = scriptedModel([calls, 'Sunny.', 'Again.'])
    const { client } = await startWithClient({ model: scripted })
    const first = await client.responses.create({ model, input: 'Weather?', tools: [weather] })
    const [one = '', two = ''] = first.output.map((item) => (item.type === 'function_call' ? item.call_id : ''))
    const call = (call_id: string) => ({ type: 'function_call' as const, call_id, name: 'weather', arguments: '{}' })
    const output = (call_id: string) => ({ type: 'function_call_output' as const, call_id, output: 'sunny' })
    const user = { role: 'user' as const, content: 'x' }
    const ask = (input: string | OpenAI.Responses.ResponseInput, previous_response_id: string | null) =>
      client.responses.create({ model, input, previous_response_id }).catch((error: unknown) => error)
    const noCall = (id: string, param: string) => ({
      status: 400,
      param,
      message: `400 No tool call found for function call output with call_id ${id}.`,
    })
    const noOutput = (id: string) => ({ status: 400, param: 'input', message: `400 No tool output found for function call ${id}.` })
    expect(await ask([user, output('a')], null)).toMatchObject(noCall('a', 'input.1.call_id'))
    expect(await ask([output('a'), call('a')], null)).toMatchObject(noCall('a', 'input.0.call_id'))
    expect(await ask([call('a'), output('a'), output('a')], null)).toMatchObject(noCall('a', 'input.2.call_id'))
    expect(await ask([call('a'), user], null)).toMatchObject(noOutput('a'))
    expect(await ask([call('a'), call('a'), output('a')], null)).toMatchObject(noOutput('a'))
    expect(await ask([output(one), output('a')], first.id)).toMatchObject(noCall('a', 'input.1.call_id'))
    expect(await ask([output(one)], first.id)).toMatchObject(noOutput(two))
    expect(await ask('Never mind.', first.id)).toMatchObject(noOutput(one))
    expect(scripted.requests).toHaveLength(1)
    expect(await ask([output(two), output(one), user], first.id)).toMatchObject({ output_text: 'Sunny.' })
    // An id may be used again once its call is answered.
    const twice = [call('a'), output('a'), call('a'), user, output('a')]
    expect(await ask(twice, null)).toMatchObject({ output_text: 'Again.' })
  })

  it('refuses an option that would change the answer or would have no effect, by its name', async () => {
    const { post } = await startWithClient({ model: scriptedModel(['ok']) })
    const content = (part: object) => ({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }, part] }] })
    for (const [param, more] of [
      ['input', { input: [] }],
      ['input.0.role', { input: [{ role: 'tool', content: 'x' }] }],
      ['input.0.call_id', { input: [{ type: 'function_call_output', output: 'x' }] }],
      ['input.4000', { input: Array.from({ length: 5_000 }, () => ({ type: 'function_call', call_id: 'c', name: 'a', arguments: '{}' })) }],
      ['input.0.content.1', content({ type: 'input_image', file_id: 'file-1' })],
      ['input.0.content.1', content({ type: 'input_file', file_id: 'file-1' })],
      ['input.0.content.1', content({ type: 'input_audio', input_audio: { data: '', format: 'wav' } })],
      ['tools.0.type', { tools: [{ name: 'a' }] }],
      ['tools.0.name', { tools: [{ type: 'function' }] }],
      ['tools.0.type', { tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'function' }] }] }],
      ['tool_choice.name', { tool_choice: { type: 'function', name: 'not_there' } }],
      ['background', { background: true }],
      ['conversation', { conversation: 'conv_1' }],
      ['prompt', { prompt: { id: 'pmpt_1' } }],
      ['max_tool_calls', { max_tool_calls: 1 }],
      ['top_logprobs', { top_logprobs: 2 }],
      ['include', { include: ['message.output_text.logprobs'] }],
      ['text.format.schema.type', { text: { format: { type: 'json_schema', name: 'a', schema: { type: 'array' } } } }],
      ['metadata.a', { metadata: { a: 1 } }],
    ] as const) {
      const response = await post('/v1/responses', { model, input: 'x', ...more })
      expect([response.status, (await json(response)).error]).toEqual([400, expect.objectContaining({ param, code: 'invalid_request' })])
    }
    const reference = await post('/v1/responses', { model, input: [{ type: 'item_reference', id: 'msg_1' }] })
    expect([reference.status, (await json(reference)).error]).toEqual([
      404,
      expect.objectContaining({ param: 'input.0.id', code: 'item_not_found' }),
    ])
    const unknown = await post('/v1/responses', { model: 'gpt-99', input: 'x' })
    expect([unknown.status, (await json(unknown)).error]).toEqual([
      404,
      expect.objectContaining({ param: 'model', code: 'model_not_found' }),
    ])
  })

  it('accepts null for absent fields, as clients send it', async () => {
    const { post } = await startWithClient({ model: scriptedModel(['ok']) })
    const fields = 'instructions previous_response_id store stream tools tool_choice parallel_tool_calls text temperature top_p reasoning'
    const others = 'max_output_tokens metadata background conversation prompt max_tool_calls top_logprobs include moderation truncation'
    const absent = Object.fromEntries(`${fields} ${others}`.split(' ').map((name) => [name, null]))
    const response = await post('/v1/responses', { model, input: 'x', ...absent })
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"text":"ok"')])
  })

  it('reports failures in OpenAI’s format, whole and in the stream, without secrets', async () => {
    const failing = () => scriptedModel([{ text: 'par', error: new Error('the key sk-abcdefghijklmnopqrstuvwx is bad') }])
    const { client } = await startWithClient({ model: failing() })
    const whole = await client.responses.create({ model, input: 'x' }).catch((error: unknown) => error)
    expect(whole).toMatchObject({ status: 502, code: 'provider_error', type: 'server_error' })
    expect(String(whole)).not.toContain('sk-abc')
    const { client: other } = await startWithClient({ model: failing() })
    const events: ResponseStreamEvent[] = []
    for await (const event of await other.responses.create({ model, input: 'x', stream: true })) events.push(event)
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        store: false,
        error: { code: 'provider_error', message: expect.stringContaining('[redacted] is bad') },
        output: [{ type: 'message', status: 'incomplete', content: [{ text: 'par' }] }],
      },
    })
  })

  it('doesn’t send the text of a nested run to the client', async () => {
    const inner = new AgentRunner({ model: scriptedModel(['Inside.']) })
    const think = defineTool({
      name: 'think',
      description: 'Thinks.',
      execute: async (_args, parent) => (await inner.run('x', { parent, forwardEvents: true })).text,
    })
    const { client } = await startWithClient({ model: scriptedModel([{ toolCalls: [{ name: 'think' }] }, 'Outside.']), tools: [think] })
    const { output } = await client.responses.create({ model, input: 'x' })
    expect(output).toMatchObject([{ type: 'message', content: [{ text: 'Outside.' }] }])
  })

  it('returns the result of a final tool, even if the text before it ends the same', async () => {
    const add = defineTool({ name: 'add', description: 'Adds.', final: true, execute: () => '4' })
    const script = [{ text: '2 + 2, not 2 + 4', toolCalls: [{ name: 'add' }] }]
    const { client } = await startWithClient({ model: scriptedModel([...script, ...script]), tools: [add] })
    expect((await client.responses.create({ model, input: 'x' })).output_text).toBe('2 + 2, not 2 + 44')
    const whole = await client.responses.stream({ model, input: 'x' }).finalResponse()
    expect(whole.output_text).toBe('2 + 2, not 2 + 44')
  })

  it('returns an answer once if the model gives it when asked again', async () => {
    const { client } = await startWithClient({ model: scriptedModel(['\n', 'Here.']) })
    expect((await client.responses.create({ model, input: 'x' })).output_text).toBe('Here.')
  })

  it('refuses a call that needs an approval, with the reason', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
    const scripted = scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'Not paid.'])
    const { client } = await startWithClient({ model: scripted, tools: [pay] })
    expect((await client.responses.create({ model, input: 'pay' })).output_text).toBe('Not paid.')
    expect(JSON.stringify(scripted.requests[1]?.messages)).toContain('cannot be given here')
  })

  it('a stream whose run the service ends at shutdown says so', async () => {
    const held = Promise.withResolvers<string>()
    const { service, client } = await startWithClient({ model: scriptedModel([{ chunks: ['a', held.promise] }]) })
    const events: ResponseStreamEvent[] = []
    for await (const event of await client.responses.create({ model, input: 'x', stream: true })) {
      events.push(event)
      if (event.type === 'response.output_text.delta') void service.drain(0)
    }
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed', error: { code: 'aborted' } } })
    held.resolve('')
  })

  it('aborts the run when its reader disconnects, and when the client that waits for the whole answer does', async () => {
    await using provider = await startStrictProvider({
      script: [
        { text: '', hang: true },
        { text: 'slow', hang: true },
      ],
    })
    const { client, service } = await startWithClient({ model: { provider: 'custom', model: 'm', baseURL: provider.baseURL } })
    const nextEnd = () => new Promise((resolve) => service.bus.once('RUN_END', ({ stopReason }) => resolve(stopReason)))
    const ended = nextEnd()
    const leave = new AbortController()
    const asked = client.responses.create({ model, input: 'x' }, { signal: leave.signal })
    await provider.waitForRequest()
    leave.abort()
    await expect(asked).rejects.toThrow('abort')
    expect(await ended).toBe('aborted')
    const endedAgain = nextEnd()
    for await (const { type } of await client.responses.create({ model, input: 'x', stream: true }))
      if (type === 'response.output_text.delta') break
    expect(await endedAgain).toBe('aborted')
  })
})

/** What the client's helper adds to what came. */
function leaveOutParsed(key: string, value: unknown): unknown {
  return key === 'parsed' || key === 'parsed_arguments' ? undefined : value
}

describe('stored responses', () => {
  it('belong to the caller: another’s, an admin’s and an unknown one are the same 404', async () => {
    const { url, ann, bob, root } = await startWithTwo({ model: scriptedModel(['hi', 'hi', 'again']) })
    const { id } = await ann.responses.create({ model, input: 'x' })
    const errors = await Promise.all(
      [bob, root].flatMap((client) => [
        ...[id, 'resp_unknown'].map((one) => client.responses.retrieve(one).catch((error: unknown) => error)),
        ...[id, 'resp_unknown'].map((one) => client.responses.delete(one).catch((error: unknown) => error)),
        ...[id, 'resp_unknown'].map((one) => client.responses.cancel(one).catch((error: unknown) => error)),
        ...[id, 'resp_unknown'].map((one) =>
          client.responses.create({ model, input: 'x', previous_response_id: one }).catch((error: unknown) => error),
        ),
      ]),
    )
    const told = errors.map((error) => error instanceof OpenAI.APIError && [error.status, error.error])
    expect(told[0]).toEqual([404, expect.objectContaining({ code: 'response_not_found', param: 'id' })])
    expect(told[6]).toEqual([404, expect.objectContaining({ code: 'previous_response_not_found', param: 'previous_response_id' })])
    for (const [at, one] of told.entries()) expect(one).toEqual(told[at % 8 < 6 ? 0 : 6])
    expect((await ann.responses.retrieve(id)).output_text).toBe('hi')
    const streamed = await fetch(`${url}/v1/responses/${id}?stream=true`, { headers: { authorization: 'Bearer ann' } })
    expect([streamed.status, (await json(streamed)).error.param]).toEqual([400, 'stream'])
  })

  it('are gone when deleted, and never stored with `store: false`; those that continue one stay', async () => {
    const { client } = await startWithClient({ model: scriptedModel(['one', 'two', 'three']) })
    const unkept = await client.responses.create({ model, input: 'x', store: false })
    await expect(client.responses.retrieve(unkept.id)).rejects.toMatchObject({ status: 404 })
    const first = await client.responses.create({ model, input: 'x' })
    const second = await client.responses.create({ model, input: 'y', previous_response_id: first.id })
    await client.responses.delete(first.id)
    await expect(client.responses.delete(first.id)).rejects.toMatchObject({ status: 404 })
    await expect(client.responses.create({ model, input: 'y', previous_response_id: first.id })).rejects.toMatchObject({ status: 404 })
    expect(await client.responses.retrieve(second.id)).toMatchObject({ id: second.id, previous_response_id: first.id })
  })

  it('are not stored if they are deleted while they are created, and are unknown from then on', async () => {
    const held = Promise.withResolvers<string>()
    const { client } = await startWithClient({ model: scriptedModel([{ chunks: ['a', held.promise] }]) })
    const events: ResponseStreamEvent[] = []
    let id = ''
    for await (const event of await client.responses.create({ model, input: 'x', stream: true })) {
      events.push(event)
      if (event.type === 'response.created') id = event.response.id
      if (event.type !== 'response.output_text.delta' || event.delta !== 'a') continue
      await client.responses.delete(id)
      await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
      await expect(client.responses.delete(id)).rejects.toMatchObject({ status: 404 })
      held.resolve('b')
    }
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed', store: false } })
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
  })

  it('are shown while they are created, and can be cancelled then', async () => {
    const held = Promise.withResolvers<string>()
    const { client } = await startWithClient({ model: scriptedModel([{ chunks: ['a', held.promise] }]) })
    const events: ResponseStreamEvent[] = []
    for await (const event of await client.responses.create({ model, input: 'x', stream: true })) {
      events.push(event)
      if (event.type !== 'response.output_text.delta') continue
      const id = events[0]?.type === 'response.created' ? events[0].response.id : ''
      expect(await client.responses.retrieve(id)).toMatchObject({
        id,
        status: 'in_progress',
        output: [{ type: 'message', status: 'in_progress' }],
      })
      expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled', error: null })
      await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
    }
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'cancelled' } })
    held.resolve('')
  })

  it('of a caller with too many lose the oldest; others lose none', async () => {
    const { folder, file } = await configFile('service: { keepRuns: { count: 3 } }\n')
    const { ann, bob } = await startWithTwo({ configFile: file, cwd: folder, model: scriptedModel(() => 'yes') })
    const keep = async (client: OpenAI) => (await client.responses.create({ model, input: 'hi' })).id
    const anns = await keep(ann)
    const bobs = [await keep(bob), await keep(bob), await keep(bob), await keep(bob)]
    expect((await ann.responses.retrieve(anns)).id).toBe(anns)
    const found = await Promise.all(
      bobs.map((id) =>
        bob.responses.retrieve(id).then(
          () => true,
          () => false,
        ),
      ),
    )
    expect(found).toEqual([false, false, true, true])
  })

  it('lose the oldest if there are too many, and those that are too old', async () => {
    const { folder, file } = await configFile('service: { keepRuns: { count: 2 } }\n')
    const { client } = await startWithClient({ model: scriptedModel(['a', 'b', 'c']), cwd: folder, configFile: file })
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push((await client.responses.create({ model, input: 'x' })).id)
    const kept = await Promise.all(
      ids.map((id) =>
        client.responses.retrieve(id).then(
          () => true,
          () => false,
        ),
      ),
    )
    expect(kept).toEqual([false, true, true])
    const { file: short } = await configFile('service: { keepRuns: { minutes: 0.001 } }\n')
    const { client: other } = await startWithClient({ model: scriptedModel(['a']), configFile: short })
    const { id } = await other.responses.create({ model, input: 'x' })
    const statusOf = () =>
      other.responses.retrieve(id).then(
        () => 200,
        (error: unknown) => error instanceof OpenAI.APIError && error.status,
      )
    await expect.poll(statusOf).toBe(404)
    const { file: small } = await configFile('service: { keepRuns: { megabytes: 0.01 } }\n')
    const { client: third } = await startWithClient({ model: scriptedModel(['a', 'b', 'c']), configFile: small })
    expect((await third.responses.create({ model, input: 'x'.repeat(20_000) })) as { store?: boolean }).toMatchObject({ store: false })
    const large: string[] = []
    for (let n = 0; n < 2; n++) large.push((await third.responses.create({ model, input: 'x'.repeat(4_000) })).id)
    await expect(third.responses.retrieve(large[0] ?? '')).rejects.toMatchObject({ status: 404 })
    expect((await third.responses.retrieve(large[1] ?? '')).output_text).toBe('c')
  })

  it('outlive the process if runs do, and are found by the next', async () => {
    const { folder, file } = await configFile('service: { keepRuns: { folder: kept } }\n')
    const options = { cwd: folder, configFile: file }
    const { client, listening } = await startWithClient({ ...options, model: scriptedModel([{ toolCalls: [callWeather('Oslo')] }]) })
    const first = await client.responses.create({ model, input: 'Weather?', tools: [weather] })
    await listening.close(0)
    const scripted = scriptedModel(['Sunny.'])
    const { client: later } = await startWithClient({ ...options, model: scripted })
    expect((await later.responses.retrieve(first.id)).output).toEqual(first.output)
    const input = [{ type: 'function_call_output' as const, call_id: callIn(first).call_id, output: 'sunny' }]
    await later.responses.create({ model, input, previous_response_id: first.id })
    expect(scripted.requests[0]?.messages.map(({ content }) => content)).toEqual(['Weather?', '', 'sunny'])
  })

  it('a service whose file of responses can’t be used does not start', async () => {
    const { folder, file } = await configFile('service: { keepRuns: { folder: kept } }\n')
    await mkdir(join(folder, 'kept'))
    await writeFile(join(folder, 'kept', 'responses.sqlite'), 'no database'.repeat(1_000))
    const service = createService({ model: scriptedModel([]), cwd: folder, configFile: file, token })
    await expect(service.ready).rejects.toMatchObject({ code: 'session_failed' })
    await service.drain(0)
  })

  it('a conversation can’t grow beyond what can be read without blocking others', async () => {
    const { client } = await startWithClient({ model: scriptedModel(['a', 'b', 'c']) })
    const many: OpenAI.Responses.ResponseInput = Array.from({ length: 9_000 }, () => ({ role: 'user', content: '' }))
    const { id } = await client.responses.create({ model, input: many })
    await expect(client.responses.create({ model, input: many, previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      param: 'previous_response_id',
    })
    expect((await client.responses.create({ model, input: 'x', previous_response_id: id })).output_text).toBe('b')
  })
})
