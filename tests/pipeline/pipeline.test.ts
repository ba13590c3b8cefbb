import { describe, expect, it } from 'vitest'
import type { RunResult } from '../../src/agent/types/options.ts'
import { EventBus } from '../../src/core/callbacks/event-bus.ts'
import { Event, type EventMeta, type EventName } from '../../src/core/events.ts'
import { switchableModel } from '../../src/models/combined/switchable.ts'
import { createModel } from '../../src/models/create-model.ts'
import { AnthropicPipeline, createPipeline, LLMPipeline, type PipelineOptions } from '../../src/pipeline/index.ts'
import type { MockProvider } from '../../src/testing/index.ts'
import { findWire } from '../../src/testing/mock/wires.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { type Mode, type ModeScript, type OpenOptions, quickModes, streamingModes } from '../hazards/modes.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { call } from '../hazards/tools.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'

failOnUnhandledRejections()

const weather: AnyTool = defineTool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => `clear in ${city}`,
})
const asksWeather = call('weather', { city: 'Oslo' })

interface Spoken {
  text: string
  meta: EventMeta
}

async function open(mode: Mode, script: ModeScript, { faults, settings, ...options }: PipelineOptions & OpenOptions = {}) {
  const opened = await mode.open(script, { ...(faults && { faults }), ...(settings && { settings }) })
  const { logger } = recordingLogger()
  const pipeline = new LLMPipeline({ logger, ...options, ...opened.options, model: opened.model })
  const spoken: Spoken[] = []
  const texts = () => spoken.map(({ text }) => text)
  pipeline.on(Event.LLM_SENTENCE, ({ text }, meta) => void spoken.push({ text, meta }))
  return { pipeline, spoken, texts, provider: opened.provider, [Symbol.asyncDispose]: () => opened.close() }
}

/** Whether each request had the tool, as a definition or in the prompt, and whether it asked for a stream. */
function asked({ requests }: MockProvider): { tools: boolean; stream: boolean }[] {
  return requests.map(({ path, body, rawBody }) => ({
    tools: rawBody.includes(weather.description),
    stream: body.stream === true || path.includes(':streamGenerateContent'),
  }))
}

