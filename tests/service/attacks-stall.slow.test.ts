import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { modernPeer } from './mcp-peer.ts'
import { maxStallMs, measuredService, stallOf } from './measured-service.ts'
import { configFile } from './start-service.ts'

/** As much as a body takes, but for what is around it. */
const most = 1_040_000
/** `unit` again and again, until it is so many characters of JSON. */
const fill = (unit: string, characters = most) => unit.repeat(Math.floor(characters / (JSON.stringify(unit).length - 2)))
const list = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at))
const call = (tool: string, args: unknown) => `call ${tool} ${typeof args === 'string' ? args : JSON.stringify(args)}`
const toolCall = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'echo', arguments: args } })
const asking = (...toolCalls: object[]) => ({ role: 'assistant', content: '', toolCalls })
const answer = (toolCallId: string) => ({ role: 'tool', toolCallId, content: '' })
const user = (content: unknown) => ({ role: 'user', content })

const manySecrets = JSON.stringify({ password: list(50_000, (at) => `secret${at}`) })

/** Bodies of `/v1/runs`, by what is wrong with them. */
const runs: Readonly<Record<string, object>> = {
  'many secrets in a call that waits': { input: call('pay', manySecrets) },
  'many secrets in a call that runs': { input: call('echo', manySecrets) },
  'many secrets in the conversation': { input: 'hello', messages: [asking(toolCall('a', manySecrets)), answer('a')] },
  'long secrets in a call': { input: call('pay', { password: list(1_000, (at) => `${at}`.padEnd(600, 'x')) }) },
  'many bad arguments in the conversation': {
    input: 'hello',
    messages: list(3_000, (at) => [asking(toolCall(`c${at}`, `"argument ${at}"`)), answer(`c${at}`)]).flat(),
  },
  'large bad arguments in the conversation': { input: 'hello', messages: [asking(toolCall('a', fill('x"', 416_000))), answer('a')] },
  'large bad arguments in a call': { input: call('pay', fill('x"', 416_000)) },
  'arguments that are cut off': { input: call('pay', `{"note":"${fill('x')}`) },
  'a large call that waits': { input: call('pay', { note: fill('x', most - 100) }) },
  'a large call that runs': { input: call('echo', { text: fill('x', most - 100) }) },
  'a large call to a tool that is not there': { input: call('nothing', { note: fill('x', most - 100) }) },
  'arguments of many fields': { input: call('pay', Object.fromEntries(list(2_990, (at) => [`k${at}`, 'b']))) },
  'arguments of too many fields': { input: call('pay', Object.fromEntries(list(60_000, (at) => [`k${at}`, 'b']))) },
  'arguments of many numbers': { input: call('pay', { a: list(9_990, () => 1) }) },
  'arguments of too many numbers': { input: call('pay', { a: list(500_000, () => 1) }) },
  'arguments of many objects': { input: call('pay', { a: list(4_990, () => ({ a: 'b' })) }) },
  'arguments that are wrong in each of their items': { input: call('strict', { words: list(9_990, () => 1) }) },
  'arguments that a pattern of the program’s own goes over and over': { input: call('strict', { code: `${'a'.repeat(60)}!` }) },
  'a large text': { input: fill('x') },
  'a large text of characters that JSON escapes': { input: fill('\u0000') },
  'a large text of quotes': { input: fill('"') },
  'a large text of entities': { input: fill('&#128;') },
  'a large text of beginnings of keys': { input: fill('sk-') },
  'a large text of addresses': { input: fill('://a:') },
  'a large text of tokens': { input: fill('eyJaaaaaaaaa.aaaaaaaaa. ') },
  'a large text of credentials': { input: fill('bearer aaaaaaaaaaa ') },
  'many messages': { input: 'hello', messages: list(12_000, () => user('')) },
  'many messages as input': { input: list(12_000, () => user('')) },
  'many parts': { input: [user(list(12_000, () => ({ type: 'text', text: '' })))] },
  'as many calls in one message as there may be': { input: 'hello', messages: [asking(...list(4_000, (at) => toolCall(`c${at}`)))] },
  'as many calls under one id': { input: 'hello', messages: [asking(...list(4_000, () => toolCall('c')))] },
  'many calls in one message': { input: 'hello', messages: [asking(...list(8_000, (at) => toolCall(`c${at}`)))] },
  'many messages with calls under one id': { input: 'hello', messages: list(3_000, () => [asking(toolCall('c')), answer('c')]).flat() },
  'results under one id behind all calls': {
    input: 'hello',
    messages: [...list(3_000, () => asking(toolCall('c'))), ...list(3_000, () => answer('c'))],
  },
  'more values than a body may have': { input: 'hello', messages: [{ ...user(''), a: list(300_000, () => []) }] },
  'a page of entities': { input: call('page', { piece: '&#128;', count: 4_000_000 / 6 }) },
  'a large file of what to leave out': { input: call('list_files', {}) },
  'a large answer': { input: 'say x 3000000' },
}

