import { describe, expect, expectTypeOf, it } from 'vitest'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import { ToolAgent } from '../../src/agent/tool-agent.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { ToolArgumentsError } from '../../src/core/errors.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { BaseTool, convertToOpenAITool, defineTool, type ToolContext } from '../../src/tools/tool.ts'
import { type ModeScript, nativeModes, type OpenMode } from '../hazards/modes.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

class Weather extends BaseTool<{ city: string }> {
  readonly name = 'weather'
  readonly description = 'The weather in a city.'
  readonly parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  readonly calls: { city: string; toolCallId: string }[] = []

  execute({ city }: { city: string }, { toolCallId }: ToolContext) {
    this.calls.push({ city, toolCallId })
    if (city === 'Atlantis') throw new Error('no such place')
    return `sunny in ${city}`
  }
}

const clock = defineTool({ name: 'clock', description: 'The time.', execute: () => '12:00' })

class Concierge extends CustomAgent {}

const system = 'You help.\n  {"name": "not a tool"}\t“quoted” '
const callWeather = (city = 'Oslo', id = 'call_a') => ({ toolCalls: [{ id, name: 'weather', arguments: { city } }] })

// These rows speak of OpenAI's wire, word for word.
describe.each(nativeModes.filter(({ wire }) => wire === 'chat-completions'))('$name', (mode) => {
  async function open(script: ModeScript): Promise<OpenMode & { options: Partial<RunnerOptions> }> {
    return mode.open(script)
  }

  const toolAgent = ({ model, options }: OpenMode, more: Partial<RunnerOptions> = {}) =>
    new ToolAgent({ model, instructions: system, ...options, ...more })
  const generate = (agent: ToolAgent, { options }: OpenMode, input = 'hi') => agent.generate(input, { ...options })

  it('S0-1 S0-5 tool definitions reach the API in `tools`, exactly the bound schemas, in order', async () => {
    await using opened = await open(['ok'])
    await generate(toolAgent(opened).bindTools([new Weather(), clock]), opened)
    expect(opened.provider.requests[0]?.body.tools).toEqual([
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'The weather in a city.',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
      {
        type: 'function',
        function: { name: 'clock', description: 'The time.', parameters: { type: 'object', properties: {}, additionalProperties: false } },
      },
    ])
  })

  it('S0-3 the system message is byte-identical to the caller’s', async () => {
    await using opened = await open(['ok'])
    await generate(toolAgent(opened).bindTools([new Weather()]), opened)
    const messages = opened.provider.requests[0]?.body.messages
    expect(messages).toEqual([
      { role: 'system', content: system },
      { role: 'user', content: 'hi' },
    ])
  })

  it('S0-4 bindTools sends nothing by itself', async () => {
    await using opened = await open(['ok'])
    toolAgent(opened).bindTools([new Weather()])
    expect(opened.provider.requests).toHaveLength(0)
  })

  it('S0-6 after bindTools([]) there is neither `tools` nor `tool_choice`, and the model answers with text', async () => {
    await using opened = await open(['just text'])
    const agent = toolAgent(opened, { tools: [clock], toolChoice: 'required' }).bindTools([])
    const message = await generate(agent, opened)
    expect(Object.keys(opened.provider.requests[0]?.body ?? {})).not.toContain('tools')
    expect(Object.keys(opened.provider.requests[0]?.body ?? {})).not.toContain('tool_choice')
    expect(message.content).toBe('just text')
  })

  it('S0-7 a second bindTools replaces the first', async () => {
    await using opened = await open(['ok'])
    await generate(toolAgent(opened).bindTools([new Weather()]).bindTools([clock]), opened)
    expect(opened.requests()[0]?.tools?.map(({ function: { name } }) => name)).toEqual(['clock'])
  })

  it('S0-8 S0-11 JSON-looking text in the content is never read as a call; `toolCalls` is [] then', async () => {
    const text = '{"name": "weather", "arguments": {"city": "Oslo"}}'
    await using opened = await open([text])
    const message = await generate(toolAgent(opened).bindTools([new Weather()]), opened)
    expect(message).toEqual({ role: 'assistant', content: text, toolCalls: [], finishReason: 'stop', usage: expect.anything() })
  })

  it('S0-9 S0-10 calls come with id, name and parsed arguments, in the order of the response', async () => {
    await using opened = await open([
      {
        text: 'let me see',
        toolCalls: [
          { id: 'b', name: 'weather', arguments: { city: 'Oslo' } },
          { id: 'a', name: 'clock' },
          { id: 'c', name: 'weather', arguments: { city: 'Rome' } },
        ],
      },
    ])
    const message = await generate(toolAgent(opened).bindTools([new Weather(), clock]), opened)
    expect(message.content).toBe('let me see')
    expect(message.toolCalls).toEqual([
      { id: 'b', name: 'weather', arguments: { city: 'Oslo' } },
      { id: 'a', name: 'clock', arguments: {} },
      { id: 'c', name: 'weather', arguments: { city: 'Rome' } },
    ])
  })

  it.each(['{"city": Oslo}', '["Oslo"]', '"Oslo"', 'null'])(
    'S0-12 arguments %s: generate throws ToolArgumentsError with the tool and the raw text',
    async (raw) => {
      await using opened = await open([{ toolCalls: [{ name: 'weather', arguments: raw }] }])
      const error: unknown = await generate(toolAgent(opened).bindTools([new Weather()]), opened).then(
        () => 'resolved',
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(ToolArgumentsError)
      expect(error).toMatchObject({ code: 'invalid_arguments_json', toolName: 'weather', rawArguments: raw })
      expect(String(error)).toContain('weather')
      expect(String(error)).toContain(raw)
    },
  )

  it('S0-13 S0-14 S0-15 CustomAgent.run runs the tool, appends its message, and asks again with call and result until the model answers', async () => {
    const weather = new Weather()
    await using opened = await open([{ text: 'looking', ...callWeather() }, callWeather('Rome', 'call_b'), 'Both are sunny.'])
    const agent = new Concierge({ model: opened.model, ...opened.options, tools: [weather] })
    const result = await agent.run('Oslo and Rome?')
    expect(weather.calls).toEqual([
      { city: 'Oslo', toolCallId: 'call_a' },
      { city: 'Rome', toolCallId: 'call_b' },
    ])
    expect(result.messages[2]).toMatchObject({ role: 'tool', content: 'sunny in Oslo', toolCallId: 'call_a' })
    const [, second, third] = opened.provider.requests.map(({ body }) => body.messages)
    expect(second).toEqual([
      { role: 'user', content: 'Oslo and Rome?' },
      {
        role: 'assistant',
        content: 'looking',
        tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }],
      },
      { role: 'tool', content: 'sunny in Oslo', tool_call_id: 'call_a' },
    ])
    expect(third).toHaveLength(5)
    expect(result).toMatchObject({ output: 'Both are sunny.', stopReason: 'answered', iterations: 3 })
  })

  it('S0-16 a tool that throws: its message is the tool message, and the run goes on', async () => {
    await using opened = await open([callWeather('Atlantis'), 'No such place.'])
    const { logger } = recordingLogger()
    const result = await new Concierge({ model: opened.model, ...opened.options, tools: [new Weather()], logger }).run('Atlantis?')
    expect(result.messages[2]).toMatchObject({ role: 'tool', content: 'no such place', toolCallId: 'call_a' })
    expect(result).toMatchObject({ output: 'No such place.', stopReason: 'answered' })
  })

  it('S0-17 S0-18 S0-19 a model that always calls is asked exactly 5 times; the run resolves with its last response and one warning', async () => {
    const always = (): MockReply => ({ text: 'once more', ...callWeather() })
    await using opened = await open(always)
    const { logger, records } = recordingLogger()
    const weather = new Weather()
    const result = await new Concierge({ model: opened.model, ...opened.options, tools: [weather], logger }).run('forever')
    expect(opened.provider.requests).toHaveLength(5)
    expect(weather.calls).toHaveLength(5)
    expect(result).toMatchObject({ output: 'once more', stopReason: 'max_iterations', iterations: 5 })
    expect(records.filter(({ level }) => level === 'warn')).toHaveLength(1)
    expect(records.filter(({ level }) => level === 'warn')[0]?.fields).toMatchObject({ stopReason: 'max_iterations', iterations: 5 })
  })

  it.each([1, 2, 7])('S0-20 maxIterations %i is honoured', async (maxIterations) => {
    let made = 0
    await using opened = await open(() => callWeather(`city ${made++}`, `call_${made}`))
    const { logger } = recordingLogger()
    const result = await new Concierge({ model: opened.model, ...opened.options, tools: [new Weather()], maxIterations, logger }).run(
      'forever',
    )
    expect(opened.provider.requests).toHaveLength(maxIterations)
    expect(result.stopReason).toBe('max_iterations')
  })
})

