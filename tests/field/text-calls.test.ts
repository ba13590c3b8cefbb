import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { createModel } from '../../src/models/create-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { serve, type Wire, wires } from './wires.ts'

const ns = ']<]minimax[>['
const minimax = `${ns}<tool_call>\n${ns}<invoke name="get_weather">${ns}<city>Oslo${ns}</city>${ns}</invoke>\n${ns}</tool_call>`
const dsml = `<|DSML|tool_calls>\n<|DSML|invoke name="get_weather">\n<|DSML|parameter name="city" string="true">Oslo</|DSML|parameter>\n</|DSML|invoke>\n</|DSML|tool_calls>`
const gemma = '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>'
const grok = '<xai:function_call name="get_weather">\n<parameter name="city">Oslo</parameter>\n</xai:function_call>'
const hermes = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'

async function run(wire: Wire, provider: string, model: string, text: string, size: number) {
  await using server = await serve(wire.answer({ text }, size), wire.answer({ text: 'Sunny.' }))
  const ran: unknown[] = []
  const parameters = { type: 'object', properties: { city: { type: 'string' } } } as const
  const execute = (args: unknown) => {
    ran.push(args)
    return 'sunny'
  }
  const tools = [defineTool({ name: 'get_weather', description: 'Weather', parameters, execute })]
  const { logger } = recordingLogger()
  const asked = createModel({ provider, model, baseURL: server.baseURL, apiKey: 'k', maxRetries: 0 })
  const stream = new AgentRunner({ model: asked, tools, logger }).stream('Weather?')
  let shown = ''
  for await (const piece of stream.text) shown += piece
  return { ran, shown, result: await stream.result, requests: server.requests }
}

describe.for(wires)('calls as text on $provider', (wire) => {
  const model = wire.provider === 'google' ? 'gemma-4-31b' : 'Qwen/Qwen3-Next'
  it.for([1, 7, 1000])('F16 run as calls and show none of their markup, in pieces of %d', async (size) => {
    for (const text of [minimax, dsml, gemma, grok, hermes]) {
      const { ran, shown, result, requests } = await run(wire, wire.provider, model, `One moment.\n${text}`, size)
      expect(ran).toEqual([{ city: 'Oslo' }])
      expect(shown).toMatch(/^One moment\.\s*Sunny\.$/)
      expect(result).toMatchObject({ stopReason: 'answered', output: 'Sunny.' })
      expect(requests[1]?.text).not.toMatch(/minimax|DSML|xai:|tool_call[|>]/)
    }
  })

  it('F16 stay text for a model that is not known to write them', async () => {
    const { ran, result } = await run(wire, wire.provider, wire.provider === 'google' ? 'gemini-3-pro' : 'in-house', hermes, 7)
    expect([ran, result.output]).toEqual([[], hermes])
  })
})

describe('calls as text', () => {
  const [chat] = wires as [Wire]
  it.for([
    ['deepseek', 'deepseek-v4', dsml],
    ['minimax', 'MiniMax-M3', minimax],
    ['xai', 'grok-4', grok],
    ['groq', 'llama-3.3-70b-versatile', '<function=get_weather>{"city": "Oslo"}</function>'],
    ['openrouter', 'minimax/minimax-m3', minimax],
    ['openrouter', 'x-ai/grok-code-fast-1', grok],
    ['sglang', 'm', hermes],
    ['llamacpp', 'm', gemma],
    ['doubao', 'doubao-seed-2', '<|FunctionCallBegin|>[{"name":"get_weather","parameters":{"city":"Oslo"}}]<|FunctionCallEnd|>'],
  ] as const)('F16 run by default on %s with %s', async ([provider, model, text]) => {
    expect((await run(chat, provider, model, text, 3)).ran).toEqual([{ city: 'Oslo' }])
  })
})
