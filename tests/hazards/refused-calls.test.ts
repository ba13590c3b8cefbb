import { describe, expect, it } from 'vitest'
import { Event } from '../../src/core/events.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import type { MockFault } from '../../src/testing/mock/fault.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { type Mode, nativeModes, rowsFor } from './modes.ts'
import { stage } from './stage.ts'
import { type Counted, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const told = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."

function refusal(written?: string, more: JsonObject = {}): JsonObject {
  return {
    message: told,
    type: 'invalid_request_error',
    code: 'tool_use_failed',
    ...(written === undefined ? {} : { failed_generation: written }),
    ...more,
  }
}

/** The refusal as a status, and inside a stream. */
function refusals(mode: Mode, error: JsonObject): MockFault[] {
  const event =
    mode.wire === 'responses' ? { type: 'error', error } : { ...(mode.wire === 'anthropic-messages' ? { type: 'error' } : {}), error }
  return [{ status: 400, headers: { 'x-should-retry': 'false' }, body: { error } }, { errorInStream: { ...event, status_code: 400 } }]
}

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
  additionalProperties: false,
} as const

function weatherTool(): Counted {
  const calls: unknown[] = []
  const execute = (args: unknown) => {
    calls.push(args)
    return 'sun'
  }
  return { tool: defineTool({ name: 'weather', description: 'The weather.', parameters, execute }), calls }
}

const readable: readonly (readonly [written: string, args: readonly JsonObject[]])[] = [
  ['<function=weather={"city": "Oslo"}</function>', [{ city: 'Oslo' }]],
  ['<function=weather({"city": "Oslo"})></function>', [{ city: 'Oslo' }]],
  ['<function=weather {"city": "Oslo"}></function>', [{ city: 'Oslo' }]],
  ['<function=weather>{"city": "Oslo"}</function>', [{ city: 'Oslo' }]],
  ['<function=weather={"city": "Oslo"}</function><function=weather={"city": "Rome"}</function>', [{ city: 'Oslo' }, { city: 'Rome' }]],
  ['{"name": "weather", "arguments": {"city": "Oslo", "days": "3"}}', [{ city: 'Oslo', days: 3 }]],
  [
    '[{"name": "weather", "parameters": {"city": "Oslo"}}, {"name": "weather", "parameters": {"city": "Rome"}}]',
    [{ city: 'Oslo' }, { city: 'Rome' }],
  ],
  ['<tool_call>{"name": "functions.weather", "arguments": {"city": "Oslo"}}</tool_call>', [{ city: 'Oslo' }]],
]

const unreadable: readonly string[] = [
  '',
  'It will rain.',
  'import csv\nprint(1)',
  '{"city": "Oslo"}',
  '{"name": "weather", "arguments": {"city": ["Oslo"]}}',
  '{"name": "weather", "arguments": {"town": "Oslo"}}',
  '{"name": "rain", "arguments": {"city": "Oslo"}}',
  '[{"name": "weather", "arguments": {"city": "Oslo"}}, {"name": "rain", "arguments": {}}]',
  '<function=weather={"city": "Oslo"',
]

