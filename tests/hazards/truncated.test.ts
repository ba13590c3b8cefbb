import { beforeEach, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Guardrail } from '../../src/agent/callbacks/guardrails.ts'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { driverModes, loopModes, type ModeScript, nativeModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool } from './tools.ts'

const usage = { inputTokens: 10, outputTokens: 3 }
const half = { text: 'The first half of', finishReason: 'length', usage } as const
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false } as const
const quiet = recordingLogger().logger

describe.each(driverModes)('an answer that reaches a token limit: $name', (mode) => {
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

  it('H55 H15 truncated calls do not end the run: they don’t run, the model is told, and the run continues', async () => {
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

  it('H55 is an answer if it is complete, with blanks up to the limit', async () => {
    await using on = await stage(mode, [{ text: '{"city": "Kyoto"}\n\n  \n', finishReason: 'length' }], { settings: held })
    expect(await on.runner.run('go', { output: schema })).toMatchObject({ stopReason: 'answered', output: { city: 'Kyoto' } })
  })
})

describe.each(loopModes)('`truncated` among the other endings: $name', (mode) => {
  const look = countingTool('look').tool

  it('H55 F7 comes before the limits on tokens and iterations, which would only end a run that continues', async () => {
    for (const options of [{ maxIterations: 1 }, { limits: { tokens: 5 } }, { maxIterations: 1, onLimit: 'answer' as const }]) {
      await using on = await stage(mode, [half], { tools: [look], ...options })
      expect(await on.run()).toMatchObject({ stopReason: 'truncated', iterations: 1 })
    }
  })

  it('H55 a last answer requested at a limit, and truncated, is `truncated`', async () => {
    const script: ModeScript = ({ readRequest }) => (readRequest().toolChoice === 'none' ? half : { toolCalls: [call('look')] })
    await using on = await stage(mode, script, { tools: [look], maxIterations: 1, onLimit: 'answer' })
    expect(await on.run()).toMatchObject({ stopReason: 'truncated', output: half.text, iterations: 2 })
  })

  it('H55 messages sent to the run meanwhile are answered', async () => {
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

  it('H55 F7 `asTool`: the call fails, and the outer model learns that the answer was truncated, with the part', async () => {
    const inner = new AgentRunner({ model: scriptedModel([half]), logger: quiet })
    const ask = asTool(inner, { name: 'ask', description: 'Asks an agent.' })
    await using on = await stage(mode, [{ toolCalls: [call('ask', { task: 'x' })] }, 'So far.'], { tools: [ask] })
    const { toolCalls } = await on.run()
    expect(toolCalls).toMatchObject([
      { outcome: 'failed', content: expect.stringMatching(/`ask` was cut off at a token limit.*The first half of/) },
    ])
  })

  it('H55 an answer that a guardrail refuses is requested again, like any other', async () => {
    const halves: Guardrail = { name: 'halves', output: ({ text }) => (text.includes('half') ? { refuse: 'no halves' } : undefined) }
    await using on = await stage(mode, [half, 'Whole.'], { tools: [look], guardrails: [halves] })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'Whole.', iterations: 2 })
  })
})

describe.each(driverModes)("onTruncated: 'continue': $name", (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))
  const rest = { text: ' the answer.', usage }

  it('F7 H55 requests more by a user message, and joins the parts to one message and one text', async () => {
    await using on = await stage(mode, [half, rest], { tools: [countingTool('look').tool], onTruncated: 'continue' })
    const stream = on.runner.stream('go')
    let text = ''
    for await (const delta of stream.text) text += delta
    const result = await stream.result
    await on.check(result)
    expect(text).toBe('The first half of the answer.')
    expect(result).toMatchObject({ stopReason: 'answered', output: text, text, iterations: 2, usage: { totalTokens: 26 } })
    expect(result.steps).toMatchObject([
      { iteration: 1, finishReason: 'length' },
      { iteration: 2, finishReason: 'stop' },
    ])
    expect(result.messages).toMatchObject([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: text },
    ])
    expect(on.requests().at(-1)?.messages).toMatchObject([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: half.text },
      { role: 'user', content: expect.stringContaining('Continue it exactly where it ends') },
    ])
    expect(on.log).toEqual([])
  })

  it('F7 at most 3 times; then `truncated`, with all parts', async () => {
    const script: ModeScript = (_request, index) => ({ text: `${index} `, finishReason: 'length' })
    await using on = await stage(mode, script, { tools: [countingTool('look').tool], onTruncated: 'continue', maxIterations: 9 })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'truncated', output: '0 1 2 3 ', iterations: 4 })
    expect(result.messages).toHaveLength(2)
    expect(on.requests()).toHaveLength(4)
  })

  it('F7 a call in the continuation belongs to the joined message', async () => {
    const look = countingTool('look')
    const script: ModeScript = [half, { text: ' it: ', toolCalls: [call('look', { at: 1 })] }, 'Done.']
    await using on = await stage(mode, script, { tools: [look.tool], onTruncated: 'continue' })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Done.', iterations: 3 })
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(result.messages[1]).toMatchObject({ content: expect.stringMatching(/^The first half of it:/), toolCalls: [{}] })
    expect(look.calls).toHaveLength(1)
  })
})

