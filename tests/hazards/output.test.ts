import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { hasToolCalls, type JsonObject } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { driverModes, type ModeScript, nativeModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { stage } from './stage.ts'
import { call, countingTool } from './tools.ts'

const weather = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
} as const
const without = { quirks: { structuredOutput: null } }
const good = { city: 'Kyoto', degrees: 21 }

describe.each(driverModes)('structured output: $name', (mode) => {
  async function runWith(script: ModeScript, options: object = {}) {
    const look = countingTool('look')
    await using on = await stage(mode, script, { tools: [look.tool], maxIterations: 9, settings: without, ...options })
    const result = await on.runner.run('go', { output: weather })
    await on.check({ ...result, output: result.text })
    return { result, looked: look.calls.length, requests: on.requests() }
  }

  it('H1 through the tool for the answer, after other tools', async () => {
    const { result, looked } = await runWith([{ toolCalls: [call('look', {})] }, { toolCalls: [call('final_answer', good)] }])
    expect(result).toMatchObject({ stopReason: 'answered', output: good, text: JSON.stringify(good) })
    expect(looked).toBe(1)
    expect(result.messages.at(-1)).toMatchObject({ role: 'tool', content: 'The answer was given.' })
  })

  it('H13 an invalid answer is sent back with the problems, and given again', async () => {
    const wrong = { city: 'Kyoto', degrees: 'warm' }
    const { result, requests } = await runWith([{ toolCalls: [call('final_answer', wrong)] }, { toolCalls: [call('final_answer', good)] }])
    expect(result).toMatchObject({ stopReason: 'answered', output: good, iterations: 2 })
    expect(JSON.stringify(requests[1]?.messages)).toContain('degrees')
  })

  it('H6 an answer in words is requested again, through the tool', async () => {
    const { result, requests } = await runWith(['It is warm in Kyoto.', { toolCalls: [call('final_answer', good)] }])
    expect(result).toMatchObject({ stopReason: 'answered', output: good })
    expect(JSON.stringify(requests[1]?.messages)).toContain('final_answer')
    if (mode.dialect === undefined) {
      expect(requests[1]?.toolChoice).toEqual({ type: 'function', function: { name: 'final_answer' } })
    }
  })

  it('H4 an answer that is never valid ends the run with the problems, and the history', async () => {
    const { result, requests } = await runWith(() => 'Warm.', { outputRetries: 1 })
    expect(result).toMatchObject({ stopReason: 'model_error', output: undefined, text: 'Warm.', error: { code: 'invalid_output' } })
    expect(requests).toHaveLength(2)
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })

  it('H2 at the iteration limit there is still an answer, if one is requested', async () => {
    const script: ModeScript = (_request, index) => ({ toolCalls: [index < 2 ? call('look', { n: index }) : call('final_answer', good)] })
    const { result, looked } = await runWith(script, { maxIterations: 2, onLimit: 'answer' })
    expect(result).toMatchObject({ stopReason: 'max_iterations', output: good })
    expect(looked).toBe(2)
  })
})

describe.each(nativeModes)('structured output by the provider: $name', (mode) => {
  it('H13 next to tools; an invalid one is sent back', async () => {
    const look = countingTool('look')
    const script = [{ toolCalls: [call('look', {})] }, '{"city":"Kyoto"}', JSON.stringify(good)]
    const settings = { quirks: { structuredOutput: 'with-tools' } }
    await using on = await stage(mode, script, { tools: [look.tool], settings })
    const result = await on.runner.run('go', { output: weather })
    await on.check({ ...result, output: result.text })
    expect(result).toMatchObject({ stopReason: 'answered', output: good, iterations: 3 })
    expect(JSON.stringify(on.provider.requests.at(-1)?.body)).toContain('degrees')
  })
})