const manyFields = { type: 'object', properties: Object.fromEntries(list(20_000, (at) => [`p${at}`, { type: 'string' }])) }
const someFields = { type: 'object', properties: Object.fromEntries(list(150, (at) => [`p${at}`, { type: 'string' }])) }
const leadingBack = { properties: { x: { $ref: '#/$defs/a' } }, required: ['y'] }

/** JSON Schemas as a client sends them, each with arguments for it. */
const schemas: Readonly<Record<string, { schema: object; args?: object }>> = {
  'many fields': { schema: manyFields },
  'many fields below each other': { schema: list(60, (at) => at).reduce<object>((inner) => ({ ...someFields, items: inner }), {}) },
  'one part in very many places': {
    schema: {
      type: 'object',
      $defs: { a: someFields },
      properties: Object.fromEntries(list(500, (at) => [`p${at}`, { $ref: '#/$defs/a' }])),
    },
  },
  'one part by two names': {
    schema: { type: 'object', $defs: { a: someFields }, allOf: list(300, (at) => ({ $ref: at % 2 === 0 ? '#/$defs/a' : '#/$defs/%61' })) },
  },
  'a union of very many': { schema: { type: 'object', anyOf: list(3_000, (at) => ({ required: [`p${at}`] })) }, args: {} },
  'a union that leads back to itself': {
    schema: { type: 'object', $defs: { a: { anyOf: [leadingBack, leadingBack] } }, properties: { x: { $ref: '#/$defs/a' } } },
    args: JSON.parse(`${'{"x":'.repeat(30)}{}${'}'.repeat(30)}`),
  },
  'a pattern that goes over and over': {
    schema: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
    args: { a: `${'a'.repeat(60)}!` },
  },
  'items that have to differ': {
    schema: { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } },
    args: { a: list(4_990, (at) => ({ at })) },
  },
  'very many values to choose from': { schema: { type: 'object', properties: { a: { enum: list(40_000, (at) => at) } } }, args: { a: '' } },
  'what the dialect doesn’t know': { schema: { ...someFields, required: 5 } },
}

const uiText = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] })
const uiCall = (toolCallId: string, output: unknown) => ({ type: 'tool-echo', toolCallId, state: 'output-available', input: {}, output })