describe.each(nativeModes)('a call that the provider refused as malformed: $name', (mode) => {
  const retries = { settings: { maxRetries: 2 } }

  it('F18 is read from what the provider quotes, if it is unambiguous, and the request is not repeated', async () => {
    for (const [written, args] of rowsFor(mode, readable)) {
      for (const fault of refusals(mode, refusal(written))) {
        const weather = weatherTool()
        await using on = await stage(mode, inOrder(fault, 'Sunny.'), { tools: [weather.tool], ...retries, faults: [fault] })
        const result = await on.run()
        expect(result).toMatchObject({ stopReason: 'answered', output: 'Sunny.', iterations: 2 })
        expect(weather.calls).toEqual(args)
        expect(on.provider.requests).toHaveLength(2)
        for (const { repairs } of result.toolCalls) expect(repairs).toContain('read from the text that the provider refused as malformed')
        expect(result.steps[0]?.warnings?.[0]).toContain(told)
      }
    }
  })

  it('F18 is read from what a gateway quotes of the provider', async () => {
    const quoted = JSON.stringify({ error: refusal('<function=weather={"city": "Oslo"}</function>') })
    const wrapped: JsonObject[] = [
      { message: 'Provider returned error', code: 400, metadata: { raw: quoted, provider_name: 'Groq' } },
      { message: `litellm.BadRequestError: GroqException - ${quoted}`, code: '400' },
    ]
    for (const error of wrapped) {
      const weather = weatherTool()
      await using on = await stage(mode, ['Sunny.'], { tools: [weather.tool], ...retries, faults: [{ status: 400, body: { error } }] })
      expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'Sunny.', iterations: 2 })
      expect(weather.calls).toEqual([{ city: 'Oslo' }])
    }
  })

  it('F18 is requested again otherwise', async () => {
    for (const written of [undefined, ...rowsFor(mode, unreadable)]) {
      for (const fault of refusals(mode, refusal(written))) {
        const weather = weatherTool()
        await using on = await stage(mode, inOrder(fault, 'Sunny.'), { tools: [weather.tool], ...retries, faults: [fault] })
        expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'Sunny.', iterations: 1, steps: [{ retries: 1 }] })
        expect(weather.calls).toEqual([])
      }
    }
  })

  it('F18 ends the run if it recurs, and the error does not quote it', async () => {
    const secret = '{"name": "weather", "arguments": {"town": "hunter2"}}'
    await using on = await stage(mode, ['never'], {
      ...retries,
      faults: { status: 400, body: { error: refusal(secret, { message: null }) } },
    })
    const result = await on.run()
    expect(result).toMatchObject({
      stopReason: 'model_error',
      error: { code: 'bad_response', providerCode: 'tool_use_failed', status: 400 },
    })
    expect(on.provider.requests).toHaveLength(3)
    expect(JSON.stringify([result, on.log])).not.toContain('hunter2')
  })

  it.each([
    [{ toolChoice: 'none' }],
    [{ toolChoice: { type: 'function', function: { name: 'clock' } } }],
    [{ toolCalling: 'native' }],
    [{ enableToolActionParsing: false }],
  ] as const)('F18 does not run with %j', async (options) => {
    const weather = weatherTool()
    const tools = [weather.tool, countingTool('clock').tool]
    const faults: MockFault[] = [{ status: 400, body: { error: refusal('<function=weather={"city": "Oslo"}</function>') } }]
    await using on = await stage(mode, ['Sunny.'], { tools, ...retries, ...options, faults })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'Sunny.' })
    expect(weather.calls).toEqual([])
  })

  it.runIf(mode.streaming)('F18 is reported to watchers like any other call', async () => {
    const weather = weatherTool()
    const faults: MockFault[] = [{ status: 400, body: { error: refusal('I will look. <function=weather>{"city": "Oslo"}</function>') } }]
    await using on = await stage(mode, ['Sunny.'], { tools: [weather.tool], ...retries, faults })
    const seen: unknown[] = []
    on.runner.on(Event.TEXT_DELTA, ({ text }) => seen.push(text))
    on.runner.on(Event.TOOL_INPUT_START, ({ tool }) => seen.push(tool))
    on.runner.on(Event.TOOL_INPUT_DELTA, ({ json }) => seen.push(json))
    const result = await on.run()
    expect(seen.slice(0, 3)).toEqual([expect.stringContaining('I will look.'), 'weather', '{"city":"Oslo"}'])
    expect(result.messages[1]).toMatchObject({
      content: expect.stringContaining('I will look.'),
      toolCalls: [{ function: { name: 'weather' } }],
    })
  })
})

/** A fault inside a stream uses up its turn; a status leaves it for the next request. */
function inOrder(fault: MockFault, answer: string): string[] {
  return fault.status === undefined ? ['', answer] : [answer]
}
