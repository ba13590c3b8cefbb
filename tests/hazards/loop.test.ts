import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { eventsOf } from '../../src/agent/runner/run-stream.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { Event, type RunEvent } from '../../src/core/events.ts'
import { textOf } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { loopModes, type ModeScript, quickModes } from './modes.ts'
import { comparable, resultTexts, type SeenEvent, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool, deafTool, gatedTool } from './tools.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe.each(quickModes)('the loop: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  it('H1 a call, then an answer: the tool runs once, its result is sent, text beside the call is not the answer', async () => {
    const add = countingTool('add', 5)
    const usage = { inputTokens: 10, outputTokens: 3 }
    await using on = await stage(
      mode,
      [
        { text: 'Let me see.', toolCalls: [call('add', { a: 2, b: 3 })], usage },
        { text: 'It is 5.', usage },
      ],
      {
        tools: [add.tool],
        instructions: 'Be brief.',
      },
    )
    const result = await on.run('2 + 3?')
    expect(result).toMatchObject({ output: 'It is 5.', stopReason: 'answered', iterations: 2, usage: { totalTokens: 26 } })
    expect(add.calls).toEqual([{ a: 2, b: 3 }])
    expect(on.requests()).toHaveLength(2)
    expect(on.requests()[1]?.messages).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: '2 + 3?' },
      { role: 'assistant', content: 'Let me see.', toolCalls: [{ function: { name: 'add', arguments: '{"a":2,"b":3}' } }] },
      { role: 'tool', content: '5', toolCallId: result.toolCalls[0]?.id },
    ])
    expect(result.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'It is 5.' })
    expect(on.log).toEqual([])
  })

  it('H2 a model that always calls: exactly maxIterations requests, their tools run, one warning, no error', async () => {
    for (const maxIterations of [undefined, 1, 3]) {
      const look = countingTool('look', ({ n }: { n: number }) => `page ${n}`)
      let asked = 0
      await using on = await stage(mode, () => ({ text: `still at ${++asked}`, toolCalls: [call('look', { n: asked })] }), {
        tools: [look.tool],
        ...(maxIterations === undefined ? {} : { maxIterations }),
      })
      const result = await on.run()
      const most = maxIterations ?? 5
      expect(result).toMatchObject({ stopReason: 'max_iterations', iterations: most, output: `still at ${most}` })
      expect(result.error).toBeUndefined()
      expect(on.requests()).toHaveLength(most)
      expect(look.calls).toHaveLength(most)
      expect(on.log.map(({ level }) => level)).toEqual(['warn'])
    }
  })

  it("H2 onLimit 'answer': one more request, without calls allowed, gives an answer", async () => {
    const look = countingTool('look')
    const script: ModeScript = ({ readRequest }) =>
      readRequest().toolChoice === 'none' ? 'It must do.' : { toolCalls: [call('look', { at: Math.random() })] }
    await using on = await stage(mode, script, { tools: [look.tool], maxIterations: 2, onLimit: 'answer' })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'max_iterations', output: 'It must do.' })
    expect(on.requests().map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, 'none'])
    expect(look.calls).toHaveLength(2)
    expect(on.log.map(({ level }) => level)).toEqual(['warn'])
  })

  it("H2 onLimit 'answer' with a model that calls anyway: nothing runs, the calls have their results, its text is the answer", async () => {
    const look = countingTool('look')
    let asked = 0
    const script: ModeScript = () => ({ text: `words ${++asked}`, toolCalls: [call('look', { asked }), call('look', { asked: -asked })] })
    await using on = await stage(mode, script, { tools: [look.tool], maxIterations: 1, onLimit: 'answer' })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'max_iterations', output: 'words 2' })
    expect(on.requests()).toHaveLength(2)
    expect(look.calls).toHaveLength(2)
  })

  it('H3 an answer in exactly the last allowed iteration is an answer', async () => {
    const look = countingTool('look')
    await using on = await stage(mode, [{ toolCalls: [call('look')] }, 'Found.'], { tools: [look.tool], maxIterations: 2 })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'Found.', iterations: 2 })
    await using once = await stage(mode, ['At once.'], { maxIterations: 1 })
    expect(await once.run()).toMatchObject({ stopReason: 'answered', output: 'At once.', iterations: 1 })
    expect([...on.log, ...once.log]).toEqual([])
  })

  it('H4 limits count separately for each run', async () => {
    const look = countingTool('look')
    const script: ModeScript = ({ readRequest }) => {
      const { length } = readRequest().messages
      return length < 5 ? { toolCalls: [call('look', { at: length })] } : 'done'
    }
    await using on = await stage(mode, script, { tools: [look.tool], maxIterations: 3, limits: { toolCalls: 2, tokens: 1000 } })
    for (let run = 0; run < 4; run++) expect(await on.run()).toMatchObject({ stopReason: 'answered', iterations: 3 })
    expect(look.calls).toHaveLength(8)
  })

  it("H4 an option of a run overrides the runner's, and one that is undefined does not", async () => {
    const look = countingTool('look')
    const script: ModeScript = () => ({ toolCalls: [call('look', { at: Math.random() })], usage: { inputTokens: 9, outputTokens: 1 } })
    await using on = await stage(mode, script, { tools: [look.tool], maxIterations: 4, limits: { tokens: 30 } })
    expect(await on.run('go', { maxIterations: 2 })).toMatchObject({ stopReason: 'max_iterations', iterations: 2 })
    expect(await on.run('go', { maxToolRounds: 1 })).toMatchObject({ stopReason: 'max_iterations', iterations: 1 })
    expect(await on.run('go', { limits: { toolCalls: 9 } })).toMatchObject({ stopReason: 'budget', iterations: 3 })
    expect(await on.run('go', { maxIterations: undefined, limits: { tokens: undefined } } as object)).toMatchObject({
      stopReason: 'budget',
    })
  })

  it('H4 several limits at once: budget before max_iterations before repeated_calls', async () => {
    const look = countingTool('look')
    const same: ModeScript = () => ({ toolCalls: [call('look')], usage: { inputTokens: 30, outputTokens: 0 } })
    const limited = async (options: Omit<RunnerOptions, 'model'>) => {
      await using on = await stage(mode, same, { tools: [look.tool], ...options })
      return (await on.run()).stopReason
    }
    expect(await limited({ maxIterations: 3, limits: { tokens: 90, repeatedCalls: 1 } })).toBe('budget')
    expect(await limited({ maxIterations: 3, limits: { repeatedCalls: 1 } })).toBe('max_iterations')
    expect(await limited({ maxIterations: 9, limits: { repeatedCalls: 1 } })).toBe('repeated_calls')
  })

  it('H4 the deadline comes before a budget that is used up as well', async () => {
    const deaf = deafTool()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await using on = await stage(mode, [{ toolCalls: [call('deaf')], usage: { inputTokens: 9, outputTokens: 0 } }], {
      tools: [deaf.tool],
      maxIterations: 1,
      limits: { deadlineMs: 1000, tokens: 1 },
    })
    const running = on.run()
    await deaf.called
    vi.advanceTimersByTime(1000)
    expect((await running).stopReason).toBe('deadline')
  })

  it('P2.6 two alternating calls with the same results: the model is warned, then the run ends; alternating polls continue', async () => {
    const look = countingTool('look')
    const inTurn: ModeScript = (_request, index) => ({ toolCalls: [call('look', { page: index % 2 })] })
    await using on = await stage(mode, inTurn, { tools: [look.tool], maxIterations: 40 })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'repeated_calls', iterations: 9 })
    expect(resultTexts(result).filter((text) => text !== 'look done')).toHaveLength(2)
    let polled = 0
    const poll = defineTool({ name: 'poll', description: 'polls', execute: () => `${++polled} %` })
    const polling: ModeScript = (_request, index) => (index === 20 ? 'done' : { toolCalls: [call(index % 2 === 0 ? 'poll' : 'look')] })
    await using polls = await stage(mode, polling, { tools: [poll, look.tool], maxIterations: 40 })
    expect(await polls.run()).toMatchObject({ stopReason: 'answered', iterations: 21 })
  })

  it('H5 the same call repeatedly, failing or not: the model is warned once, then the run ends', async () => {
    const fail = defineTool({
      name: 'fail',
      description: 'fails',
      parameters: { type: 'object' },
      execute: () => {
        throw new Error('no luck')
      },
    })
    for (const tool of [fail, countingTool('look').tool]) {
      // The same arguments, however they are written.
      const ways = ['{"a":1,"b":2}', '{"a": 1, "b": 2}', '{ "b":2, "a":1 }']
      let asked = 0
      const script: ModeScript = () => ({ toolCalls: [call(tool.name, ways[asked++ % ways.length])] })
      await using on = await stage(mode, script, { tools: [tool], maxIterations: 20 })
      const result = await on.run()
      expect(result.stopReason).toBe('repeated_calls')
      expect(result.iterations).toBe(5)
      expect(resultTexts(result).map((content) => content.includes('Repeating it again ends the run'))).toEqual([
        false,
        false,
        false,
        true,
        false,
      ])
      expect(on.log.filter(({ message }) => message.includes('repeats'))).toHaveLength(1)
    }
  })

  it('H5 a call with other arguments, or after another call, is not a repetition', async () => {
    const look = countingTool('look')
    let asked = 0
    const turn = (n: number) => (n % 2 === 0 ? call('look', { a: 1 }) : call('look', { a: 2 }))
    await using on = await stage(mode, () => (++asked > 8 ? 'done' : { toolCalls: [turn(asked)] }), {
      tools: [look.tool],
      maxIterations: 20,
    })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', iterations: 9 })
  })

  it('H5 S0-20 a polling call with changing results continues until the job is done', async () => {
    let progress = 0
    const poll = defineTool({
      name: 'poll',
      description: 'how far the job is',
      parameters: { type: 'object' },
      execute: () => {
        progress += 15
        return `${progress} %`
      },
    })
    await using on = await stage(mode, () => (progress >= 120 ? 'done' : { toolCalls: [call('poll', { job: 7 })] }), {
      tools: [poll],
      maxIterations: 10,
    })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 9 })
  })

  it('H6 neither text nor calls: requested once more', async () => {
    const usage = { inputTokens: 5, outputTokens: 0 }
    for (const empty of [{ text: '' }, { text: ' \n' }, { text: '', reasoning: 'Hmm.' }]) {
      await using on = await stage(mode, [
        { ...empty, usage },
        { text: 'There.', usage: { inputTokens: 5, outputTokens: 1 } },
      ])
      expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'There.', iterations: 1, usage: { totalTokens: 11 } })
      expect(on.requests()).toHaveLength(2)
      expect(on.requests()[1]).toEqual(on.requests()[0])
    }
  })

  it('H6 empty twice: model_error with a reason, never a silent empty answer', async () => {
    const usage = { inputTokens: 5, outputTokens: 0 }
    await using on = await stage(mode, () => ({ text: '', usage, finishReason: 'length' }))
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'empty_response' }, usage: { totalTokens: 10 } })
    expect(result.error?.message).toMatch(/length|max_(output_)?tokens/i)
    expect(result.messages).toEqual([{ role: 'user', content: 'go' }])
    expect(on.requests()).toHaveLength(2)
  })

  it('H7 run() and stream(): the same messages, the same result, the same events', async () => {
    const scripts: Record<string, ModeScript> = {
      answered: [
        { text: 'First ', reasoning: 'Think.', toolCalls: [call('look', { a: 1 }), call('fail'), call('gone'), call('look', '[1]')] },
        { text: 'Ünïcödé 🙂 and more', usage: { inputTokens: 7, outputTokens: 2 } },
      ],
      limited: () => ({ text: 'again', toolCalls: [call('look')] }),
      empty: () => '',
      cut: [{ toolCalls: [call('look')] }, { text: 'half an answer', fault: { cutAfterBytes: 'content' } }],
      refused: [{ text: 'No.', finishReason: 'refusal' }],
      failing: [{ toolCalls: [call('look')] }, { error: new Error('overloaded') }],
      truncated: [{ text: 'long', toolCalls: [call('look', '{"a":')], finishReason: 'length' }, 'Short.'],
    }
    const fail = defineTool({ name: 'fail', description: 'fails', execute: () => Promise.reject(new Error('no luck')) })
    for (const [name, script] of Object.entries(scripts)) {
      const open = () => stage(mode, script, { tools: [countingTool('look').tool, fail], maxIterations: 3 })
      await using plain = await open()
      await using heard = await open()
      await using streamed = await open()
      const [events, streamedEvents, yielded]: [SeenEvent[], SeenEvent[], RunEvent[]] = [[], [], []]
      heard.runner.bus.onAny((event, payload, meta) => void events.push({ name: event, payload: { ...payload }, meta }))
      streamed.runner.bus.onAny((event, payload, meta) => void streamedEvents.push({ name: event, payload: { ...payload }, meta }))

      const silent = await plain.runner.run('go')
      const result = await heard.runner.run('go')
      const stream = streamed.runner.stream('go')
      let text = ''
      for await (const event of eventsOf(stream)) {
        yielded.push(event)
        if (event.type === Event.TEXT_DELTA) text += event.text
      }
      const streamResult = await stream.result
      await streamed.check(streamResult)

      expect(comparable(result), name).toEqual(comparable(silent))
      expect(comparable(streamResult), name).toEqual(comparable(silent))
      const plainly = (list: SeenEvent[]) =>
        list.map(({ meta: { runId: _r, durationMs: _d, time: _t, ...meta }, ...event }) => ({ ...event, meta }))
      expect(plainly(streamedEvents), name).toEqual(plainly(events))
      expect(yielded.map(({ type, meta, ...payload }) => ({ name: type, payload, meta }))).toEqual(streamedEvents)
      // Spaces between text and a call written in it are shown, but do not belong to the message.
      expect(text.trimEnd().endsWith(streamResult.output), `${name}: \`${streamResult.output}\` at the end of \`${text}\``).toBe(true)
      expect(streamed.requests()).toEqual(plain.requests())
    }
  })

  const runs = loopModes.includes(mode) ? 100 : 20
  it(`H9 ${runs === 100 ? 'a hundred' : 'many'} concurrent runs on one runner are independent`, async () => {
    const script: ModeScript = ({ readRequest }) => {
      const { messages } = readRequest()
      const [first, last] = [textOf(messages[0]?.content ?? ''), textOf(messages.at(-1)?.content ?? '')]
      if (messages.length === 1)
        return {
          toolCalls: [call('echo', { of: first }, 'same-id'), call('who', {}, 'same-id-too')],
          usage: { inputTokens: 1, outputTokens: 1 },
        }
      return {
        text: `${first}: ${textOf(messages[2]?.content ?? '')} by ${last}`,
        usage: { inputTokens: 1, outputTokens: 1 },
      }
    }
    const gate = gatedTool('unused')
    let waiting = 0
    const echo: AnyTool = defineTool<{ type: 'object' }, unknown, { user: string }>({
      name: 'echo',
      description: 'echoes',
      parameters: { type: 'object' },
      // No run continues before all have arrived.
      execute: async ({ of }) => {
        if (++waiting === runs) gate.release()
        await gate.tool.execute?.({} as never, {} as never)
        return of
      },
    })
    const who: AnyTool = defineTool<{ type: 'object' }, unknown, { user: string }>({
      name: 'who',
      description: 'tells the user',
      parameters: { type: 'object' },
      execute: (_args, { context, runId }) => `${context.user} ${runId}`,
    })
    await using on = await stage(mode, script, { tools: [echo, who] })
    const numbers = Array.from({ length: runs }, (_, n) => n)
    const results = await Promise.all(
      numbers.map((n) => on.runner.run(`q${n}`, { runId: `run-${n}`, context: { user: `user-${n}` }, maxIterations: 2, messages: [] })),
    )
    results.forEach((result, n) => {
      expect(result).toMatchObject({
        runId: `run-${n}`,
        stopReason: 'answered',
        output: `q${n}: q${n} by user-${n} run-${n}`,
        usage: { totalTokens: 4 },
      })
      expect(result.messages).toHaveLength(5)
      expect(result.toolCalls.map(({ id }) => id)).toEqual(['same-id', 'same-id-too'])
      expect(on.events.filter(({ meta }) => meta.runId === `run-${n}`)).toHaveLength(6)
    })
    for (const result of results.slice(0, 3)) await on.check(result)
    expect(on.log).toEqual([])
  })
})