/** Messages of `/ui/chat`, by what is wrong with them. */
const uiMessages: Readonly<Record<string, object[]>> = {
  'many messages': list(8_000, () => uiText('')),
  'many parts': [{ role: 'user', parts: list(12_000, () => ({ type: 'text', text: '' })) }],
  'many calls in one message': [{ role: 'assistant', parts: list(4_500, (at) => uiCall(`c${at}`, 1)) }, uiText('hello')],
  'many calls under one id': [{ role: 'assistant', parts: list(4_500, () => uiCall('c', 1)) }, uiText('hello')],
  'many turns': [
    { role: 'assistant', parts: list(4_000, () => [{ type: 'step-start' }, { type: 'text', text: 'a' }]).flat() },
    uiText('hello'),
  ],
  'a large text': [uiText(fill('"'))],
  'a large text in a data URL': [
    { role: 'user', parts: [{ type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${fill('A')}` }] },
  ],
  'a large output': [{ role: 'assistant', parts: [uiCall('c', { a: fill('x"', 500_000) })] }, uiText('hello')],
  'an output of many values': [
    {
      role: 'assistant',
      parts: [
        uiCall(
          'c',
          list(45_000, () => 1),
        ),
      ],
    },
    uiText('hello'),
  ],
  'a large call that waits': [uiText(call('pay', { note: fill('x', most - 100) }))],
  'a large answer': [uiText('say x 3000000')],
}

/** What else is in an input of `/agui`. */
const agUiInputs: Readonly<Record<string, object>> = {
  'many messages': { messages: list(10_000, () => user('')) },
  'many calls': { messages: [{ role: 'assistant', toolCalls: list(5_000, (at) => toolCall(`c${at}`)) }, user('hello')] },
  'many results': { messages: [...list(6_000, () => ({ role: 'tool', toolCallId: 'c', content: '' })), user('hello')] },
  'a large text': { messages: [user(fill('"'))] },
  'many tools': { tools: list(120, (at) => ({ name: `t${at}`, parameters: someFields })) },
  'many answers': { resume: list(10_000, (at) => ({ interruptId: `${at}`, status: 'cancelled' })) },
  'a large state': { state: { a: list(45_000, () => 1) } },
}

const item = (type: string, fields: object = {}) => ({ type, ...fields })
const mine = [{ type: 'function', name: 'mine', parameters: { type: 'object' } }]

/** Bodies of `/v1/responses`, by what is wrong with them. */
const responses: Readonly<Record<string, object>> = {
  'many messages': { input: [...list(14_000, () => user('')), user('hello')] },
  'many parts': { input: [user(list(12_000, () => item('input_text', { text: '' })))] },
  'as many calls as there may be': {
    input: list(4_000, (at) => item('function_call', { call_id: `c${at}`, name: 'echo', arguments: '{}' })),
  },
  'many calls': { input: list(9_000, (at) => item('function_call', { call_id: `c${at}`, name: 'echo', arguments: '{}' })) },
  'many calls under one id': { input: list(4_000, () => item('function_call', { call_id: 'c', name: 'echo', arguments: '{}' })) },
  'many results': { input: list(12_000, (at) => item('function_call_output', { call_id: `c${at}`, output: '' })) },
  'results under one id behind all calls': {
    input: [
      ...list(4_000, () => item('function_call', { call_id: 'c', name: 'echo', arguments: '{}' })),
      ...list(4_000, () => item('function_call_output', { call_id: 'c', output: '' })),
    ],
  },
  'many thoughts': { input: [...list(12_000, () => item('reasoning', { summary: [] })), user('hello')] },
  'many items of no kind': { input: list(16_000, () => item('nothing')) },
  'a large text': { input: fill('"') },
  'a large text of characters that JSON escapes': { input: fill('\u0000') },
  'a large text in a data URL': { input: [user([item('input_image', { image_url: `data:image/png;base64,${fill('A')}` })])] },
  'large instructions': { input: 'hello', instructions: fill('\u0000') },
  'many tools': {
    input: call('mine_7', {}),
    tools: list(128, (at) => ({ ...mine[0], name: `mine_${at}`, parameters: { ...someFields, properties: { [`p${at}`]: {} } } })),
  },
  'a large schema of a tool': { input: call('mine', {}), tools: [{ ...mine[0], parameters: manyFields }] },
  'a large schema of the answer': { input: 'hello', text: { format: { type: 'json_schema', name: 'a', schema: manyFields } } },
  'much metadata': { input: 'hello', metadata: Object.fromEntries(list(16_000, (at) => [`k${at}`, 'v'])) },
  'a large call of the client’s own': { input: call('mine', { note: fill('x"', 500_000) }), tools: mine },
  'arguments of many numbers': { input: call('mine', { a: list(9_990, () => 1) }), tools: mine },
  'a large call that runs': { input: call('echo', { text: fill('x', most - 100) }) },
  'a large answer': { input: 'say x 3000000' },
}

const mcpCall = (name: string, args: object, others: object = {}) => ({
  method: 'tools/call',
  params: { name, arguments: args, ...others },
})

/** Messages of an MCP client. */
const mcpMessages: Readonly<Record<string, { method: string; params: object }>> = {
  'a large call': mcpCall('echo', { text: fill('x', most - 2_000) }),
  'a large call of quotes': mcpCall('echo', { text: fill('"', most - 2_000) }),
  'a call of many numbers': mcpCall('strict', { words: list(9_900, () => 1) }),
  'a call of too many fields': mcpCall('echo', Object.fromEntries(list(45_000, (at) => [`k${at}`, 'b']))),
  'a call of many fields': mcpCall('echo', Object.fromEntries(list(9_900, (at) => [`k${at}`, 'b']))),
  'a call of many objects': mcpCall('strict', { words: list(4_900, () => ({ a: 1 })) }),
  'a call with many secrets': mcpCall('echo', { password: list(9_900, (at) => `secret${at}`) }),
  'arguments that a pattern of the program’s own goes over and over': mcpCall('strict', { code: `${'a'.repeat(60)}!` }),
  'a large call to a tool that is not there': mcpCall('nothing', { text: fill('x', most - 2_000) }),
  'a large name': mcpCall(fill('x', most - 2_000), {}),
  'a large state': mcpCall('echo', { text: 'x' }, { requestState: fill('x', most - 2_000), inputResponses: { answer: {} } }),
  'many answers': mcpCall('echo', { text: 'x' }, { inputResponses: Object.fromEntries(list(4_900, (at) => [`k${at}`, { action: 'x' }])) }),
  'a method that is not there': { method: fill('x', 500_000), params: { a: fill('x', 500_000) } },
  'parameters of many values': { method: 'tools/list', params: { a: list(9_900, () => 1) } },
  'a large page': mcpCall('page', { piece: '&#128;', count: 4_000_000 / 6 }),
}

/** Calls of the built-in tools, on the files of `openService`. */
const builtins: Readonly<Record<string, [tool: string, args: object]>> = {
  'a text that nearly is in a file everywhere': ['search_files', { query: `${'a'.repeat(63)}b` }],
  'a long one': ['search_files', { query: `${'a'.repeat(999)}b` }],
  'a long one, in any case': ['search_files', { query: `${'a'.repeat(999)}b`, ignoreCase: true }],
  'a text in very many lines': ['search_files', { query: 'b', context: 20, limit: 1_000 }],
  'a pattern that goes over and over': ['search_files', { query: '^(a|a)*c$', regex: true, path: 'short.txt' }],
  'a file of one line': ['read_file', { path: 'repeats.txt' }],
  'a file of very many lines': ['read_file', { path: 'lines.txt', from: 1_900_000 }],
  'a glob of very many stars': ['list_files', { pattern: '*a'.repeat(120) }],
  'brackets in brackets': ['calculate', { expression: `${'('.repeat(400)}1${')'.repeat(400)}` }],
  'a power of a power': ['calculate', { expression: '9^9^9^9' }],
  'a large faculty': ['calculate', { expression: '9999999!' }],
  'many digits': ['calculate', { expression: `${'9'.repeat(480)}*${'9'.repeat(480)}` }],
}

async function openService() {
  const { folder, file } = await configFile(
    'tools: { builtin: [list_files, read_file, search_files, calculate], workspace: files }\nservice: { mcp: true, requestsPerMinute: 100000, keepRuns: { folder: kept } }\n',
  )
  await mkdir(join(folder, 'files'))
  await writeFile(join(folder, 'files', '.gitignore'), fill('a*b\n', 130_000))
  await writeFile(join(folder, 'files', 'repeats.txt'), 'a'.repeat(8_000_000))
  await writeFile(join(folder, 'files', 'lines.txt'), 'b\n'.repeat(2_000_000))
  await writeFile(join(folder, 'files', 'short.txt'), `${'a'.repeat(60)}!`)
  const service = await measuredService({ cwd: folder, configFile: file })
  const stalls: Record<string, number> = {}
  /** What comes of `work`, whose longest stall is remembered under the name. Garbage collection counts. */
  const measured = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const { value, stallMs } = await stallOf(service, work)
    stalls[name] = stallMs
    return value
  }
  const postMeasured = (name: string, path: string, body: unknown) => measured(name, async () => (await service.post(path, body)).text())
  const tooLong = () => Object.entries(stalls).filter(([, ms]) => ms > maxStallMs)
  return { service, ask: service.ask, send: service.post, measured, post: postMeasured, tooLong }
}

describe('no request blocks the others for more than 50 ms', () => {
  it('whatever it contains', async () => {
    const { post, tooLong } = await openService()
    for (const [name, body] of Object.entries(runs)) await post(name, '/v1/runs', body)
    await post('a body that is too large', '/v1/runs', { input: fill('x', 4_000_000) })
    for (const stream of [true, false]) {
      const messages = [...list(10_000, () => user('')), user('say x 1000000')]
      await post(`a chat of many messages, streamed: ${stream}`, '/v1/chat/completions', { model: 'toolloop', stream, messages })
      for (const calls of [4_000, 8_000]) {
        const tool_calls = list(calls, (at) => toolCall(`c${at}`))
        const asked = [{ role: 'assistant', content: '', tool_calls }, user('hello')]
        await post(`a chat of ${calls} calls, streamed: ${stream}`, '/v1/chat/completions', { model: 'toolloop', stream, messages: asked })
      }
    }
    expect(tooLong()).toEqual([])
  })

  it('whatever a page sends', async () => {
    const { post, tooLong } = await openService()
    for (const [name, messages] of Object.entries(uiMessages)) await post(`useChat: ${name}`, '/ui/chat', { id: name, messages })
    for (const [name, fields] of Object.entries(agUiInputs))
      await post(`AG-UI: ${name}`, '/agui', { threadId: name, runId: 'r', messages: [], ...fields })
    expect(tooLong()).toEqual([])
  })

  it('whatever a response is made of, stored or not, continued and shown', async () => {
    const { post, ask, measured, tooLong } = await openService()
    for (const [name, body] of Object.entries(responses)) {
      for (const stream of [true, false])
        await post(`${name}, streamed: ${stream}`, '/v1/responses', { model: 'toolloop', stream, store: stream, ...body })
    }
    for (const [name, input] of [
      ['very many messages', list(14_000, () => user(''))],
      ['a large text', fill('"')],
      ['a large answer', 'say x 3000000'],
    ] as const) {
      let previous = JSON.parse(await post(`kept: ${name}`, '/v1/responses', { model: 'toolloop', input }))
      await measured(`shown: ${name}`, async () => (await ask(`/v1/responses/${previous.id}`)).text())
      for (const again of ['hello', input, input, input]) {
        const body = { model: 'toolloop', input: again, previous_response_id: previous.id }
        const answered = JSON.parse(await post(`continued: ${name}`, '/v1/responses', body))
        if (answered.error === null) previous = answered
      }
    }
    expect(tooLong()).toEqual([])
  })

  it('whatever the built-in tools are called with; and searching through 12 MB takes less than a second', async () => {
    const { post, tooLong, service } = await openService()
    for (const [name, [tool, args]] of Object.entries(builtins)) await post(name, '/v1/runs', { input: call(tool, args) })
    expect(tooLong()).toEqual([])
    await service.measure()
    const found = await service.post('/v1/runs', { input: call('search_files', { query: `${'a'.repeat(63)}b` }) })
    expect(await found.text()).toContain('"count\\":0')
    expect((await service.measure()).cpuMs).toBeLessThan(1_000)
  })

  it('whatever JSON Schema a client sends', async () => {
    const { post, tooLong } = await openService()
    const tool = (name: string, parameters: object) => ({ type: 'function', function: { name, parameters } })
    for (const [name, { schema, args = {} }] of Object.entries(schemas)) {
      const input = call('mine', args)
      await post(`a tool: ${name}`, '/v1/runs', { input, tools: [tool('mine', schema)] })
      const ofAnswer = (json_schema: object) => ({
        model: 'toolloop',
        messages: [user(call('final_answer', args))],
        response_format: { type: 'json_schema', json_schema },
      })
      await post(`an answer: ${name}`, '/v1/chat/completions', ofAnswer({ name: 'a', schema }))
      await post(`an answer of no type: ${name}`, '/v1/chat/completions', ofAnswer({ name: 'a', schema: { ...schema, type: undefined } }))
    }
    const tools = list(128, (at) =>
      tool(`mine_${at}`, { type: 'object', properties: Object.fromEntries(list(60, (n) => [`p${n}`, { type: 'string' }])) }),
    )
    await post('many tools', '/v1/runs', { input: call('mine_7', {}), tools })
    expect(tooLong()).toEqual([])
  })

  it('whatever an MCP client of either protocol sends', async () => {
    const { ask, measured, tooLong } = await openService()
    const send = (body: object, headers: Record<string, string>) =>
      ask('/mcp', {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      })
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
    const opened = await send({ jsonrpc: '2.0', id: 1, method: 'initialize', params }, {})
    await opened.text()
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
    for (const [name, { method, params }] of Object.entries(mcpMessages)) {
      await measured(`with a session: ${name}`, async () => (await send({ jsonrpc: '2.0', id: 2, method, params }, session)).text())
      const tool: Record<string, string> = 'name' in params ? { 'mcp-name': String(params.name).slice(0, 64) } : {}
      const standard = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method.slice(0, 64), ...tool }
      const message = { jsonrpc: '2.0', id: 2, method, params: { ...params, _meta } }
      await measured(`without: ${name}`, async () => (await send(message, standard)).text())
    }
    const many = list(100, (id) => ({ jsonrpc: '2.0', id, ...mcpCall('echo', { text: fill('x', 9_000) }) }))
    await measured('many calls in one message', async () => (await send(many, session)).text())
    const large = list(20, (id) => ({ jsonrpc: '2.0', id, ...mcpCall('strict', { words: list(9_900, () => 1) }) }))
    await measured('many large calls at once', () => Promise.all(large.map(async (one) => (await send(one, session)).text())))
    await measured('many sessions', () =>
      Promise.all(list(50, async () => (await send({ jsonrpc: '2.0', id: 1, method: 'initialize', params }, {})).text())),
    )
    expect(tooLong()).toEqual([])
  })

  it('tasks of an MCP client, whatever they wait for or return', async () => {
    const { ask, measured, tooLong } = await openService()
    const json = { 'content-type': 'application/json' }
    const peer = modernPeer((path, body, headers) =>
      ask(path, { method: 'POST', body: JSON.stringify(body), headers: { ...json, ...headers } }),
    )
    for (const [name, task] of [
      ['a large call that waits', call('pay', { note: fill('x', most - 5_000) })],
      ['a call of many values that waits', call('pay', { note: list(9_990, () => 'x') })],
      ['a large answer', 'say x 3000000'],
    ] as const) {
      const created = await measured(`created: ${name}`, () => peer('tools/call', { name: 'ask_toolloop', arguments: { task } }))
      const taskId = String(created.taskId)
      expect(taskId).toMatch(/^run_/)
      await measured(`shown: ${name}`, () => peer('tasks/get', { taskId }))
      const inputResponses = Object.fromEntries(list(2_400, (at) => [`k${at}`, { action: 'accept', content: { approve: true } }]))
      await measured(`answered: ${name}`, () => peer('tasks/update', { taskId, inputResponses }))
      await measured(`cancelled: ${name}`, () => peer('tasks/cancel', { taskId }))
    }
    await measured('a large id', () => peer('tasks/get', { taskId: fill('x', 4_000) }))
    expect(tooLong()).toEqual([])
  })

  it('however many come at once', async () => {
    const { send, measured, tooLong } = await openService()
    for (const input of [
      call('pay', manySecrets),
      call('echo', { text: fill('x', 500_000) }),
      call('pay', { note: fill('x', most - 100) }),
      call('strict', { words: list(9_990, () => 1) }),
    ])
      await measured(input.slice(0, 30), () => Promise.all(list(20, async () => (await send('/v1/runs', { input })).text())))
    expect(tooLong()).toEqual([])
  })

  it('reading a large paused run, its events and all runs, and deciding on it', async () => {
    const { post, send, ask, measured, tooLong } = await openService()
    const run = JSON.parse(await post('pause', '/v1/runs', { input: call('pay', { note: fill('x', most - 100) }) }))
    expect(run.status).toBe('waiting')
    for (const path of [`/v1/runs/${run.id}`, `/v1/runs/${run.id}/events`, '/v1/runs', '/admin/api/state'])
      await measured(path, async () => (await ask(path)).text())
    const decided = await measured('pause and decision', async () => {
      const paused = JSON.parse(await (await send('/v1/runs', { input: call('pay', { note: fill('x', most - 100) }) })).text())
      const [{ toolCallId, fingerprint }] = paused.pending
      return (await send(`/v1/runs/${paused.id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: true }] })).json()
    })
    expect(decided).toMatchObject({ status: 'ended', output: 'ok' })
    expect(tooLong()).toEqual([])
  })
})
