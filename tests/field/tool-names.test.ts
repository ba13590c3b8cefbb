import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { createModel } from '../../src/models/create-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { chunk, events } from '../models/local-server.ts'
import { serve, type Wire, wires } from './wires.ts'

const [chat] = wires as [Wire]
const google = wires.find((wire) => wire.provider === 'google') as Wire

/** Runs an agent with `get_weather` and `get` against a server that answers with these bodies. `ran` has the arguments of each call. */
async function run(provider: string, ...bodies: string[]) {
  await using server = await serve(...bodies)
  const ran: unknown[] = []
  const started: string[] = []
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false } as const
  const execute = (args: unknown) => {
    ran.push(args)
    return 'sunny'
  }
  const model = createModel({ provider, model: 'm', baseURL: server.baseURL, apiKey: 'k', maxRetries: 0 })
  const tools = ['get_weather', 'get', 'read_file'].map((name) => defineTool({ name, description: name, parameters, execute }))
  const runner = new AgentRunner({ model, tools, logger: recordingLogger().logger })
  runner.on(Event.TOOL_INPUT_START, ({ tool }) => started.push(tool))
  const result = await runner.run('Weather?')
  const names = result.messages.flatMap((message) => ('toolCalls' in message ? message.toolCalls.map((call) => call.function.name) : []))
  return { result, ran, started, names, requests: server.requests }
}

const piece = (name: string | null, json: string | null, more: object = {}) => ({
  index: 0,
  ...more,
  function: { ...(name === null ? {} : { name }), ...(json === null ? {} : { arguments: json }) },
})
const stream = (...calls: ReturnType<typeof piece>[]) =>
  events(...calls.map((call) => chunk({ tool_calls: [call] })), chunk({}, 'tool_calls'), '[DONE]')
const id = { id: 'call_1', type: 'function' }
const city = '{"city":"Oslo"}'

describe('tool names in fragments', () => {
  it.for<[string, string]>([
    ['with the id in the first', stream(piece('get_', '', id), piece('weather', ''), piece(null, '{"city":'), piece(null, '"Oslo"}'))],
    ['with the id in each', stream(piece('get', '', id), piece('_wea', '', id), piece('ther', '', id), piece(null, city, id))],
    ['with the arguments in the last', stream(piece('get_', null, id), piece('weather', city))],
    ['without an id', stream(piece('get_', null), piece('weather', null), piece(null, city))],
    ['with an id of its own each', stream(piece('get_', null, { id: 'a' }), piece('weather', null, { id: 'b' }), piece(null, city))],
    ['of one character', stream(...[...'get_weather'].map((char) => piece(char, '', id)), piece(null, city))],
    ['each longer than the last', stream(piece('get_', '', id), piece('get_wea', ''), piece('get_weather', ''), piece(null, city))],
    ['that repeat the whole name', stream(piece('get_weather', '', id), piece('get_weather', '{"city":'), piece('get_weather', '"Oslo"}'))],
  ])('F12 %s are one call of `get_weather`', async ([, body]) => {
    const { result, ran, started, names, requests } = await run('custom', body, chat.answer({ text: 'Sunny.' }))
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Sunny.' })
    expect(ran).toEqual([{ city: 'Oslo' }])
    expect([started, names]).toEqual([['get_weather'], ['get_weather']])
    expect(requests[1]?.text).toContain('"name":"get_weather"')
  })

  const part = (functionCall: JsonObject): JsonObject => ({ functionCall })
  const args = { city: 'Oslo' }
  it.for<[string, JsonObject[]]>([
    ['with the arguments in the last', [part({ name: 'get_' }), part({ name: 'weather', args })]],
    ['with the arguments in a part of their own', [part({ name: 'get_', args: {} }), part({ name: 'weather', args: {} }), part({ args })]],
    ['with one id', [part({ id: 'a', name: 'get_', willContinue: true }), part({ id: 'a', name: 'weather', args })]],
    ['with an id each', [part({ id: 'a', name: 'get_' }), part({ id: 'b', name: 'weather' }), part({ id: 'b', args })]],
    ['of one character', [...[...'read_file'].map((name) => part({ name })), part({ args })]],
    ['each longer than the last', [part({ name: 'get_' }), part({ name: 'get_wea' }), part({ name: 'get_weather', args })]],
  ])('F12 in parts of Gemini’s API %s are one call', async ([, parts]) => {
    const chunks = parts.map((given) => ({ candidates: [{ index: 0, content: { role: 'model', parts: [given] } }] }))
    const body = events(...chunks, { candidates: [{ index: 0, finishReason: 'STOP' }] })
    const { result, ran, started, names } = await run('google', body, google.answer({ text: 'Sunny.' }))
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Sunny.' })
    expect(ran).toEqual([args])
    expect(names).toHaveLength(1)
    expect(started).toEqual(names)
  })

  it('F12 keep two Gemini calls without arguments apart', async () => {
    const parts = [part({ name: 'get' }), part({ name: 'get_weather' })]
    const body = events({ candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }] })
    const { names } = await run('google', body, google.answer({ text: 'Done.' }))
    expect(names).toEqual(['get', 'get_weather'])
  })

  it('F12 call a tool whose name is the start of another tool’s', async () => {
    const { ran, names } = await run('custom', stream(piece('get', '', id), piece(null, '{}')), chat.answer({ text: 'Done.' }))
    expect([ran, names]).toEqual([[{}], ['get']])
  })

  it('F12 keep two calls apart if one tool’s name is the start of the other’s', async () => {
    const body = stream(piece('get', '{}'), piece('get_weather', city))
    const { names } = await run('custom', body, chat.answer({ text: 'Done.' }))
    expect(names).toEqual(['get', 'get_weather'])
  })

  it('F12 are reported to the model as they arrived if they form no tool’s name', async () => {
    const { result, ran } = await run('custom', stream(piece('get_x', city, id)), chat.answer({ text: 'Sorry.' }))
    expect(ran).toEqual([])
    expect(result.messages[2]?.content).toContain('Tool not found: get_x.')
  })
})

describe.for(wires)('tool names with markup on $provider', ({ provider, answer }) => {
  it.for([
    'get_weather<|channel|>commentary',
    'get_weather<|channel|>analysis',
    'functions.get_weather<|constrain|>json',
    'functions.get_weather',
    'assistantcommentary to=functions.get_weather json',
    'assistant<|channel|>commentary to=functions.get_weather <|constrain|>json',
    'get_weather json',
  ])('F12 %j is `get_weather`, also in the history', async (name) => {
    const { result, ran, started, names, requests } = await run(
      provider,
      answer({ calls: [{ id: 'call_1', name, args: { city: 'Oslo' } }] }),
      answer({ text: 'Sunny.' }),
    )
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Sunny.' })
    expect(ran).toEqual([{ city: 'Oslo' }])
    expect([started, names]).toEqual([['get_weather'], ['get_weather']])
    expect(result.toolCalls[0]?.repairs).toEqual([`name \`${name}\` read as \`get_weather\``])
    expect(requests[1]?.text).not.toMatch(/<\||commentary|functions\./)
  })

  it('F12 are never sent back with markup, even for an unknown tool', async () => {
    const { result, ran, names, requests } = await run(
      provider,
      answer({ calls: [{ id: 'call_1', name: 'get_time<|channel|>commentary', args: {} }] }),
      answer({ text: 'Sorry.' }),
    )
    expect(ran).toEqual([])
    expect(names).toEqual(['get_time'])
    expect(result.messages[2]?.content).toContain('Tool not found: get_time.')
    expect(requests[1]?.text).not.toMatch(/<\||commentary/)
  })
})