describe.each(quickModes)('LLMPipeline: $name', (mode) => {
  it('S4-14 S4-15 publishes the final text with tools bound, one event per sentence, and nothing from before a call', async () => {
    await using on = await open(mode, [
      { text: 'Let me look. One moment', toolCalls: [asksWeather] },
      'It is 3.5 degrees, e.g. cold. 再见！Bye',
    ])
    on.pipeline.setToolRegistry(new ToolRegistry([weather]))
    const result = await on.pipeline.generate('Oslo?')
    expect(result).toMatchObject({ stopReason: 'answered', iterations: 2, output: 'It is 3.5 degrees, e.g. cold. 再见！Bye' })
    const meta = { runId: result.runId, iteration: 2, time: expect.any(Number) }
    expect(on.spoken).toEqual([
      { text: 'It is 3.5 degrees, e.g. cold.', meta },
      { text: '再见！', meta },
      { text: 'Bye', meta },
    ])
    expect(asked(on.provider)).toEqual([
      { tools: true, stream: mode.streaming },
      { tools: true, stream: mode.streaming },
    ])
  })

  it('S4-14 with `speakInterim`, publishes the text before a call before the call runs', async () => {
    await using on = await open(mode, [{ text: 'Let me look. One moment', toolCalls: [asksWeather] }, 'It is clear. Bye'], {
      speakInterim: true,
    })
    on.pipeline.setToolRegistry(new ToolRegistry([weather]))
    const order: string[] = []
    on.pipeline.on(Event.LLM_SENTENCE, ({ text }, { iteration }) => void order.push(`${iteration} ${text}`))
    on.pipeline.on(Event.TOOL_CALL_START, ({ tool }) => void order.push(tool))
    on.pipeline.on(Event.RUN_END, ({ stopReason }) => void order.push(stopReason))
    await on.pipeline.generate('Oslo?')
    expect(order).toEqual(['1 Let me look.', '1 One moment', 'weather', '2 It is clear.', '2 Bye', 'answered'])
  })

  it('lets an option of the call take precedence', async () => {
    const script = () => [{ text: 'I look.', toolCalls: [asksWeather] }, 'Clear.']
    await using on = await open(mode, [...script(), ...script()], { speakInterim: true })
    on.pipeline.setToolRegistry(new ToolRegistry([weather]))
    await on.pipeline.generate('Oslo?', { speakInterim: false })
    expect(on.texts()).toEqual(['Clear.'])
    await on.pipeline.generate('Oslo?', { speakInterim: undefined })
    expect(on.texts()).toEqual(['Clear.', 'I look.', 'Clear.'])
  })

  it('leaves the conversation to the caller: it is passed in and returned', async () => {
    await using on = await open(mode, ['I am Ada.', 'Ada, as I said.'])
    const first = await on.pipeline.generate('Who are you?')
    const second = await on.pipeline.generate([...first.messages, { role: 'user', content: 'Who?' }])
    expect(second.messages.map(({ content }) => content)).toEqual(['Who are you?', 'I am Ada.', 'Who?', 'Ada, as I said.'])
    await on.pipeline.generate('New.', { messages: [] }).then(({ messages }) => expect(messages[0]?.content).toBe('New.'))
  })

  it('speaks an answer requested at the limit; a run that ends there without one is silent', async () => {
    const looking = { text: 'I look.', toolCalls: [asksWeather] }
    await using on = await open(mode, [looking, 'I think so. Yes', looking], { tools: [weather], maxIterations: 1 })
    expect(await on.pipeline.generate('Oslo?', { onLimit: 'answer' })).toMatchObject({ stopReason: 'max_iterations' })
    expect(on.texts()).toEqual(['I think so.', 'Yes'])
    expect(await on.pipeline.generate('Oslo?')).toMatchObject({ stopReason: 'max_iterations', output: 'I look.' })
    expect(on.texts()).toEqual(['I think so.', 'Yes'])
  })

  it.each([true, false])('does not speak the unfinished sentence of a response that a filter stopped (tools: %s)', async (withTools) => {
    await using on = await open(mode, [{ text: 'One. Two', finishReason: 'content_filter' }], { tools: withTools ? [weather] : [] })
    expect(await on.pipeline.generate('go')).toMatchObject({ stopReason: 'refused', error: { code: 'content_filter' } })
    expect(on.texts()).toEqual(withTools ? [] : ['One.'])
  })

  it.runIf(findWire(mode.wire).traits.refusals).each([true, false])('speaks a refusal (tools: %s)', async (withTools) => {
    await using on = await open(mode, [{ text: 'No. I will not', finishReason: 'refusal' }], { tools: withTools ? [weather] : [] })
    expect(await on.pipeline.generate('go')).toMatchObject({ stopReason: 'refused', error: { code: 'refusal' } })
    expect(on.texts()).toEqual(['No.', 'I will not'])
  })

  it.each([true, false])('F7 speaks an answer that was cut off as far as it arrived (tools: %s)', async (withTools) => {
    await using on = await open(mode, [{ text: 'One. Two and', finishReason: 'length' }], { tools: withTools ? [weather] : [] })
    expect(await on.pipeline.generate('go')).toMatchObject({ stopReason: 'truncated', output: 'One. Two and' })
    expect(on.texts()).toEqual(['One.', 'Two and'])
  })

  it.each([true, false])('F7 speaks a continued answer as one (tools: %s)', async (withTools) => {
    const script: ModeScript = [{ text: 'One. Two and', finishReason: 'length' }, ' a half. Three.']
    await using on = await open(mode, script, { tools: withTools ? [weather] : [], onTruncated: 'continue' })
    expect(await on.pipeline.generate('go')).toMatchObject({ stopReason: 'answered', iterations: 2 })
    expect(on.texts()).toEqual(['One.', 'Two and a half.', 'Three.'])
  })

  it.each([
    { speakInterim: false, heard: ['One.'] },
    { speakInterim: true, heard: ['I look.', 'One.'] },
  ])('an abort between two sentences ends the speech (speakInterim: $speakInterim)', async ({ speakInterim, heard }) => {
    await using on = await open(mode, [{ text: 'I look.', toolCalls: [asksWeather] }, 'One. Two. Three'], { tools: [weather] })
    const abort = new AbortController()
    on.pipeline.on(Event.LLM_SENTENCE, ({ text }) => text === 'One.' && abort.abort())
    const { stopReason } = await on.pipeline.generate('go', { signal: abort.signal, speakInterim })
    expect(on.texts()).toEqual(heard)
    // A held answer was complete before it was spoken.
    expect(stopReason).toBe(speakInterim ? 'aborted' : 'answered')
  })

  it('speaks nothing after an abort while a tool runs', async () => {
    const abort = new AbortController()
    const look = defineTool({ name: 'look', description: 'Aborts.', execute: () => abort.abort() })
    await using on = await open(mode, [{ text: 'I look. Wait', toolCalls: [call('look')] }, 'Never.'], { tools: [look] })
    expect(await on.pipeline.generate('go', { signal: abort.signal })).toMatchObject({ stopReason: 'aborted' })
    expect(on.texts()).toEqual([])
  })

  it('speaks nothing while a run is paused', async () => {
    const ask = defineTool({ name: 'ask', description: 'Asks the user.' })
    await using on = await open(mode, [{ text: 'I ask you.', toolCalls: [call('ask')] }], { tools: [ask] })
    expect(await on.pipeline.generate('go')).toMatchObject({ stopReason: 'paused', output: 'I ask you.' })
    expect(on.texts()).toEqual([])
  })

  it('passes context, limits and a signal to the run', async () => {
    const seen: unknown[] = []
    const look = defineTool({ name: 'look', description: 'Looks.', execute: (_args, { context }) => void seen.push(context) })
    await using on = await open(mode, () => ({ toolCalls: [call('look')] }), { tools: [look] })
    const context = { user: 'ada' }
    expect(await on.pipeline.generate('go', { context, limits: { toolCalls: 2 } })).toMatchObject({ stopReason: 'budget' })
    expect(seen).toEqual([context, context])
    await expect(on.pipeline.generate('go', { maxIterations: 0 })).rejects.toThrow('Expected `maxIterations`')
    expect(await on.pipeline.generate('go', { signal: AbortSignal.abort() })).toMatchObject({ stopReason: 'aborted' })
    expect(on.texts()).toEqual([])
  })

  it('retries a held answer that breaks off, and speaks it once', async () => {
    await using on = await open(mode, ['One. Two.', 'One. Two.'], {
      tools: [weather],
      faults: [{ resetAfterBytes: 'content' }],
      settings: { maxRetries: 1 },
    })
    expect(await on.pipeline.generate('go')).toMatchObject({ stopReason: 'answered', steps: [{ retries: 1 }] })
    expect(on.texts()).toEqual(['One.', 'Two.'])
  })

  it('keeps concurrent runs on one bus apart', async () => {
    const count = 30
    await using on = await open(mode, ({ body }) => `This is ${/run \d+/.exec(JSON.stringify(body))}. Really. Bye`)
    const results = await Promise.all(Array.from({ length: count }, (_, i) => on.pipeline.generate(`run ${i}`)))
    const byRun = (result: RunResult) => on.spoken.filter(({ meta }) => meta.runId === result.runId).map(({ text }) => text)
    expect(results.map(byRun)).toEqual(Array.from({ length: count }, (_, i) => [`This is run ${i}.`, 'Really.', 'Bye']))
    expect(on.spoken).toHaveLength(3 * count)
    expect(on.pipeline.bus.hasListeners(Event.TEXT_DELTA)).toBe(false)
    expect(on.pipeline.bus.hasListeners(Event.MODEL_END)).toBe(false)
  })
})