describe.each(nativeModes)("a structured answer with onTruncated: 'continue': $name", (mode) => {
  const held = { quirks: { structuredOutput: 'with-tools' } }

  it('F7 H55 is continued without the schema, joined and validated', async () => {
    const script: ModeScript = [{ text: '{"city": "Kyo', finishReason: 'length' }, 'to"}']
    await using on = await stage(mode, script, { settings: held, onTruncated: 'continue' })
    const stream = on.runner.stream('go', { output: schema })
    let shown: object = {}
    for await (const part of stream.partialOutput) shown = structuredClone(part)
    expect(await stream.result).toMatchObject({
      stopReason: 'answered',
      output: { city: 'Kyoto' },
      text: '{"city":"Kyoto"}',
      iterations: 2,
    })
    expect(shown).toEqual({ city: 'Kyoto' })
    const bodies = on.provider.requests.map(({ body }) => JSON.stringify(body))
    expect(bodies.map((body) => body.includes('additionalProperties'))).toEqual([true, false])
  })

  it('F7 F14 a model that starts again instead of continuing has answered', async () => {
    const script: ModeScript = [{ text: '{"city": "Kyo', finishReason: 'length' }, '{"city": "Kyoto"}']
    await using on = await stage(mode, script, { settings: held, onTruncated: 'continue' })
    expect(await on.runner.run('go', { output: schema })).toMatchObject({
      stopReason: 'answered',
      output: { city: 'Kyoto' },
      iterations: 2,
    })
  })

  it('F7 one that is invalid when joined is sent back with the problems', async () => {
    const script: ModeScript = [{ text: '{"town": "Kyo', finishReason: 'length' }, 'to"}', '{"city": "Kyoto"}']
    await using on = await stage(mode, script, { settings: held, onTruncated: 'continue' })
    const result = await on.runner.run('go', { output: schema })
    expect(result).toMatchObject({ stopReason: 'answered', output: { city: 'Kyoto' }, iterations: 3 })
    expect(result.messages.map(({ content }) => content)).toEqual([
      'go',
      '{"town": "Kyoto"}',
      expect.stringContaining('unknown `town`'),
      '{"city": "Kyoto"}',
    ])
  })
})

