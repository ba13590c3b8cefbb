import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import { createModel } from '../../src/models/create-model.ts'
import { type AnyTool, defineTool, type JsonSchema } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { chunk, events } from '../models/local-server.ts'
import { serve, type Wire, wires } from './wires.ts'

const [chat] = wires as [Wire]
const thinking = '<think>\nI look at it.\n</think>\n\n'
const calls = [{ id: 'call_1', name: 'get_weather', args: { city: 'Oslo' } }]
const getWeather = (ran: unknown[]) =>
  defineTool({
    name: 'get_weather',
    description: 'Weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
    execute: (args) => {
      ran.push(args)
      return 'sunny'
    },
  })

interface Setup {
  bodies: string[]
  model?: object
  options?: { stream?: boolean; tools?: AnyTool[] }
  runOptions?: { output?: JsonSchema }
  /** Reads the text as it streams. */
  isStreamed?: boolean
}

async function run({ bodies, model = {}, options = {}, runOptions = {}, isStreamed = false }: Setup) {
  await using server = await serve(...bodies)
  const ran: unknown[] = []
  const settings = { provider: 'vllm', model: 'm', baseURL: server.baseURL, apiKey: 'k', maxRetries: 0, ...model }
  const { logger } = recordingLogger()
  const runner = new AgentRunner({ model: createModel(settings), tools: [getWeather(ran)], logger, ...options })
  let reasoning = ''
  const addReasoning = ({ text }: { text: string }) => {
    reasoning += text
  }
  if (isStreamed) runner.on(Event.REASONING_DELTA, addReasoning)
  const stream = runner.stream('Weather?', runOptions)
  let shown = ''
  if (isStreamed) for await (const piece of stream.text) shown += piece
  const result = await stream.result
  return { result, ran, shown, reasoning, requests: server.requests }
}

describe.for(wires)('thinking in tags on $provider', ({ provider, answer, whole }) => {
  const forms: [string, (one: Parameters<Wire['answer']>[0]) => string, boolean][] = [
    ['in pieces of one character', (one) => answer(one, 1), true],
    ['in one piece', (one) => answer(one), true],
    ['whole', whole, false],
  ]
  it.for(forms)('F13 %s: becomes reasoning, and is sent back unchanged', async ([, write, stream]) => {
    const { result, ran, reasoning, shown, requests } = await run({
      bodies: [write({ text: `${thinking}Let me look.`, calls }), write({ text: `${thinking}Sunny.` })],
      model: { provider, thinkTags: true, ...(provider === 'custom' ? { quirks: { sendReasoningBack: true } } : {}) },
      options: { stream },
      isStreamed: true,
    })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Sunny.' })
    expect(ran).toEqual([{ city: 'Oslo' }])
    expect(result.messages.map(({ content }) => content)).toEqual(['Weather?', 'Let me look.', 'sunny', 'Sunny.'])
    if (stream) expect([shown, reasoning]).toEqual(['Let me look.Sunny.', 'I look at it.I look at it.'])
    expect(requests[1]?.text).toContain(JSON.stringify(`${thinking}Let me look.`))
  })

  it.for(forms)('F13 %s: thinking with only its end tag is not part of the answer', async ([, write, stream]) => {
    const text = 'I look at {it}.\n</think>\n\nSunny.'
    const { result } = await run({ bodies: [write({ text })], model: { provider, thinkTags: true }, options: { stream } })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Sunny.' })
    expect(result.messages.at(-1)?.content).toBe('Sunny.')
  })

  it('F13 is text if `thinkTags` is off', async () => {
    const { result } = await run({ bodies: [answer({ text: `${thinking}Sunny.` })], model: { provider, thinkTags: false } })
    expect(result.output).toBe(`${thinking}Sunny.`)
  })

  it('F13 does not run a call inside it, and runs a call after it', async () => {
    const call = (city: string) => `<tool_call>\n{"name": "get_weather", "arguments": {"city": "${city}"}}\n</tool_call>`
    for (const start of ['<think>', '']) {
      const { result, ran } = await run({
        bodies: [answer({ text: `${start}Maybe\n${call('Rome')}\n</think>\n${call('Oslo')}` }, 1), answer({ text: 'Sunny.' })],
        model: { provider, thinkTags: true, salvageTextCalls: true },
      })
      expect(result).toMatchObject({ stopReason: 'answered', output: 'Sunny.' })
      expect(ran).toEqual([{ city: 'Oslo' }])
    }
  })
})

