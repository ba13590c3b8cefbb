import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { isModelError, type ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { completion, cuts, eventStream, events, sendCut, startServer } from './local-server.ts'
import { hello } from './one-request.ts'

const call: JsonObject = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '', status: 'in_progress' }
const custom: JsonObject = { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_1', name: 'weather', input: '', status: 'in_progress' }
const whole = '{"city":"Oslo"}'
const place = { output_index: 0, item_id: 'fc_1' }
const added = (item: JsonObject): JsonObject => ({ type: 'response.output_item.added', output_index: 0, item })
const itemDone = (item: JsonObject): JsonObject => ({
  type: 'response.output_item.done',
  output_index: 0,
  item: { ...item, status: 'completed' },
})
const piece = (delta: string): JsonObject => ({ type: 'response.function_call_arguments.delta', ...place, delta })
const argumentsDone = (json: string): JsonObject => ({ type: 'response.function_call_arguments.done', ...place, arguments: json })
const completed = (output?: JsonObject[]): JsonObject => ({
  type: 'response.completed',
  response: { id: 'r', status: 'completed', ...(output === undefined ? {} : { output }) },
})
const tools = [{ type: 'function' as const, function: { name: 'weather', description: 'W.', parameters: { type: 'object' } } }]

/**
 * The response to exactly these events, however they are split. Checks that its calls are what the sink received, unless pieces were
 * missing.
 */
async function answer(...stream: (JsonObject | string)[]): Promise<ModelResponse> {
  const found: ModelResponse[] = []
  for (const cut of cuts) {
    await using server = await startServer((response) => sendCut(eventStream(response), Buffer.from(events(...stream)), cut))
    const model = createModel({ provider: 'responses-compatible', model: 'm', apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 })
    const shown: string[] = []
    const response = await model.generate(
      { messages: hello, tools },
      {
        toolCallStart: () => void shown.push(''),
        toolCallDelta: (index, json) => {
          shown[index] += json
        },
      },
    )
    const isMended = response.warnings?.some((warning) => warning.includes('pieces missing')) ?? false
    if (!isMended) expect(shown).toEqual(response.toolCalls.map((one) => one.function.arguments))
    found.push(response)
  }
  const [first, ...others] = found
  if (first === undefined) throw new Error('no answer')
  for (const other of others) expect(other).toEqual(first)
  return first
}

const oneCall = (json: string, name = 'weather') => ({
  finishReason: 'tool_calls',
  toolCalls: [{ id: 'call_1', function: { name, arguments: json } }],
})

describe('arguments of calls of the Responses API', () => {
  const forms: [name: string, stream: (JsonObject | string)[]][] = [
    ['in `arguments.done` alone', [added(call), argumentsDone(whole), completed()]],
    ['in the item alone', [itemDone({ ...call, arguments: whole }), completed()]],
    ['in the announced item when it is done', [added(call), itemDone({ ...call, arguments: whole }), completed()]],
    ['in the response alone', [completed([{ ...call, arguments: whole }])]],
    ['in the response, after an empty item', [added(call), itemDone(call), completed([{ ...call, arguments: whole }])]],
    ['in pieces that end early, whole in `arguments.done`', [added(call), piece('{"ci'), argumentsDone(whole), completed()]],
    ['in pieces that end early, whole in the item', [added(call), piece('{"ci'), itemDone({ ...call, arguments: whole }), completed()]],
    ['in pieces that end early, whole in the response', [added(call), piece('{"ci'), completed([{ ...call, arguments: whole }])]],
    ['in pieces, of which the first are missing', [added(call), piece('"Oslo"}'), argumentsDone(whole), completed()]],
    ['in pieces, of which one is missing', [added(call), piece('{"city'), piece('Oslo"}'), argumentsDone(whole), completed()]],
    ['in `arguments.done`, and empty in the item', [added(call), argumentsDone(whole), itemDone(call), completed()]],
    ['in `arguments.done`, with a piece that comes too late', [added(call), argumentsDone(whole), piece('x'), completed()]],
    [
      'in pieces that are told again',
      [added(call), piece(whole), argumentsDone(whole), itemDone({ ...call, arguments: whole }), completed()],
    ],
    ['in an object', [added(call), itemDone({ ...call, arguments: { city: 'Oslo' } }), completed()]],
    ['in pieces before the item', [piece('{"city":'), piece('"Oslo"}'), itemDone({ ...call, arguments: '' }), completed()]],
    ['in `arguments.done` before the item', [argumentsDone(whole), itemDone({ ...call, arguments: '' }), completed()]],
    ['in pieces alone', [added(call), piece(whole), completed([])]],
  ]
  it.each(forms)('F10 %s', async (_name, stream) => {
    expect(await answer(...stream)).toMatchObject(oneCall(whole))
  })

  it('F10 of a custom tool are read in `input.done`, with or without pieces before', async () => {
    const own = { output_index: 0, item_id: 'ctc_1' }
    const inputDone = { type: 'response.custom_tool_call_input.done', ...own, input: 'in "Oslo"' }
    const begun = { type: 'response.custom_tool_call_input.delta', ...own, delta: 'in' }
    const input = '{"input":"in \\"Oslo\\""}'
    expect(await answer(added(custom), inputDone, completed())).toMatchObject(oneCall(input))
    expect(await answer(added(custom), begun, inputDone, completed())).toMatchObject(oneCall(input))
    expect(await answer(added(custom), begun, inputDone, itemDone({ ...custom, input: 'in "Oslo"' }), completed())).toMatchObject(
      oneCall(input),
    )
    expect(await answer(added(custom), begun, completed([{ ...custom, input: 'in "Oslo"' }]))).toMatchObject(oneCall(input))
    expect(await answer(added(custom), begun, completed())).toMatchObject({ finishReason: 'length' })
  })

  it('F10 that never arrive mean that the call is cut off, unless its item is done', async () => {
    expect(await answer(added(call), completed())).toMatchObject({ finishReason: 'length' })
    expect(await answer(added(call), piece('{"ci'), completed())).toMatchObject({ finishReason: 'length' })
    expect(await answer(added(call), itemDone(call), completed())).toMatchObject(oneCall(''))
    expect(await answer(added(call), argumentsDone(''), completed())).toMatchObject(oneCall(''))
  })

  it('F10 H15 that never arrive keep the call from running, and the model is told', async () => {
    const ran: unknown[] = []
    const weather = defineTool({ name: 'weather', description: 'W.', parameters: { type: 'object' }, execute: (args) => ran.push(args) })
    const said = { type: 'response.output_text.delta', output_index: 0, item_id: 'm', delta: 'I try again.' }
    const replies = [events(added(call), completed()), events(said, completed())]
    await using server = await startServer((response, _request, index) => eventStream(response).end(replies[index]))
    const model = createModel({ provider: 'responses-compatible', model: 'm', apiKey: 'k', baseURL: server.baseURL })
    const result = await new AgentRunner({ model, tools: [weather], logger: recordingLogger().logger }).run('go')
    expect(ran).toEqual([])
    expect(result).toMatchObject({ stopReason: 'answered', toolCalls: [{ errorCode: 'tool_call_truncated' }] })
  })

  it('F10 H10 in two different sets are reported once, however often they are repeated, and don’t parse', async () => {
    const other = '{"city":"Rome"}'
    const last = { ...call, arguments: other }
    const response = await answer(added(call), piece(whole), argumentsDone(other), itemDone(last), completed([last]))
    expect(response.warnings).toEqual(['Tool call `weather` came with two different sets of arguments'])
    expect(response.toolCalls[0]?.function.arguments).toBe(`${whole}${other}`)
  })

  it('F10 are not removed by an item without any', async () => {
    for (const json of ['{}', '']) {
      const last = { ...call, arguments: json }
      expect(await answer(added(call), argumentsDone(whole), itemDone(last), completed([last]))).toMatchObject(oneCall(whole))
      const cut = await answer(added(call), piece('{"ci'), itemDone(last), completed([last]))
      expect(cut.finishReason).toBe('length')
    }
  })

  it('F10 belong to their own parallel call, however they arrive', async () => {
    const second = { ...call, id: 'fc_2', call_id: 'call_2' }
    const response = await answer(
      added(call),
      { type: 'response.output_item.added', output_index: 1, item: second },
      { ...argumentsDone('{"city":"Rome"}'), output_index: 1, item_id: 'fc_2' },
      piece('{"ci'),
      argumentsDone(whole),
      completed(),
    )
    expect(response.toolCalls).toMatchObject([
      { id: 'call_1', function: { arguments: whole } },
      { id: 'call_2', function: { arguments: '{"city":"Rome"}' } },
    ])
  })
})

describe('texts of the Responses API', () => {
  const message: JsonObject = { id: 'm', type: 'message', role: 'assistant', content: [] }
  const begun = { type: 'response.output_text.delta', output_index: 0, item_id: 'm', content_index: 0, delta: 'Sun' }
  const textDone = { type: 'response.output_text.done', output_index: 0, item_id: 'm', content_index: 0, text: 'Sunny.' }

  it('F10 are read even if they are only complete in `output_text.done`', async () => {
    expect(await answer(added(message), textDone, completed())).toMatchObject({ text: 'Sunny.' })
    expect(await answer(added(message), begun, textDone, completed())).toMatchObject({ text: 'Sunny.' })
    expect(await answer(textDone, completed())).toMatchObject({ text: 'Sunny.' })
    const refused = { type: 'response.refusal.done', output_index: 0, item_id: 'm', content_index: 0, refusal: 'No.' }
    expect(await answer(added(message), refused, completed())).toMatchObject({ text: 'No.', finishReason: 'refusal' })
  })
})

describe('ends of a stream of the Responses API', () => {
  const message: JsonObject = { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Sunny.' }] }
  const codeOf = async (...stream: (JsonObject | string)[]): Promise<string> => {
    const error: unknown = await answer(...stream).catch((thrown: unknown) => thrown)
    return isModelError(error) ? error.code : JSON.stringify(error)
  }

  it('F10 `response.done` is one, with its status', async () => {
    const done = (status?: string): JsonObject => ({
      type: 'response.done',
      response: { id: 'r', ...(status === undefined ? {} : { status }) },
    })
    expect(await answer(itemDone({ ...call, arguments: whole }), done('completed'))).toMatchObject(oneCall(whole))
    expect(await answer(itemDone(message), done())).toMatchObject({ text: 'Sunny.', finishReason: 'stop' })
    expect(await answer(itemDone(message), done('incomplete'))).toMatchObject({ text: 'Sunny.', finishReason: 'length' })
    expect(await codeOf(itemDone(message), done('failed'))).toBe('provider_error')
  })

  it('F10 `response.completed` is one, even if the response in it has its initial status', async () => {
    for (const status of [null, 'in_progress', 'queued']) {
      const ended = { type: 'response.completed', response: { id: 'r', status } }
      expect(await answer(itemDone(message), ended)).toMatchObject({ text: 'Sunny.', finishReason: 'stop' })
      expect(await answer(itemDone(message), { ...ended, type: 'response.incomplete' })).toMatchObject({ finishReason: 'length' })
    }
  })

  it('F10 `[DONE]` is one after items that are done', async () => {
    const warnings = ['The response ended without `response.completed`']
    expect(await answer(added(call), piece(whole), itemDone({ ...call, arguments: whole }), '[DONE]')).toMatchObject({
      ...oneCall(whole),
      warnings,
    })
    expect(await answer(added(call), argumentsDone(whole), '[DONE]')).toMatchObject({ ...oneCall(whole), warnings })
    expect(await answer(added(message), itemDone(message), '[DONE]')).toMatchObject({ text: 'Sunny.', finishReason: 'stop', warnings })
  })

  it('F10 H40 neither an open item nor an empty stream is an end', async () => {
    expect(await codeOf(added(call), piece('{"ci'), '[DONE]')).toBe('stream_cut')
    expect(await codeOf(added(call), '[DONE]')).toBe('stream_cut')
    expect(await codeOf('[DONE]')).toBe('stream_cut')
    expect(await codeOf(added(call), itemDone({ ...call, arguments: whole }))).toBe('stream_cut')
  })
})

describe('calls of Chat Completions that are repeated at the end', () => {
  const begun = (json: string): JsonObject => ({
    ...completion({}),
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'weather', arguments: json } }] } }],
  })
  const last = (json: string): JsonObject =>
    completion({ tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: json } }] }, 'tool_calls')

  it.each([
    ['no arguments', '', whole, whole],
    ['arguments that end early', '{"ci', whole, whole],
    ['whole arguments', whole, '{"city":"Oslo"}', whole],
    ['whole arguments, and other ones at the end', whole, '{}', whole],
    ['whole arguments, and none at the end', whole, '', whole],
  ])('F10 %s in pieces: missing parts are taken from the closing message', async (_name, first, again, expected) => {
    await using server = await startServer((response) => eventStream(response).end(events(begun(first), last(again), '[DONE]')))
    const model = createModel({ provider: 'custom', model: 'm', baseURL: server.baseURL, maxRetries: 0 })
    expect(await model.generate({ messages: hello, tools })).toMatchObject(oneCall(expected))
  })
})