describe.each(loopModes)("onTruncated: 'continue' with other features: $name", (mode) => {
  const look = countingTool('look').tool
  const continued = { tools: [look], onTruncated: 'continue' as const }

  it('F7 counts as iterations and against a budget: at a limit the run ends `truncated`', async () => {
    for (const limit of [{ maxIterations: 2 }, { limits: { tokens: 25 } }, { maxIterations: 2, onLimit: 'answer' as const }]) {
      await using on = await stage(mode, () => half, { ...continued, ...limit })
      expect(await on.run()).toMatchObject({ stopReason: 'truncated', output: half.text + half.text, iterations: 2 })
    }
  })

  it('F7 a model with nothing to add is asked once more, and then no more', async () => {
    await using on = await stage(mode, [half, '', ''], continued)
    expect(await on.run()).toMatchObject({ stopReason: 'truncated', output: half.text, iterations: 2 })
    expect(on.requests()).toHaveLength(3)
  })

  it('F7 a continuation that breaks off keeps the part', async () => {
    for (const [reply, stopReason] of [
      [{ error: new Error('overloaded') }, 'model_error'],
      [{ text: 'No.', finishReason: 'content_filter' }, 'refused'],
    ] as const) {
      await using on = await stage(mode, [half, reply], continued)
      const result = await on.run()
      expect(result).toMatchObject({ stopReason, text: stopReason === 'refused' ? `${half.text}No.` : half.text })
      expect(result.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', content: result.text }])
    }
  })

  it('F7 messages to the run replace the continuation; a stop ends it', async () => {
    for (const [steer, contents] of [
      [(control: RunControl) => control.send('Shorter.'), ['go', half.text, 'Shorter.', 'Short.']],
      [(control: RunControl) => control.stop(), ['go', half.text]],
    ] as const) {
      const control = new RunControl()
      const script: ModeScript = (_request, index) => {
        if (index === 0) steer(control)
        return index === 0 ? half : 'Short.'
      }
      await using on = await stage(mode, script, continued)
      const result = await on.run('go', { control })
      expect(result.messages.map(({ content }) => content)).toEqual(contents)
      expect(result.stopReason).toBe(contents.length === 2 ? 'truncated' : 'answered')
    }
  })

  it('F7 guardrails receive the text so far, so that nothing can hide in the cut', async () => {
    const script: ModeScript = [{ text: 'The code is 12', finishReason: 'length' }, '34.', 'I may not say.']
    const codes: Guardrail = { name: 'codes', output: ({ text }) => (/\d{4}/.test(text) ? { refuse: 'no codes' } : undefined) }
    await using on = await stage(mode, script, { ...continued, guardrails: [codes] })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'answered', output: 'I may not say.' })
    expect(result.messages[1]).toMatchObject({ content: 'The code is 12[Withheld: codes: no codes]' })
    expect(JSON.stringify(result.messages)).not.toContain('34')
    const mask: Guardrail = { name: 'mask', output: ({ text }) => ({ replace: text.replace(/\d/g, '*') }) }
    await using masked = await stage(mode, [{ text: 'Mine is ', finishReason: 'length' }, '34.'], { ...continued, guardrails: [mask] })
    expect(await masked.run()).toMatchObject({ stopReason: 'answered', output: 'Mine is **.' })
    const late: Guardrail = { name: 'late', output: ({ text }) => ({ replace: text.length > 15 ? text.replaceAll('12', '**') : text }) }
    await using changed = await stage(mode, script, { ...continued, guardrails: [late] })
    expect((await changed.run()).messages[1]).toMatchObject({ content: 'The code is 12[Withheld: it would change what was shown already]' })
  })

  it('F7 hooks see what is sent, and a session only keeps the joined message', async () => {
    const seen: number[] = []
    const hooks = [{ beforeModel: ({ messages }: { messages: readonly unknown[] }) => void seen.push(messages.length) }]
    await using on = await stage(mode, [half, ' it.', 'Next.'], { ...continued, hooks, sessions: memorySessions() })
    await on.run('one', { session: 'chat' })
    const { messages } = await on.run('two', { session: 'chat' })
    expect(messages.map(({ content }) => content)).toEqual(['one', `${half.text} it.`, 'two', 'Next.'])
    expect(seen).toEqual([1, 3, 3])
  })
})
