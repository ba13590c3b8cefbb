import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages'
import { RunnableLambda } from '@langchain/core/runnables'
import { MemorySaver } from '@langchain/langgraph'
import { createAgent, tool } from 'langchain'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import { handoff } from '../../src/agent/sub-agents/handoff.ts'
import type { RunOptions, RunResult } from '../../src/agent/types/options.ts'
import { createAgentRunner } from '../../src/backends/index.ts'
import { type CreateAgent, checkAgent } from '../../src/backends/langchain/agent.ts'
import { openLangChainLoop } from '../../src/backends/langchain/loop.ts'
import { toLangChain } from '../../src/backends/langchain/messages.ts'
import { TurnModel } from '../../src/backends/langchain/turn-model.ts'
import { Event } from '../../src/core/events.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { type AnyTool, ask, defineTool } from '../../src/tools/tool.ts'
import { StrictJournal } from '../agent/strict-journal.ts'
import { type ModeScript, modes, nativeModes } from '../hazards/modes.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { comparable, expectValidHistory, resultTexts } from '../hazards/stage.ts'
import { call, countingTool, deafTool, gatedTool } from '../hazards/tools.ts'
import { within100Ms } from '../hazards/waiting.ts'
import { look, mode, playOn, playOnBoth } from './both.ts'

describe.each([...nativeModes, ...modes.filter(({ dialect }) => dialect === 'hermes').slice(0, 1)])('S3-2 both backends: $name', (on) => {
  it('S3-2 the same script gives the same messages, events, result and requests', async () => {
    const { result, events, requests } = await playOnBoth({
      on,
      script: [
        {
          text: 'Let me look. ',
          toolCalls: [
            call('look', { place: 'Oslo' }),
            call('look', { place: 'nowhere' }),
            call('look', { planet: 1 }),
            call('loook', {}),
            call('look', { place: 'Rome' }),
          ],
          usage: { inputTokens: 20, outputTokens: 5, totalTokens: 25 },
        },
        { toolCalls: [call('look', { place: 'Bergen' })] },
        'It is sunny everywhere – 晴天.',
      ],
      tools: () => [look()],
      options: { instructions: 'Be brief.' },
      input: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: 'How is the weather?' },
      ],
    })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'It is sunny everywhere – 晴天.', iterations: 3 })
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'failed', 'rejected', 'rejected', 'ok', 'ok'])
    expect(resultTexts(result)[3]).toBe('Tool not found: loook. Available tools: look.')
    expect(requests).toHaveLength(3)
    const text = events.flatMap(({ name, payload }) => (name === Event.TEXT_DELTA ? [payload.text] : []))
    // If calls are text, the line break after them is text too.
    expect(text.join('')).toMatch(/^Let me look\. \n?It is sunny everywhere – 晴天\.$/)
  })
})