describe('thinking in tags', () => {
  it('F13 shows a stream whose prompt opens it as reasoning from the first piece', async () => {
    const { result, shown, reasoning } = await run({
      bodies: [chat.answer({ text: 'I look.\n</think>\n\nSunny.' }, 3)],
      model: { thinkTags: 'opened' },
      isStreamed: true,
    })
    expect(result).toMatchObject({ output: 'Sunny.' })
    expect(result.steps[0]?.warnings.join()).not.toContain('thinkTags')
    expect([shown, reasoning]).toEqual(['Sunny.', 'I look.'])
  })

  it('F13 removes text that was shown and turns out to be thinking from the answer, with a warning', async () => {
    const call = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
    const { result, ran, shown } = await run({
      bodies: [chat.answer({ text: `I look.\n</think>\n\nOne moment.\n${call}` }, 3), chat.answer({ text: 'Sunny.' })],
      isStreamed: true,
    })
    expect(result.messages.map(({ content }) => content)).toEqual(['Weather?', 'One moment.', 'sunny', 'Sunny.'])
    expect(ran).toEqual([{ city: 'Oslo' }])
    expect(shown).toMatch(/^I look\.\nOne moment\.\s*Sunny\.$/)
    expect(result.steps[0]?.warnings).toContainEqual(expect.stringContaining("`thinkTags: 'opened'`"))
  })

  it('F13 keeps an answer without thinking, although the prompt should have opened it', async () => {
    const { result, shown } = await run({ bodies: [chat.answer({ text: 'Sunny.' }, 2)], model: { thinkTags: 'opened' }, isStreamed: true })
    expect([result.output, shown]).toEqual(['Sunny.', 'Sunny.'])
  })

  it('F13 does not start the text with thinking if the server reports reasoning separately', async () => {
    const body = events(
      chunk({ reasoning_content: 'I look.' }),
      chunk({ content: 'Sun' }),
      chunk({ content: 'ny.' }),
      chunk({}, 'stop'),
      '[DONE]',
    )
    const { result, shown, reasoning } = await run({ bodies: [body], model: { thinkTags: 'opened' }, isStreamed: true })
    expect([result.output, shown, reasoning]).toEqual(['Sunny.', 'Sunny.', 'I look.'])
  })

  it('F13 reads an answer with a schema after it', async () => {
    const output = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'], additionalProperties: false } as const
    for (const text of ['<think>I look at {it}.</think>\n{"sky": "sunny"}', 'e.\n</think>{"sky": "sunny"}', '{"sky": "a </think> b"}']) {
      const { result, requests } = await run({ bodies: [chat.answer({ text }, 6)], options: { tools: [] }, runOptions: { output } })
      expect(result).toMatchObject({ stopReason: 'answered', output: { sky: text.startsWith('{') ? 'a </think> b' : 'sunny' } })
      expect(requests).toHaveLength(1)
    }
  })

  it('F13 is only sent back to a server that wants reasoning, and to no other provider', async () => {
    const bodies = [chat.answer({ text: `${thinking}One moment.`, calls }), chat.answer({ text: 'Sunny.' })]
    const own = await run({ bodies, model: { quirks: { sendReasoningBack: false } } })
    expect(own.requests[1]?.text).not.toContain('<think>')
    await using other = await serve(chat.answer({ text: 'Yes.' }))
    const next = new AgentRunner({
      model: { provider: 'custom', model: 'qwen3', baseURL: other.baseURL, quirks: { sendReasoningBack: true } },
    })
    await next.run('Sure?', { messages: own.result.messages })
    expect(other.requests[0]?.text).toContain('One moment.')
    expect(other.requests[0]?.text).not.toContain('think')
  })

  it('F13 is separated from a partial answer if the response breaks off', async () => {
    await using server = await serve(events(chunk({ content: '<think>I look.</think>Sun' })).slice(0, -1))
    const model = createModel({ provider: 'vllm', model: 'm', baseURL: server.baseURL, maxRetries: 0 })
    await expect(model.generate({ messages: [{ role: 'user', content: 'Hi' }] })).rejects.toMatchObject({
      partial: { text: 'Sun', reasoning: 'I look.' },
    })
  })

  it.for([
    ['vllm', 'm', true],
    ['ollama', 'm', true],
    ['lmstudio', 'm', true],
    ['llamacpp', 'm', true],
    ['sglang', 'm', true],
    ['minimax', 'MiniMax-M3', true],
    ['groq', 'qwen/qwen3-32b', true],
    ['openrouter', 'deepseek/deepseek-r1', true],
    ['custom', 'Qwen/Qwen3-8B', true],
    ['anthropic-compatible', 'glm-5', true],
    ['responses-compatible', 'openai/gpt-oss-120b', true],
    ['custom', 'my-proxy', false],
    ['openai', 'gpt-5.2', false],
    ['openrouter', 'openai/gpt-5.2', false],
    ['google', 'gemini-3-pro', false],
  ] as const)('F13 %s/%s: separated by default: %s', async ([provider, model, isTaken]) => {
    const wire = wires.find((one) => one.provider === provider) ?? chat
    const { result } = await run({ bodies: [wire.answer({ text: `${thinking}Sunny.` })], model: { provider, model } })
    expect(result.output).toBe(isTaken ? 'Sunny.' : `${thinking}Sunny.`)
  })

  it.for([true, false])('F13 never runs a call inside it if it stays text (streamed: %s)', async (isStreamed) => {
    const call = (city: string) => `<tool_call>\n{"name": "get_weather", "arguments": {"city": "${city}"}}\n</tool_call>`
    for (const start of ['<think>', '']) {
      const { result, ran } = await run({
        bodies: [chat.answer({ text: `${start}Maybe\n${call('Rome')}\n</think>\n${call('Oslo')}` }, 5), chat.answer({ text: 'Sunny.' })],
        model: { thinkTags: false },
        isStreamed,
      })
      expect(ran).toEqual([{ city: 'Oslo' }])
      expect(result.messages[1]?.content).toContain('Maybe')
    }
  })

  it('F13 refuses an invalid setting', () => {
    const settings = { provider: 'vllm', model: 'm', thinkTags: 'yes' }
    expect(() => createModel(settings as never)).toThrow('Expected `thinkTags` to be true, false or \'opened\', got `"yes"`')
  })
})