describe('structured output', () => {
  const logger = recordingLogger().logger
  const held = { capabilities: { nativeTools: true, structuredOutput: 'with-tools' as const } }
  const look = countingTool('look').tool

  it('uses the provider’s own support if available, with or without tools', async () => {
    const model = scriptedModel([{ toolCalls: [call('look', {})] }, JSON.stringify(good)], held)
    const result = await new AgentRunner({ model, tools: [look], logger }).run('go', { output: weather })
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; degrees: number } | undefined>()
    expect(result).toMatchObject({ stopReason: 'answered', output: good })
    for (const request of model.requests) {
      expect(request.responseSchema).toEqual({ name: 'final_answer', schema: weather })
      expect(request.tools?.map((tool) => tool.function.name)).toEqual(['look'])
    }
    const alone = { capabilities: { nativeTools: true, structuredOutput: 'alone' as const } }
    const beside = scriptedModel([{ toolCalls: [call('final_answer', good)] }], alone)
    await new AgentRunner({ model: beside, tools: [look], logger }).run('go', { output: weather })
    expect(beside.requests[0]).toMatchObject({ tools: [{}, { function: { name: 'final_answer' } }] })
    expect(beside.requests[0]).not.toHaveProperty('responseSchema')
    const without = scriptedModel(['```json\n{"city":"Kyoto","degrees":21}\n```'], alone)
    const { output } = await new AgentRunner({ model: without, logger }).run('go', { output: weather })
    expect(output).toEqual(good)
    expect(without.requests[0]).not.toHaveProperty('tools')
  })

  it('has no place for text calls in text that must match a schema', async () => {
    const model = scriptedModel(['<tool_action name="final_answer"><city value="Kyoto" /><degrees value="21" /></tool_action>'], held)
    const runner = new AgentRunner({ model, tools: [look], logger, toolCalling: 'tags' })
    expect(await runner.run('go', { output: weather })).toMatchObject({ output: good })
    expect(model.requests[0]).not.toHaveProperty('responseSchema')
  })

  it('lets a Standard Schema transform the answer, and wraps what is not an object', async () => {
    const run = async <S extends z.ZodType>(output: S, answer: JsonObject) => {
      const model = scriptedModel([{ toolCalls: [call('final_answer', answer)] }])
      return new AgentRunner({ model, logger }).run('go', { output })
    }
    const dated = await run(z.object({ at: z.string().transform((text) => text.length) }), { at: '2026' })
    expectTypeOf(dated.output).toEqualTypeOf<{ at: number } | undefined>()
    expect(dated).toMatchObject({ output: { at: 4 }, text: '{"at":"2026"}' })
    const list = await run(z.array(z.number().int()), { value: [1, 2] })
    expect(list).toMatchObject({ output: [1, 2], text: '[1,2]' })
    const bare = scriptedModel(['[1, 2]'], held)
    expect(await new AgentRunner({ model: bare, logger }).run('go', { output: z.array(z.number()) })).toMatchObject({ output: [1, 2] })
    expect(bare.requests[0]?.responseSchema?.schema).toMatchObject({ type: 'object', required: ['value'] })
  })

  it('H19 gives the tool for the answer its own name', async () => {
    const taken = countingTool('final_answer')
    const model = scriptedModel([{ toolCalls: [call('final_answer', {})] }, { toolCalls: [call('final_answer_2', good)] }])
    const result = await new AgentRunner({ model, tools: [taken.tool], logger }).run('go', { output: weather })
    expect(result).toMatchObject({ output: good })
    expect(taken.calls).toHaveLength(1)
  })

  it('refuses something that is not a schema before anything is sent', async () => {
    const model = scriptedModel([])
    for (const output of [1, 'x', { type: 'object', properties: { a: { type: 'nonsense' } } }]) {
      await expect(new AgentRunner({ model, logger }).run('go', { output: output as never })).rejects.toMatchObject({
        code: 'invalid_option',
      })
    }
  })

  it('gives all calls results if the answer comes with other calls', async () => {
    const model = scriptedModel([{ toolCalls: [call('look', {}), call('final_answer', good)] }])
    const result = await new AgentRunner({ model, tools: [look], logger }).run('go', { output: weather })
    expect(result).toMatchObject({ stopReason: 'answered', output: good })
    expect(result.messages.filter(({ role }) => role === 'tool')).toHaveLength(2)
    expect(result.messages.find((message) => hasToolCalls(message))).toBeDefined()
  })
})