describe('S3-2 the langchain backend', () => {
  it('S3-2 arguments that are not JSON are reported to the model, and kept as written', async () => {
    const { result } = await playOnBoth({ script: [{ toolCalls: [call('look', '{"place": Oslo}')] }, 'sorry'], tools: () => [look()] })
    expect(resultTexts(result)[0]).toMatch(/^Arguments of tool `look` could not be read: not valid JSON .*Received: /)
    expect(result.toolCalls).toMatchObject([{ outcome: 'rejected', errorCode: 'invalid_arguments_json', rawArguments: '{"place": Oslo}' }])
  })

  it('S3-2 missing or repeated ids are made unique, and every call gets its own result', async () => {
    const twice = {
      toolCalls: [call('look', { place: 'A' }, 'same'), call('look', { place: 'B' }, 'same'), call('look', { place: 'C' }, '')],
    }
    const { result } = await playOnBoth({ script: [twice, twice, 'done'], tools: () => [look()] })
    expect(resultTexts(result)).toEqual(['A', 'B', 'C', 'A', 'B', 'C'].map((place) => `sunny in ${place}`))
  })

  it('S3-2 parallel calls run concurrently, limited by lanes, with results in the order of the calls', async () => {
    for (const backend of ['native', 'langchain'] as const) {
      await using open = await mode.open([{ toolCalls: [call('a'), call('b'), call('c')] }, 'done'])
      const [a, b, c] = [gatedTool('a'), gatedTool('b'), gatedTool('c')]
      const runner = await createAgentRunner({ backend, model: open.model, tools: [a.tool, b.tool, c.tool], toolConcurrency: 2 })
      const started: string[] = []
      runner.on('TOOL_CALL_START', ({ tool }) => void started.push(tool))
      const running = runner.run('go')
      await Promise.all([a.called, b.called])
      expect(started).toEqual(['a', 'b'])
      b.release()
      await c.called
      c.release()
      a.release()
      expect(resultTexts(await running)).toEqual(['a done', 'b done', 'c done'])
    }
  })

  it('S3-2 a tool that hangs ends with a timeout, and the run continues', async () => {
    const { result } = await playOnBoth({
      script: [{ toolCalls: [call('deaf'), call('look', { place: 'Oslo' })] }, 'done'],
      tools: () => [deafTool('deaf', { timeoutMs: 20 }).tool, look()],
    })
    expect(resultTexts(result)).toEqual(['Tool `deaf` timed out after 20 ms. It may have taken effect.', 'sunny in Oslo'])
    expect(result.stopReason).toBe('answered')
  })

  it('S3-2 an abort while a deaf tool runs settles within 100 ms, with a valid history', async () => {
    await using open = await mode.open([{ text: 'Three.', toolCalls: [call('look', { place: 'Oslo' }), call('deaf'), call('deaf')] }])
    const deaf = deafTool()
    const runner = await createAgentRunner({ backend: 'langchain', model: open.model, tools: [look(), deaf.tool] })
    const controller = new AbortController()
    const running = runner.run('go', { signal: controller.signal })
    await deaf.called
    controller.abort()
    const result = await within100Ms(running)
    expect(result).toMatchObject({ stopReason: 'aborted', output: 'Three.' })
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'cancelled', 'cancelled'])
    expectValidHistory(result.messages)
  })

  it('S3-2 aborts before the start, while the model is silent, and by a deadline', async () => {
    const early = await playOnBoth({ script: ['never'], run: { signal: AbortSignal.abort() } })
    expect(early.result).toMatchObject({ stopReason: 'aborted', iterations: 0 })
    const silent = { script: [{ text: 'Hm. And so on and on', fault: { stallAfterBytes: 'content' as const } }] }
    const late = await playOnBoth({ ...silent, options: { limits: { deadlineMs: 1_000 } } })
    expect(late.result).toMatchObject({ stopReason: 'deadline', output: expect.stringMatching(/^Hm\./) })
  })

  it('S3-2 at the iteration limit, the last calls run, with one warning and a history to continue with', async () => {
    const again = { toolCalls: [call('look', { place: 'Oslo' })] }
    const { result, log } = await playOnBoth({ script: [again, again, again], tools: () => [look()], options: { maxIterations: 3 } })
    expect(result).toMatchObject({ stopReason: 'max_iterations', iterations: 3 })
    expect(result.messages).toHaveLength(7)
    expect(log).toMatchObject([{ level: 'warn', fields: { stopReason: 'max_iterations' } }])
    const answered = await playOnBoth({
      script: [again, { text: 'Enough.', toolCalls: [call('look', { place: 'Rome' })] }],
      tools: () => [look()],
      options: { maxIterations: 1, onLimit: 'answer' },
    })
    expect(answered.result).toMatchObject({ stopReason: 'max_iterations', output: 'Enough.', iterations: 2 })
    expect(answered.result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'denied'])
  })

  it('F7 S3-2 an answer that was cut off ends the run `truncated`', async () => {
    const { result } = await playOnBoth({ script: [{ text: 'Half', finishReason: 'length' }] })
    expect(result).toMatchObject({ stopReason: 'truncated', output: 'Half', iterations: 1 })
    const script = [
      { text: 'One, ', finishReason: 'length' as const },
      { text: 'two: ', toolCalls: [call('look', { place: 'Oslo' })] },
      { text: 'Half', finishReason: 'length' as const },
      ' and half.',
    ]
    const joined = await playOnBoth({ script, tools: () => [look()], options: { onTruncated: 'continue', instructions: 'Be brief.' } })
    expect(joined.result).toMatchObject({ stopReason: 'answered', output: 'Half and half.', iterations: 4 })
    expect(joined.result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  it("S3-2 LangChain's own limit of steps does not end a long run", async () => {
    const turns = Array.from({ length: 30 }, (_, n) => ({ toolCalls: [{ name: 'look', args: { place: `${n}` } }] }))
    const runner = await createAgentRunner({
      backend: 'langchain',
      model: scriptedModel([...turns, 'done']),
      tools: [look()],
      maxIterations: 31,
    })
    const result = await runner.run('go')
    expect(result).toMatchObject({ stopReason: 'answered', iterations: 31 })
    expect(result.messages).toHaveLength(62)
  })

  it('S3-2 budgets, the breaker, final tools, stopWhen and hooks end and change a run as in the native loop', async () => {
    const again = { toolCalls: [call('look', { place: 'Oslo' })], usage: { inputTokens: 50, outputTokens: 10, totalTokens: 60 } }
    const tools = () => [look()]
    const tokens = await playOnBoth({ script: [again, again], tools, options: { limits: { tokens: 100 } } })
    expect(tokens.result).toMatchObject({ stopReason: 'budget', usage: { totalTokens: 120 } })
    const calls = await playOnBoth({
      script: [{ toolCalls: [call('look', { place: 'A' }), call('look', { place: 'B' })] }],
      tools,
      options: { limits: { toolCalls: 1 } },
    })
    expect(calls.result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'denied'])
    const repeats = await playOnBoth({ script: [again, again, again], tools, options: { limits: { repeatedCalls: 1 } } })
    expect(repeats.result.stopReason).toBe('repeated_calls')
    expect(resultTexts(repeats.result)[1]).toMatch(/^sunny in Oslo\n\nNote: this same call/)
    const final = await playOnBoth({ script: [again], tools: () => [defineTool({ ...countingTool('look').tool, final: true })] })
    expect(final.result).toMatchObject({ stopReason: 'stopped', output: 'look done' })
    const stopped = await playOnBoth({ script: [again], tools, options: { stopWhen: ({ steps }) => steps.length === 1 } })
    expect(stopped.result.stopReason).toBe('stopped')
    const hooks = [{ beforeTool: () => ({ args: { place: 'Rome' } }) }]
    expect(resultTexts((await playOnBoth({ script: [again, 'ok'], tools, options: { hooks } })).result)).toEqual(['sunny in Rome'])
  })

  it('S3-2 the run continues after a rejected answer, after steering, and with another agent', async () => {
    const output = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] } as const
    const objected = await playOnBoth({ script: ['It is sunny.', '{"sky":"clear"}'], run: { output } as RunOptions })
    expect(objected.result).toMatchObject({ stopReason: 'answered', output: { sky: 'clear' }, iterations: 2 })
    expect(objected.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])

    for (const backend of ['native', 'langchain'] as const) {
      const control = new RunControl()
      const afterModel = ({ iteration }: { iteration: number }) => {
        if (iteration === 2) control.send('And Oslo?')
        return undefined
      }
      const say = defineTool({ name: 'say', description: 'Says.', execute: () => control.send('And Rome?') })
      const { result, requests } = await playOn(backend, {
        script: [{ toolCalls: [call('say')] }, 'Rome is sunny.', 'And so is Oslo.'],
        tools: () => [say],
        options: { hooks: [{ afterModel }] },
        run: { control },
      })
      expect(result).toMatchObject({ stopReason: 'answered', output: 'And so is Oslo.' })
      expect(requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant', 'user'])
    }

    const other = () => new AgentRunner({ model: scriptedModel(['Here I am.']), instructions: 'Be the other one.' })
    const handed = await playOnBoth({
      script: [{ toolCalls: [call('hand_off_to_other')] }],
      tools: () => [handoff(other(), { name: 'other', description: 'the other one' })],
      options: { instructions: 'Be the first one.' },
    })
    expect(handed.result).toMatchObject({ stopReason: 'answered', output: 'Here I am.', agent: 'other' })
  })

  it('S3-2 a provider that fails in the middle ends with model_error, and everything until then', async () => {
    const { result } = await playOnBoth({
      script: [
        { text: 'One. ', toolCalls: [call('look', { place: 'Oslo' })] },
        { text: 'And then', fault: { resetAfterBytes: 'content' } },
      ],
      tools: () => [look()],
    })
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'stream_cut' }, output: expect.stringMatching(/^And/) })
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    const refused = await playOnBoth({ script: [{ status: 401, body: { error: { message: 'no' } } }] })
    expect(refused.result).toMatchObject({ stopReason: 'model_error', error: { code: 'unauthorized' }, messages: [{ role: 'user' }] })
  })

  it('S3-2 text can be streamed, and leaving the stream aborts the run', async () => {
    await using open = await mode.open(['It is sunny.', 'It is sunny.'])
    const runner = await createAgentRunner({ backend: 'langchain', model: open.model })
    const pieces: string[] = []
    const stream = runner.stream('go')
    for await (const event of stream) if (event.type === 'TEXT_DELTA') pieces.push(event.text)
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe((await stream.result).output)
    const left = runner.stream('go')
    for await (const _ of left.text) break
    expect((await left.result).stopReason).toBe('aborted')
  })

  it('S3-2 a run that was paused on one backend is resumed on the other', async () => {
    const pay = () => defineTool({ ...countingTool('pay').tool, approval: true })
    const question = () =>
      defineTool({ name: 'which', description: 'Asks.', execute: (_args, { answer }) => answer ?? ask({ about: 'Which?' }) })
    const client = () => defineTool({ name: 'screen', description: 'The caller runs it.' })
    const tools = () => [look(), pay(), question(), client()]
    const script: ModeScript = [{ toolCalls: [call('pay'), call('look', { place: 'Oslo' }), call('which'), call('screen')] }, 'done']
    const finals: object[] = []
    for (const [first, second] of [
      ['native', 'langchain'],
      ['langchain', 'native'],
      ['native', 'native'],
    ] as const) {
      await using open = await mode.open(script)
      const { logger } = recordingLogger()
      const [from, to] = await Promise.all(
        [first, second].map((backend) => createAgentRunner({ backend, model: open.model, tools: tools(), logger })),
      )
      const paused = await from?.run('go', { runId: 'run' })
      expect(paused?.pending.map(({ kind }) => kind)).toEqual(['approval', 'question', 'client_tool'])
      const decisions = paused?.pending.map((item) =>
        item.kind === 'approval'
          ? { ...item, approved: true as const }
          : item.kind === 'question'
            ? { ...item, answer: 'this' }
            : { ...item, result: 'shown' },
      )
      const result = await to?.resume(JSON.parse(JSON.stringify(paused?.state)), { decisions: decisions ?? [], claim: () => true })
      if (result === undefined) throw new Error('there is no result')
      expect(resultTexts(result)).toEqual(['pay done', 'sunny in Oslo', 'this', 'shown'])
      finals.push(comparable(result))
    }
    expect(finals[0]).toEqual(finals[2])
    expect(finals[1]).toEqual(finals[2])
  })

  it("S3-2 a tool named like LangChain's output tools runs, and tools may be added and removed during a run", async () => {
    const extract = countingTool('extract-text')
    const { result } = await playOnBoth({ script: [{ toolCalls: [call('extract-text')] }, 'done'], tools: () => [extract.tool] })
    expect(resultTexts(result)).toEqual(['extract-text done'])
    await using open = await mode.open([{ toolCalls: [call('add_tool')] }, { toolCalls: [call('late')] }, 'done'])
    const { ToolRegistry } = await import('../../src/tools/registry.ts')
    const registry = new ToolRegistry()
    registry.register(
      defineTool({ name: 'add_tool', description: 'adds', execute: () => registry.register(countingTool('late').tool).names() }),
    )
    const runner = await createAgentRunner({ backend: 'langchain', model: open.model, tools: registry })
    expect(resultTexts(await runner.run('go'))[1]).toBe('late done')
  })

  it("S3-2 settings of an outer LangChain agent don't affect the run, and its listeners see every turn and call", async () => {
    await using open = await mode.open([{ toolCalls: [call('look', { place: 'A' }), call('look', { place: 'B' })] }, 'done'])
    const runner = await createAgentRunner({ backend: 'langchain', model: open.model, tools: [look()] })
    const seen: string[] = []
    const around = RunnableLambda.from(async () => (await runner.run('go')).stopReason)
    const stopReason = await around.invoke('', {
      maxConcurrency: 1,
      recursionLimit: 2,
      callbacks: [{ handleChatModelStart: () => void seen.push('model'), handleToolStart: () => void seen.push('tool') }],
    })
    expect(stopReason).toBe('answered')
    expect(seen).toEqual(['model', 'tool', 'tool', 'model'])
  })

  it("S3-2 as a tool of a LangChain agent, it leaves nothing in that agent's store", async () => {
    const runner = await createAgentRunner({
      backend: 'langchain',
      model: scriptedModel([{ toolCalls: [call('look', { place: 'A' })] }, 'inner']),
      tools: [look()],
    })
    const replies = [new AIMessage({ content: '', tool_calls: [{ id: '1', name: 'sub', args: {} }] }), new AIMessage('outer')]
    const model = new TurnModel(async () => replies.shift() ?? new AIMessage('no more'))
    const sub = tool(async () => (await runner.run('go')).output, { name: 'sub', schema: { type: 'object' } })
    const checkpointer = new MemorySaver()
    const agent = createAgent({ model, tools: [sub], checkpointer })
    const { messages } = await agent.invoke({ messages: [new HumanMessage('go')] }, { configurable: { thread_id: 't' } })
    expect(messages.map(({ content }) => content)).toEqual(['go', '', 'inner', 'outer'])
    const places = new Set<unknown>()
    for await (const { config } of checkpointer.list({ configurable: { thread_id: 't' } })) places.add(config.configurable?.checkpoint_ns)
    expect([...places]).toEqual([''])
  })

  it("S3-2 messages in LangChain's form", () => {
    const call = { id: 'c', type: 'function' as const, function: { name: 'look', arguments: '{"place":"Oslo"}' } }
    const bad = { id: 'd', type: 'function' as const, function: { name: 'extract-x', arguments: '{"a":' } }
    const parts = [
      { type: 'text' as const, text: 'see' },
      { type: 'image' as const, data: 'aGk=', mediaType: 'image/png' },
    ]
    const ours = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: parts, name: 'ann' },
      { role: 'assistant', content: 'I look.', toolCalls: [call, bad] },
      { role: 'tool', content: 'sunny', toolCallId: 'c', name: 'look' },
      { role: 'tool', content: 'no', toolCallId: 'd', isError: true },
    ] as const
    const theirs = ours.map((message, at) => toLangChain(structuredClone<never>(message as never), at))
    expect(theirs.map((message) => message.constructor)).toEqual([SystemMessage, HumanMessage, AIMessage, ToolMessage, ToolMessage])
    expect(theirs).toMatchObject([
      { id: 'message-0', content: 'Be brief.' },
      {
        id: 'message-1',
        name: 'ann',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image', data: 'aGk=', mimeType: 'image/png' },
        ],
      },
      {
        id: 'message-2',
        content: 'I look.',
        tool_calls: [
          { id: 'c', name: 'look', args: { place: 'Oslo' } },
          { id: 'd', name: 'tool_extract-x', args: {} },
        ],
      },
      { id: 'result-c', tool_call_id: 'c', status: 'success', name: 'look' },
      { id: 'result-d', tool_call_id: 'd', status: 'error' },
    ])
  })

  it('refuses unsupported options, and unknown backends', async () => {
    const model = scriptedModel(['hello'])
    const refused = (options: object) =>
      createAgentRunner({ model, ...options }).then(
        () => 'made',
        ({ code, message }) => `${code}: ${message}`,
      )
    expect(await refused({ backend: 'langchain', journal: new StrictJournal(Number.POSITIVE_INFINITY) })).toMatch(
      /^invalid_option: Expected `journal` to be absent with the backend 'langchain'/,
    )
    expect(await refused({ backend: 'graph' })).toBe("invalid_option: Expected `backend` to be 'native' or 'langchain', got `\"graph\"`")
    expect(await refused({ backend: 'langchain', maxIterations: 0 })).toMatch(/^invalid_option: Expected `maxIterations`/)
    expect(await refused({})).toBe('made')
  })
})