describe('without a provider', () => {
  const model = createModel({ provider: 'custom', model: 'none', baseURL: 'http://127.0.0.1:9' })

  it('S0-2 convertToOpenAITool gives the definition in OpenAI’s shape', () => {
    expect(convertToOpenAITool(new Weather())).toEqual({
      type: 'function',
      function: {
        name: 'weather',
        description: 'The weather in a city.',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    })
  })

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5'])('S0-20 maxIterations %s throws at construction', (maxIterations) => {
    expect(() => new Concierge({ model, maxIterations: maxIterations as number })).toThrow(
      /Expected `maxIterations` to be an integer ≥ 1, got `/,
    )
  })

  it('S0-27 a model takes native tool calls unless it is told otherwise', () => {
    expect(model.capabilities.nativeTools).toBe(true)
    expect(
      createModel({ provider: 'custom', model: 'none', baseURL: 'http://127.0.0.1:9', functionCalling: false }).capabilities.nativeTools,
    ).toBe(false)
  })

  it('S0-30 CustomAgent and BaseTool are abstract classes meant to be subclassed', () => {
    expectTypeOf<typeof CustomAgent>().not.toExtend<new (options: RunnerOptions) => unknown>()
    expectTypeOf<typeof BaseTool>().not.toExtend<new () => unknown>()
    expect(new Concierge({ model })).toBeInstanceOf(CustomAgent)
    expect(new Weather()).toBeInstanceOf(BaseTool)
  })
})