describe('the loop with any model', () => {
  it('H4 an invalid limit is refused before any request, for a runner and for a run', async () => {
    const wrong: Omit<RunnerOptions, 'model'>[] = [
      ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY].flatMap((value) => [
        { maxIterations: value },
        { maxToolRounds: value },
        { toolConcurrency: value },
        { maxResultBytes: value },
      ]),
      ...[0, -1, Number.NaN].flatMap((value) => [
        { toolTimeoutMs: value },
        { streamIdleTimeoutMs: value },
        { limits: { deadlineMs: value } },
        { limits: { tokens: value } },
        { limits: { costUsd: value } },
        { limits: { repeatedCalls: value } },
      ]),
      ...[-1, 1.5, Number.NaN].map((value) => ({ limits: { toolCalls: value } })),
      { limits: { repeatedCalls: 1.5 } },
      { maxIterations: 3, maxToolRounds: 4 },
    ]
    let asked = 0
    const model = scriptedModel(() => `answer ${++asked}`)
    const runner = new AgentRunner({ model })
    const outcome = { code: 'invalid_option', message: expect.stringMatching(/^Expected `[\w.]+` to be .*, got `.*`$/) }
    for (const options of wrong) {
      const make = async () => new AgentRunner({ model, ...options })
      await expect(make(), JSON.stringify(options)).rejects.toMatchObject(outcome)
      await expect(runner.run('go', options), JSON.stringify(options)).rejects.toMatchObject(outcome)
      await expect(runner.stream('go', options).result).rejects.toMatchObject(outcome)
    }
    expect(asked).toBe(0)
  })
})
