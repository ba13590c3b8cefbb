import { ToolMessage } from '@langchain/core/messages'
import { DynamicTool, tool } from '@langchain/core/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { fromLangChainTools, type LangChainTool } from '../../src/backends/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { call } from '../hazards/tools.ts'

/** The results of the calls of one turn. */
async function callAll(tools: LangChainTool[], ...calls: ReturnType<typeof call>[]) {
  const { logger } = recordingLogger()
  const model = scriptedModel([{ toolCalls: calls }, 'done'])
  const runner = new AgentRunner({ model, logger, tools: await fromLangChainTools(tools) })
  const { toolCalls, stopReason, output } = await runner.run('go')
  return { calls: toolCalls.map(({ outcome, content }) => ({ outcome, content })), stopReason, output }
}

const field = { place: z.string() }

describe('LangChain tools', () => {
  it('run with any kind of schema, with validated arguments', async () => {
    const look = ({ place }: { place: string }) => `sunny in ${place}`
    const tools: LangChainTool[] = [
      tool(look, { name: 'zod', description: 'z', schema: z.object(field) }),
      tool(look, { name: 'zod3', description: 'z', schema: z3.object({ place: z3.string().default('Rome') }) }),
      tool(look, {
        name: 'json',
        description: 'z',
        schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
      }),
      new DynamicTool({ name: 'text', description: 'z', func: async (text) => `heard ${text}` }),
    ]
    const { calls } = await callAll(
      tools,
      call('zod', { place: 'Oslo' }),
      call('zod3', {}),
      call('json', { place: 'Bergen' }),
      call('text', { input: 'hello' }),
      call('zod', { place: 1 }),
      call('json', {}),
    )
    expect(calls.slice(0, 4).map(({ content }) => content)).toEqual(['sunny in Oslo', 'sunny in Rome', 'sunny in Bergen', 'heard hello'])
    expect(calls.slice(4)).toMatchObject([
      { outcome: 'rejected', content: expect.stringContaining('Invalid arguments for tool `zod`') },
      { outcome: 'rejected' },
    ])
    const [zod] = await fromLangChainTools(tools)
    expect(zod).toMatchObject({
      name: 'zod',
      description: 'z',
      parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
    })
    expect(zod?.parameters).not.toHaveProperty('$schema')
  })

  it('return what they throw, and messages, as results; returnDirect ends the run', async () => {
    const schema = z.object({})
    const direct = (status: 'success' | 'error') => async () => new ToolMessage({ tool_call_id: 'any', content: `told: ${status}`, status })
    const { calls } = await callAll(
      [
        tool(
          async () => {
            throw new Error('no such place')
          },
          { name: 'throws', schema },
        ),
        tool(direct('success'), { name: 'good', schema }),
        tool(direct('error'), { name: 'bad', schema }),
        tool(async () => ({ sky: 'clear' }), { name: 'object', schema }),
      ],
      ...['throws', 'good', 'bad', 'object'].map((name) => call(name)),
    )
    expect(calls).toEqual([
      { outcome: 'failed', content: 'no such place' },
      { outcome: 'ok', content: 'told: success' },
      { outcome: 'failed', content: 'told: error' },
      { outcome: 'ok', content: '{"sky":"clear"}' },
    ])
    const ended = await callAll([tool(async () => 'all of it', { name: 'answer', schema, returnDirect: true })], call('answer'))
    expect(ended).toMatchObject({ stopReason: 'stopped', output: 'all of it' })
  })

  it("receive the run's signal", async () => {
    const called = Promise.withResolvers<AbortSignal | undefined>()
    const waits = tool(
      (_args, config) => {
        called.resolve(config.signal)
        return new Promise<string>(() => {})
      },
      { name: 'waits', schema: z.object({}) },
    )
    const controller = new AbortController()
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [call('waits')] }]), tools: await fromLangChainTools([waits]) })
    const running = runner.run('go', { signal: controller.signal })
    const signal = await called.promise
    controller.abort()
    expect((await running).stopReason).toBe('aborted')
    expect(signal?.aborted).toBe(true)
  })

  it('are refused at once with an invalid name', async () => {
    const odd = tool(async () => '', { name: 'look up', schema: z.object({}) })
    await expect(fromLangChainTools([odd])).rejects.toMatchObject({ code: 'invalid_tool' })
  })
})
