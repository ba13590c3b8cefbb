import { beforeEach, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Guardrail } from '../../src/agent/hooks/guardrails.ts'
import { asTool } from '../../src/agent/nested/sub-agent.ts'
import { RunControl } from '../../src/agent/run/run-control.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { loopModes, type ModeScript, modes, nativeModes } from './modes.ts'
import { recordingLogger, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool } from './tools.ts'

const usage = { inputTokens: 10, outputTokens: 3 }
const half = { text: 'The first half of', finishReason: 'length', usage } as const
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false } as const
const quiet = recordingLogger().logger

describe.each(modes)('an answer that reaches a token limit: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  it('H55 F7 ends the run `truncated`: no error, one warning, the text and the usage kept', async () => {
    await using on = await stage(mode, [half], { tools: [countingTool('look').tool], throwOnError: true })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'truncated', output: half.text, text: half.text, iterations: 1, usage: { totalTokens: 13 } })
    expect(result).not.toHaveProperty('error')
    expect(result.steps).toMatchObject([{ finishReason: 'length' }])
    expect(result.messages.at(-1)).toMatchObject({ role: 'assistant', content: half.text })
    expect(on.log).toMatchObject([{ level: 'warn', message: 'run ended: the answer was cut off at a token limit' }])
    expect(on.requests()).toHaveLength(1)
  })

  it('H55 after a call, and streamed: `.text` ends without an error', async () => {
    const look = countingTool('look')
    await using on = await stage(mode, [{ toolCalls: [call('look')] }, half], { tools: [look.tool], throwOnError: true })
    const stream = on.runner.stream('go')
    let text = ''
    for await (const delta of stream.text) text += delta
    const result = await stream.result
    await on.check(result)
    expect(text.trim()).toBe(half.text)
    expect(result).toMatchObject({ stopReason: 'truncated', output: half.text, iterations: 2 })
    expect(look.calls).toHaveLength(1)
  })

  it('H55 H15 calls that were cut are no end: they are not run, the model is told, and the run continues', async () => {
    const look = countingTool('look')
    const script: ModeScript = [{ toolCalls: [call('look', { at: 1 })], finishReason: 'length' }, 'Done.']
    await using on = await stage(mode, script, { tools: [look.tool] })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'Done.', toolCalls: [{ outcome: 'truncated' }] })
    expect(look.calls).toEqual([])
  })
})

describe.each(nativeModes)('a structured answer that reaches a token limit: $name', (mode) => {
  const held = { quirks: { structuredOutput: 'with-tools' } }
  const cut = { text: '{"city": "Kyo', finishReason: 'length' } as const

  it('H55 F7 is not guessed: `truncated`, without an output', async () => {
    await using on = await stage(mode, [cut], { settings: held })
    const result = await on.runner.run('go', { output: schema })
    expect(result).toMatchObject({ stopReason: 'truncated', output: undefined, text: cut.text })
    expect(result).not.toHaveProperty('error')
    expect(on.requests()).toHaveLength(1)
  })

  it('H55 that is whole, with blanks up to the limit, is an answer', async () => {
    await using on = await stage(mode, [{ text: '{"city": "Kyoto"}\n\n  \n', finishReason: 'length' }], { settings: held })
    expect(await on.runner.run('go', { output: schema })).toMatchObject({ stopReason: 'answered', output: { city: 'Kyoto' } })
  })
})

describe.each(loopModes)('`truncated` among the other endings: $name', (mode) => {
  const look = countingTool('look').tool

  it('H55 F7 comes before the limits on tokens and iterations, which would only end what goes on', async () => {
    for (const options of [{ maxIterations: 1 }, { limits: { tokens: 5 } }, { maxIterations: 1, onLimit: 'answer' as const }]) {
      await using on = await stage(mode, [half], { tools: [look], ...options })
      expect(await on.run()).toMatchObject({ stopReason: 'truncated', iterations: 1 })
    }
  })

  it('H55 a last answer that was asked for at a limit, and is cut, is `truncated`', async () => {
    const script: ModeScript = ({ readRequest }) => (readRequest().toolChoice === 'none' ? half : { toolCalls: [call('look')] })
    await using on = await stage(mode, script, { tools: [look], maxIterations: 1, onLimit: 'answer' })
    expect(await on.run()).toMatchObject({ stopReason: 'truncated', output: half.text, iterations: 2 })
  })

  it('H55 what was said to the run meanwhile is answered', async () => {
    const control = new RunControl()
    const script: ModeScript = (_request, index) => {
      if (index === 0) control.send('Shorter.')
      return index === 0 ? half : 'Short.'
    }
    await using on = await stage(mode, script, { tools: [look] })
    const result = await on.run('go', { control })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Short.' })
    expect(result.messages.map(({ content }) => content)).toEqual(['go', half.text, 'Shorter.', 'Short.'])
  })

  it('H55 a session keeps the part, and continues', async () => {
    const sessions = memorySessions()
    await using on = await stage(mode, [half, 'All of it.'], { tools: [look], sessions })
    expect((await on.run('one', { session: 'chat' })).stopReason).toBe('truncated')
    const next = await on.run('two', { session: 'chat' })
    expect(next.messages.map(({ content }) => content)).toEqual(['one', half.text, 'two', 'All of it.'])
  })

  it('H55 F7 `asTool`: the call fails, and the outer model is told that the answer was cut, with the part', async () => {
    const inner = new AgentRunner({ model: scriptedModel([half]), logger: quiet })
    const ask = asTool(inner, { name: 'ask', description: 'Asks an agent.' })
    await using on = await stage(mode, [{ toolCalls: [call('ask', { task: 'x' })] }, 'So far.'], { tools: [ask] })
    const { toolCalls } = await on.run()
    expect(toolCalls).toMatchObject([
      { outcome: 'failed', content: expect.stringMatching(/`ask` was cut off at a token limit.*The first half of/) },
    ])
  })

  it('H55 an answer that a guardrail refuses is asked for again, as any other', async () => {
    const halves: Guardrail = { name: 'halves', output: ({ text }) => (text.includes('half') ? { refuse: 'no halves' } : undefined) }
    await using on = await stage(mode, [half, 'Whole.'], { tools: [look], guardrails: [halves] })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'Whole.', iterations: 2 })
  })
})