describe('S3-3 switching back', () => {
  it('S3-3 takes only the option: on either backend, a conversation of the other continues', async () => {
    let messages: RunResult['messages'] = []
    for (const [turn, backend] of (['native', 'langchain', 'native', 'langchain'] as const).entries()) {
      const { result } = await playOn(backend, {
        script: [{ toolCalls: [call('look', { place: backend })] }, `turn ${turn}`],
        tools: () => [look()],
        run: { messages, runId: `run-${turn}` },
      })
      expect(result).toMatchObject({ stopReason: 'answered', output: `turn ${turn}` })
      messages = result.messages
    }
    expect(messages).toHaveLength(16)
  })
})

/** LangChain's agent, which fails in a given way after the check. */
const breakingAt = (step: (messages: readonly unknown[], turn: number) => Promise<void>): CreateAgent => {
  let agents = 0
  return (parts) => {
    const isChecked = agents++ > 0
    let turn = 0
    const whole = parts.model._generate.bind(parts.model)
    if (isChecked) {
      parts.model._generate = async (messages) => {
        await step(messages, ++turn)
        return whole(messages)
      }
    }
    return createAgent(parts)
  }
}

describe('S3-2 a LangChain that fails during a run', () => {
  const runOn = async (create: CreateAgent, tools: AnyTool[] = [look()], options: RunOptions = {}) => {
    const model = scriptedModel([{ text: 'One.', toolCalls: [{ name: tools[0]?.name ?? '', args: { place: 'Oslo' } }] }, 'done'])
    const { logger, records } = recordingLogger()
    const runner = new AgentRunner({ model, tools, logger }, await openLangChainLoop(create))
    const events: string[] = []
    for (const name of Object.values(Event)) runner.on(name, () => void events.push(name))
    const result = await runner.run('go', options)
    expectValidHistory(result.messages)
    return { result, records, events }
  }

  it('ends the run with backend_failed and everything until then', async () => {
    const { result, records } = await runOn(
      breakingAt(async (_messages, turn) => {
        if (turn === 2) throw new Error('the graph is gone')
      }),
    )
    expect(result).toMatchObject({
      stopReason: 'model_error',
      error: { code: 'backend_failed', cause: { message: 'the graph is gone' } },
      iterations: 1,
    })
    expect(resultTexts(result)).toEqual(['sunny in Oslo'])
    expect(records).toMatchObject([{ level: 'error', message: 'the backend failed' }])
  })

  it('is not continued with a state that differs from the conversation', async () => {
    const { result } = await runOn(breakingAt(async (messages, turn) => void (turn === 2 && Array.isArray(messages) && messages.shift())))
    expect(result.error?.message).toMatch(
      /Expected LangChain to send the messages message-0, message-1, result-call_1, got message-1, result-call_1$/,
    )
  })

  it('leaves no call without a result if it ends by itself', async () => {
    let agents = 0
    const endsEarly: CreateAgent = (parts) => {
      const agent = createAgent(parts)
      return { invoke: (state, config) => (agents++ === 0 ? agent.invoke(state, config) : parts.model._generate(state.messages)) }
    }
    const { result } = await runOn(endsEarly, [countingTool('look').tool])
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'backend_failed' }, toolCalls: [{ outcome: 'cancelled' }] })
    expect(result.error?.message).toBe("LangChain's loop failed: it did not return the end of the run")
  })

  it('is not waited for if it answers a call itself', async () => {
    let agents = 0
    const answers: CreateAgent = (parts) => {
      const wrapToolCall = async () => new ToolMessage({ tool_call_id: 'call_1', content: 'made up' })
      const middleware = parts.middleware.map((one) => ({ ...one, wrapToolCall }))
      return createAgent(agents++ === 0 ? parts : { ...parts, middleware })
    }
    const look = countingTool('look')
    const { result } = await runOn(answers, [look.tool])
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'backend_failed' }, toolCalls: [{ outcome: 'cancelled' }] })
    expect(result.error?.message).toContain('Expected LangChain to run every call of a turn')
    expect(look.calls).toEqual([])
  })

  it('is abandoned when the run is aborted, and can do nothing any more', async () => {
    const called = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const controller = new AbortController()
    const running = runOn(
      breakingAt((_messages, turn) => {
        if (turn === 2) called.resolve()
        return turn === 2 ? gate.promise : Promise.resolve()
      }),
      [look()],
      { signal: controller.signal },
    )
    await called.promise
    controller.abort()
    const { result, events } = await within100Ms(running)
    expect(events.at(-1)).toBe('RUN_END')
    const [messages, told] = [[...result.messages], events.length]
    gate.resolve()
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
    expect(result).toMatchObject({ stopReason: 'aborted', iterations: 1, messages })
    expect(events).toHaveLength(told)
  })

  it('is noticed before the first run if its version does not work', async () => {
    const withoutTools: CreateAgent = (parts) => createAgent({ ...parts, middleware: [] })
    await expect(openLangChainLoop(withoutTools)).rejects.toThrow(
      /^Expected LangChain's agent to do this: asked with human, called a, .*\. It did this: asked with human$/,
    )
    await expect(checkAgent()).resolves.toBeUndefined()
  })
})