describe.each(streamingModes)('LLMPipeline, live: $name', (mode) => {
  it.each([
    ['S4-6 S4-14 without tools', {}],
    ['S4-14 with `speakInterim`', { tools: [weather], speakInterim: true }],
  ] as const)('%s publishes a sentence while the rest is still arriving', async (_, options) => {
    const heard = Promise.withResolvers<void>()
    // The server continues once the first sentence was heard. If sentences were held back, it would wait forever.
    await using on = await open(mode, [{ chunks: ['One. T', heard.promise, 'wo. Thr', 'ee'] }], options)
    on.pipeline.on(Event.LLM_SENTENCE, () => heard.resolve())
    expect(await on.pipeline.generate('go')).toMatchObject({ stopReason: 'answered' })
    expect(on.texts()).toEqual(['One.', 'Two.', 'Three'])
  })

  it('S4-6 S4-7 streams one answer without tools, runs the loop with a tool, and streams one answer again after null', async () => {
    await using on = await open(mode, ['One.', { text: 'I look.', toolCalls: [asksWeather] }, 'Two.', 'Three.'])
    const registry = new ToolRegistry()
    on.pipeline.setToolRegistry(registry)
    expect((await on.pipeline.generate('go')).output).toBe('One.')
    registry.register(weather)
    expect((await on.pipeline.generate('go')).toolCalls).toMatchObject([{ tool: 'weather', outcome: 'ok' }])
    on.pipeline.setToolRegistry(null)
    expect((await on.pipeline.generate('go')).output).toBe('Three.')
    expect(on.texts()).toEqual(['One.', 'Two.', 'Three.'])
    // The test sets no `stream` here: in streaming modes, the pipeline’s default applies.
    expect(asked(on.provider)).toEqual([false, true, true, false].map((tools) => ({ tools, stream: true })))
  })

  it('S4-14 with tools, publishes nothing until the turn has ended without a call', async () => {
    await using on = await open(mode, [{ text: 'I look. Wait. ', toolCalls: [asksWeather] }, 'One. Two.'], { tools: [weather] })
    const order: string[] = []
    const names: EventName[] = [Event.LLM_SENTENCE, Event.MODEL_END, Event.TOOL_CALL_END]
    for (const name of names) on.pipeline.on(name, () => void order.push(name))
    await on.pipeline.generate('go')
    expect(order).toEqual(['MODEL_END', 'TOOL_CALL_END', 'MODEL_END', 'LLM_SENTENCE', 'LLM_SENTENCE'])
  })

  it('publishes nothing after an abort in mid-stream, not even the unfinished sentence', async () => {
    const abort = new AbortController()
    await using on = await open(mode, [{ chunks: ['One. Two. ', 'Thr'], hang: true }])
    on.pipeline.on(Event.TEXT_DELTA, ({ text }) => text.includes('Thr') && abort.abort())
    expect(await on.pipeline.generate('go', { signal: abort.signal })).toMatchObject({ stopReason: 'aborted', output: 'One. Two. Thr' })
    // The piece that ends `Two.` is the one at which the caller, who hears it first, aborts.
    expect(on.texts()).toEqual(['One.'])
  })

  it('does not speak an answer that the deadline cut off, with tools bound', async () => {
    await using on = await open(mode, [{ text: 'One. Two', hang: true }], { tools: [weather] })
    on.pipeline.on(Event.TEXT_DELTA, () => {})
    expect(await on.pipeline.generate('go', { limits: { deadlineMs: 200 } })).toMatchObject({ stopReason: 'deadline' })
    expect(on.texts()).toEqual([])
  })

  it('speaks the complete sentences of a response that breaks off, and nothing twice', async () => {
    await using on = await open(mode, ['One. Two. Thr', 'One. Two. Three.'], {
      faults: [{ resetAfterBytes: 'content' }],
      settings: { maxRetries: 1 },
    })
    expect(await on.pipeline.generate('go')).toMatchObject({ stopReason: 'model_error', output: 'One. Two. Thr' })
    expect(on.texts()).toEqual(['One.', 'Two.'])
  })

  it('F21 speaks an interrupted answer again from its start with `onCut: restart`', async () => {
    for (const [option, given] of [
      [{ onCut: 'restart' }, {}],
      [{}, { onCut: 'restart' }],
    ] as const) {
      await using on = await open(mode, ['One. Two. Thr', 'One. Two. Three.'], {
        faults: [{ resetAfterBytes: 'content' }],
        settings: { maxRetries: 1 },
        ...option,
      })
      expect(await on.pipeline.generate('go', given)).toMatchObject({ stopReason: 'answered', output: 'One. Two. Three.' })
      expect(on.texts()).toEqual(['One.', 'Two.', 'One.', 'Two.', 'Three.'])
    }
  })

  it('retries a response that breaks off if nothing listens to sentences', async () => {
    const opened = await mode.open(['One. Two.', 'One. Two.'], { faults: [{ resetAfterBytes: 'content' }], settings: { maxRetries: 1 } })
    await using _ = opened
    const pipeline = new LLMPipeline({ model: opened.model })
    expect(await pipeline.generate('go')).toMatchObject({ stopReason: 'answered', steps: [{ retries: 1 }] })
  })
})

describe('the tools of a pipeline', () => {
  const silent = () => new LLMPipeline({ model: 'demo' })

  it('S4-1 S4-2 S4-3 S4-4 S4-5 hasTools() is true if a registry with a tool is bound: not before, not if it is empty, not after null', () => {
    const pipeline = silent()
    expect(pipeline.hasTools()).toBe(false)
    pipeline.setToolRegistry(new ToolRegistry())
    expect(pipeline.hasTools()).toBe(false)
    expect(pipeline.setToolRegistry(new ToolRegistry([weather]))).toBeUndefined()
    expect(pipeline.hasTools()).toBe(true)
    pipeline.setToolRegistry(null)
    expect(pipeline.hasTools()).toBe(false)
  })

  it('S4-1 an invalid registry is refused, and the bound one stays', () => {
    const pipeline = silent()
    pipeline.setToolRegistry(new ToolRegistry([weather]))
    for (const bad of [undefined, [weather], {}, 'tools']) {
      expect(() => pipeline.setToolRegistry(bad as never)).toThrow('Expected `registry` to be a ToolRegistry or null, got')
    }
    expect(pipeline.hasTools()).toBe(true)
  })

  it('S4-7 a tool registered or removed after binding counts', () => {
    const pipeline = silent()
    const registry = new ToolRegistry()
    pipeline.setToolRegistry(registry)
    registry.register(weather)
    expect(pipeline.hasTools()).toBe(true)
    registry.unregister('weather')
    expect(pipeline.hasTools()).toBe(false)
  })

  it('can be given at construction', () => {
    expect(new LLMPipeline({ model: 'demo', tools: [weather] }).hasTools()).toBe(true)
    expect(new LLMPipeline({ model: 'demo', tools: [] }).hasTools()).toBe(false)
  })

  describe.each(streamingModes)('$name', (mode) => {
    it('a run in progress keeps its tools', async () => {
      await using on = await open(mode, [{ toolCalls: [asksWeather] }, 'Two.'], { tools: [weather] })
      on.pipeline.on(Event.TOOL_CALL_START, () => on.pipeline.setToolRegistry(null))
      expect((await on.pipeline.generate('go')).toolCalls).toMatchObject([{ outcome: 'ok' }])
      expect(asked(on.provider).map(({ tools }) => tools)).toEqual([true, true])
      expect(on.pipeline.hasTools()).toBe(false)
    })

    it('tools of a call replace the bound ones', async () => {
      await using on = await open(mode, [{ text: 'I look.', toolCalls: [asksWeather] }, 'Clear.', 'None.'])
      expect((await on.pipeline.generate('go', { tools: [weather] })).toolCalls).toMatchObject([{ outcome: 'ok' }])
      on.pipeline.setToolRegistry(new ToolRegistry([weather]))
      await on.pipeline.generate('go', { tools: [] })
      expect(on.texts()).toEqual(['Clear.', 'None.'])
      expect(asked(on.provider).map(({ tools }) => tools)).toEqual([true, true, false])
    })
  })
})

describe('AnthropicPipeline', () => {
  const anthropic = ({ url }: MockProvider) =>
    createModel({ provider: 'anthropic', model: 'claude-mock', baseURL: url, apiKey: 'sk-ant-test' })
  const script = () => [{ text: 'I look.', toolCalls: [asksWeather] }, 'It is clear. Bye']

  it('S4-21 S4-22 requests complete responses with tools bound, and still publishes the final text', async () => {
    await using server = await startStrictProvider({ script: script() })
    const bus = new EventBus()
    const spoken: string[] = []
    bus.on(Event.LLM_SENTENCE, ({ text }) => void spoken.push(text))
    const pipeline = new AnthropicPipeline({ model: anthropic(server), bus })
    pipeline.setToolRegistry(new ToolRegistry([weather]))
    expect(await pipeline.generate('Oslo?')).toMatchObject({ stopReason: 'answered', output: 'It is clear. Bye' })
    expect(spoken).toEqual(['It is clear.', 'Bye'])
    expect(asked(server)).toEqual([
      { tools: true, stream: false },
      { tools: true, stream: false },
    ])
  })

  it.each([
    ['the pipeline', { stream: true }, {}],
    ['the call', {}, { stream: true }],
    ['the call, over the pipeline', { stream: false }, { stream: true }],
  ])('S4-21 streams if `stream: true` is set on %s', async (_, options, runOptions) => {
    await using server = await startStrictProvider({ script: script() })
    const pipeline = new AnthropicPipeline({ model: anthropic(server), tools: [weather], ...options })
    expect(await pipeline.generate('Oslo?', runOptions)).toMatchObject({ output: 'It is clear. Bye' })
    expect(asked(server).map(({ stream }) => stream)).toEqual([true, true])
  })

  it('S4-6 streams without tools, sentence by sentence', async () => {
    const heard = Promise.withResolvers<void>()
    await using server = await startStrictProvider({ script: [{ chunks: ['One. T', heard.promise, 'wo.'] }] })
    const pipeline = new AnthropicPipeline({ model: anthropic(server) })
    pipeline.on(Event.LLM_SENTENCE, () => heard.resolve())
    expect(await pipeline.generate('go')).toMatchObject({ output: 'One. Two.' })
    expect(asked(server)).toEqual([{ tools: false, stream: true }])
  })

  it('createPipeline creates one for models of the Messages driver, and an LLMPipeline for others', () => {
    const made = (model: string) => createPipeline({ model: { provider: model, model: 'm', baseURL: 'http://127.0.0.1:1' } })
    expect(made('anthropic')).toBeInstanceOf(AnthropicPipeline)
    expect(made('anthropic-compatible')).toBeInstanceOf(AnthropicPipeline)
    for (const provider of ['openai', 'deepseek', 'ollama', 'custom']) expect(made(provider)).not.toBeInstanceOf(AnthropicPipeline)
    const own = { provider: 'constructor', model: 'm', capabilities: { nativeTools: true }, generate: () => Promise.reject(new Error()) }
    expect(createPipeline({ model: own, tools: [weather] }).hasTools()).toBe(true)
    expect(createPipeline({ models: [own, 'demo'] }).hasTools()).toBe(false)
    expect(() => createPipeline({})).toThrow('Expected `model` to be')
  })

  it.each([
    ['one of createPipeline', (options: PipelineOptions) => createPipeline(options)],
    ['an AnthropicPipeline', (options: PipelineOptions) => new AnthropicPipeline(options)],
  ])('S4-21 S4-23 %s follows its current model, not the one it was created with', async (_, make) => {
    await using server = await startStrictProvider({ script: ['One.', 'Two.', 'Three.', 'Four.', 'Five.', 'Six.'] })
    const other = createModel({ provider: 'custom', model: 'm', apiKey: 'none', baseURL: server.baseURL })
    for (const [first, second] of [
      [other, anthropic(server)],
      [anthropic(server), other],
    ] as const) {
      const model = switchableModel(first)
      const pipeline = make({ model, tools: [weather] })
      await pipeline.generate('go')
      model.switchTo(second)
      await pipeline.generate('go')
      model.switchTo(first)
      await pipeline.generate('go')
    }
    expect(asked(server).map(({ stream }) => stream)).toEqual([true, false, true, false, true, false])
  })
})
