import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { keptId } from '../../src/agent/journal/kept-values.ts'
import { ModelError } from '../../src/core/errors.ts'
import { Event, type EventName } from '../../src/core/events.ts'
import { AgentRunner, ask, asTool, Budget, defineTool, handoff, type PendingItem, RunControl, type RunResult } from '../../src/index.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { callsOf, isDecision, type RecordedRun, requestsOf } from '../../src/recording/format.ts'
import { readRecording, recordRun, replayRun } from '../../src/recording/index.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import type { AnyTool } from '../../src/tools/tool.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { newFile, playsByteEqual, recorded } from './recorded.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  effect: 'read',
  execute: ({ a, b }) => a + b,
})
const call = (args: object, name = 'add') => ({ name, arguments: { ...args } })
const usage = { inputTokens: 10, outputTokens: 2 }
const decisionsIn = ({ steps }: RecordedRun) =>
  Object.entries(steps).flatMap(([place, step]) => (isDecision(step) ? [{ place, ...step }] : []))

it('observers of a recorded run receive the same events: that a request waits, and that it is repeated', async () => {
  const said = scriptedModel(['Done.', 'Done.'])
  const model: ChatModel = {
    provider: said.provider,
    model: said.model,
    capabilities: said.capabilities,
    generate: (request, sink) => {
      sink?.queued?.(2)
      sink?.retry?.({ provider: 'p', model: 'm', errorCode: 'rate_limited', error: 'too many', delayMs: 0 })
      return said.generate(request, sink)
    },
  }
  const seen: EventName[][] = []
  const run = async (record: object) => {
    const stream = new AgentRunner({ model }).stream('go', record)
    seen.push((await Array.fromAsync(stream)).map(({ type }) => type))
    return stream.result
  }
  await run({})
  await recorded((record) => run(record))
  expect(seen[0]).toContain('MODEL_QUEUED')
  expect(seen[0]).toContain('MODEL_RETRY')
  expect(seen[1]).toEqual(seen[0])
})

describe('a recorded run, replayed and recorded again, gives the same bytes', () => {
  it('F21 with an interrupted response, of which only the whole one is recorded', async () => {
    const script = [
      { text: 'It is lo', fault: { cutAfterBytes: 'content' as const } },
      { text: 'It is long.', usage },
    ]
    await using provider = await startStrictProvider({ script })
    const model = createModel({ provider: 'custom', model: 'm', baseURL: provider.baseURL, maxRetries: 1, maxRetryDelayMs: 1 })
    const runner = new AgentRunner({ model })
    runner.on('TEXT_DELTA', () => {})
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    const streams = requestsOf(recording).map(([, { stream = [] }]) => stream.map(([, ...pieces]) => pieces.join('')))
    expect(streams).toEqual([['It is long.']])
  })

  it('with a call, reasoning, usage and streamed pieces', async () => {
    const model = scriptedModel([
      { reasoning: 'Let me add.', text: 'One moment.', toolCalls: [call({ a: 2, b: 3 })], usage },
      { text: 'It is 5.', usage },
    ])
    const runner = new AgentRunner({ model, tools: [add], instructions: 'Be brief.' })
    const { recording } = await playsByteEqual((record) => runner.run('2 + 3?', record))
    expect(requestsOf(recording).map(([, { stream }]) => stream?.map(([kind]) => kind))).toEqual([
      ['reasoning', 'text', 'call', 'arguments'],
      ['text'],
    ])
    const call_1 = { id: 'call_1', tool: 'add', args: { a: 2, b: 3 }, outcome: 'ok', content: '5' }
    expect(recording.steps['1.tool.0']).toEqual(call_1)
    expect(recording.result).toMatchObject({ stopReason: 'answered', text: 'It is 5.', iterations: 2 })
  })

  it('with a stored result that is read in parts', async () => {
    const text = `${'x'.repeat(100_000)}needle`
    const long = defineTool({ name: 'long', description: 'x', execute: () => text })
    const readOn = { toolCalls: [call({ id: keptId(text), search: 'needle' }, 'read_result')] }
    const model = scriptedModel([{ toolCalls: [call({}, 'long')] }, readOn, 'Found.'])
    const runner = new AgentRunner({ model, tools: [long], largeResults: true })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(callsOf(recording)[1]?.content).toContain('Found "needle" once')
  })

  it('with a budget that it shares with others, which is not in the recording', async () => {
    const budget = new Budget({ tokens: 10_000 })
    const runner = new AgentRunner({ model: scriptedModel([{ text: 'Done.', usage }]), budget, onBudget: 'pause' })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(recording.given.code).toEqual(['budget'])
    expect(budget.spent.tokens).toBe(12)
  })

  it('with a conversation before it and whole responses', async () => {
    const runner = new AgentRunner({ model: scriptedModel(['Four.']), stream: false, temperature: 0.5 })
    const messages = [
      { role: 'user', content: 'How much is 1 + 1?' },
      { role: 'assistant', content: 'Two.' },
    ] as const
    const { recording } = await playsByteEqual((record) => runner.run('Twice that?', { ...record, messages }))
    expect(recording.given.earlier).toBe(2)
    expect(requestsOf(recording)[0]?.[1]?.stream).toEqual([['text', 'Four.']])
  })

  it('with parallel calls that end in another order, the same call twice, and a refused one', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = defineTool({
      name: 'slow',
      description: 'Waits.',
      parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      execute: async ({ n }) => {
        if (n === 2) gates[0]?.resolve()
        await gates[n === 2 ? 1 : 0]?.promise
        gates[1]?.resolve()
        return `waited ${n}`
      },
    })
    const toolCalls = [
      call({ n: 1 }, 'slow'),
      call({ n: 2 }, 'slow'),
      call({ n: 2 }, 'slow'),
      call({ n: 'x' }, 'slow'),
      call({}, 'nothing'),
    ]
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls }, 'done']), tools: [slow] })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(Object.keys(recording.steps)).toEqual(['1.model', '1.tool.0', '1.tool.1', '1.tool.2', '2.model'])
  })

  it('E3.1 with calls that a tool’s own schema accepted, and its JSON Schema would not', async () => {
    const paint = defineTool({
      name: 'paint',
      description: 'Paints.',
      parameters: z.object({ color: z.string().regex(/^#[0-9a-f]{6}$/i), times: z.coerce.number() }),
      execute: ({ color }) => `painted ${color}`,
    })
    const toolCalls = [call({ color: '#AABBCC', times: '2' }, 'paint'), call({ times: 2 }, 'paint')]
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls }, 'done']), tools: [paint] })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(callsOf(recording)).toMatchObject([{ args: { color: '#AABBCC', times: '2' }, outcome: 'ok' }])
  })

  it('with a tool that fails, one that is retried, and one that times out', async () => {
    let tries = 0
    const tools = [
      defineTool({ name: 'broken', description: 'Fails.', execute: () => Promise.reject(new Error('no luck')) }),
      defineTool({
        name: 'flaky',
        description: 'Fails once.',
        retries: 2,
        execute: () => {
          if (++tries === 1) throw new Error('not yet')
          return { tries }
        },
      }),
      defineTool({ name: 'deaf', description: 'Never ends.', timeoutMs: 20, execute: () => new Promise(() => {}) }),
    ]
    const toolCalls = ['broken', 'flaky', 'deaf'].map((name) => call({}, name))
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls }, 'done']), tools })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(callsOf(recording).map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
      ['failed', undefined],
      ['ok', 2],
      ['timeout', undefined],
    ])
  })

  it('with a model that fails during its answer', async () => {
    const error = new ModelError('stream_cut', 'The stream ended early', {
      provider: 'scripted',
      retryable: true,
      partial: { text: 'It is' },
    })
    const runner = new AgentRunner({ model: scriptedModel([{ text: 'It is', error }]) })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(recording.result).toMatchObject({ stopReason: 'model_error', text: 'It is', error: { code: 'stream_cut' } })
  })

  it('with an empty response that was requested once more', async () => {
    const runner = new AgentRunner({ model: scriptedModel(['', 'Here.']) })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(recording.steps).toMatchObject({ '1.model': [{ response: { text: '' } }, { response: { text: 'Here.' } }] })
  })

  it('with a final tool, and an answer with a schema', async () => {
    const final = defineTool({ ...add, final: true })
    const stopped = new AgentRunner({ model: scriptedModel([{ toolCalls: [call({ a: 1, b: 1 })] }]), tools: [final] })
    expect((await playsByteEqual((record) => stopped.run('go', record))).recording.result).toMatchObject({
      stopReason: 'stopped',
      text: '2',
    })
    const model = scriptedModel([{ toolCalls: [call({ sum: 'two' }, 'final_answer')] }, { toolCalls: [call({ sum: 2 }, 'final_answer')] }])
    const output = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] } as const
    const answering = new AgentRunner({ model, tools: [add] })
    const { recording } = await playsByteEqual((record) => answering.run('go', { ...record, output }))
    expect(recording.result).toMatchObject({ stopReason: 'answered', text: '{"sum":2}' })
  })

  it('with calls that are written as text', async () => {
    const text = 'I add.\n<tool_action name="add"><a value="1" /><b value="2" /></tool_action>'
    const model = scriptedModel([text, '3'], { capabilities: { nativeTools: false } })
    const { recording } = await playsByteEqual((record) => new AgentRunner({ model, tools: [add] }).run('go', record))
    expect(callsOf(recording)).toMatchObject([{ tool: 'add', content: '3' }])
  })

  it('with a limit that ends it', async () => {
    const model = scriptedModel(() => ({ toolCalls: [call({ a: 1, b: 1 })] }))
    const runner = new AgentRunner({ model, tools: [add], maxIterations: 2, limits: { toolCalls: 1 } })
    expect((await playsByteEqual((record) => runner.run('go', record))).recording.result?.stopReason).toBe('budget')
  })

  it('with a caller that aborts it while the model answers, and while a tool runs', async () => {
    for (const deaf of [false, true]) {
      const abort = new AbortController()
      const model = scriptedModel([{ text: 'One mo', hang: true, deaf }])
      const runner = new AgentRunner({ model })
      const onText = (text: string) => text.endsWith('mo') && abort.abort()
      const { recording } = await playsByteEqual((record) => runner.run('go', { ...record, signal: abort.signal, onText }))
      expect(recording).toMatchObject({
        steps: { '1.model': [{ interrupted: 'aborted' }] },
        result: { stopReason: 'aborted', text: 'One mo' },
      })
    }
    const abort = new AbortController()
    const execute = () => {
      abort.abort()
      return new Promise(() => {})
    }
    const stopper = defineTool({ name: 'stopper', description: 'Stops.', execute })
    const model = scriptedModel([{ toolCalls: [call({ a: 1, b: 1 }), call({}, 'stopper')] }])
    const runner = new AgentRunner({ model, tools: [add, stopper] })
    const { recording } = await playsByteEqual((record) => runner.run('go', { ...record, signal: abort.signal }))
    expect(callsOf(recording)).toMatchObject([{ outcome: 'ok' }, { interrupted: 'aborted' }])
  })

  it('with a caller that aborts it before its request, between two turns, and before all of its calls have started', async () => {
    const never = new AgentRunner({ model: scriptedModel(['Never said.']) })
    const { recording } = await playsByteEqual((record) => never.run('go', { ...record, signal: AbortSignal.abort() }))
    expect(recording).toMatchObject({ steps: {}, result: { stopReason: 'aborted' } })

    const left = await playsByteEqual(async (record) => {
      const stream = never.stream('go', record)
      for await (const _ of stream) break
      return stream
    })
    expect(left.recording).toMatchObject({ steps: {}, result: { stopReason: 'aborted' } })

    const shutDown = AbortSignal.abort(new Error('the server is shut down'))
    const shut = await playsByteEqual((record) => never.run('go', { ...record, signal: shutDown }))
    expect(shut.recording.result?.error?.message).toContain('the server is shut down')

    const between = new AbortController()
    const adds = new AgentRunner({ model: scriptedModel([{ toolCalls: [call({ a: 1, b: 1 })] }, 'Never said.']), tools: [add] })
    adds.on(Event.TOOL_CALL_END, () => between.abort())
    const added = await playsByteEqual((record) => adds.run('go', { ...record, signal: between.signal }))
    expect(added.recording).toMatchObject({ steps: { '1.tool.0': { outcome: 'ok' } }, result: { stopReason: 'aborted' } })

    const abort = new AbortController()
    const execute = () => {
      abort.abort()
      return new Promise(() => {})
    }
    const stopper = defineTool({ name: 'stopper', description: 'Stops.', execute })
    const model = scriptedModel([{ toolCalls: [call({}, 'stopper'), call({ a: 1, b: 1 })] }])
    const runner = new AgentRunner({ model, tools: [add, stopper] })
    const begun = await playsByteEqual((record) => runner.run('go', { ...record, signal: abort.signal }))
    expect(callsOf(begun.recording)).toMatchObject([{ tool: 'stopper', interrupted: 'aborted' }])
  })

  it('with a deadline', async () => {
    const runner = new AgentRunner({ model: scriptedModel([{ text: 'Hm', deaf: true }]), limits: { deadlineMs: 30 } })
    expect((await playsByteEqual((record) => runner.run('go', record))).recording.result?.stopReason).toBe('deadline')
  })

  it('with messages sent to it meanwhile', async () => {
    const control = new RunControl()
    const tell = defineTool({ name: 'tell', description: 'Tells.', execute: () => control.send('And in German?') })
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [call({}, 'tell')] }, 'Hallo.']), tools: [tell] })
    const { recording } = await playsByteEqual((record) => runner.run('Say hello.', { ...record, control }))
    expect(recording.steps['1.steer']).toEqual({ messages: [{ role: 'user', content: 'And in German?' }] })
  })

  it('with a conversation that is handed to another agent and back', async () => {
    const front = { model: scriptedModel([{ toolCalls: [call({}, 'hand_off_to_sums')] }]), tools: [] as never[] }
    const sums = new AgentRunner({
      model: scriptedModel([{ toolCalls: [call({ a: 1, b: 2 })] }, 'Three.'], { model: 'other' }),
      tools: [add],
      instructions: 'You add.',
    })
    const runner = new AgentRunner({ ...front, instructions: 'You greet.', tools: [handoff(sums, { name: 'sums', description: 'adds' })] })
    const { recording } = await playsByteEqual((record) => runner.run('1 + 2?', record))
    expect(requestsOf(recording)[1]?.[1].request).toMatchObject({ model: { model: 'other' }, agent: [{ name: 'add' }] })
    expect(recording.result).toMatchObject({ text: 'Three.', agent: 'sums' })
  })

  it('with agents inside its calls, two at once, one of which fails', async () => {
    const inner = (text: string) =>
      new AgentRunner({ model: scriptedModel([{ toolCalls: [call({ a: 1, b: 2 })], usage }, text]), tools: [add] })
    const agents = [asTool(inner('Three.'), { name: 'one', description: '1' }), asTool(inner(''), { name: 'two', description: '2' })]
    const model = scriptedModel([{ toolCalls: [call({ task: 'x' }, 'two'), call({ task: 'y' }, 'one')] }, 'done'])
    const { recording } = await playsByteEqual((record) => new AgentRunner({ model, tools: agents }).run('go', record))
    const requests = (run: RecordedRun | undefined) => run && requestsOf(run).length
    expect(callsOf(recording).map(({ tool, outcome, runs }) => [tool, outcome, requests(runs?.[0])])).toEqual([
      ['two', 'failed', 3],
      ['one', 'ok', 2],
    ])
  })
})

describe('decisions are replayed as they were made', () => {
  const risky = defineTool({ ...add, name: 'risky', approval: ({ a }) => Number(a) > 1 })

  it.each([
    ['changed what is secret alone', 'approve', 'sesame-78'],
    ['changed what is secret alone', 'resume', 'sesame-78'],
    ['gave the same arguments', 'resume', 'sesame-77'],
  ])('that %s: %s', async (_, way, pin) => {
    const login = defineTool({
      name: 'login',
      description: 'Logs in.',
      parameters: { type: 'object', properties: { pin: { type: 'string' } }, required: ['pin'] },
      secrets: ['pin'],
      approval: true,
      execute: ({ pin }) => `in with ${pin}`,
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'login', arguments: { pin: 'sesame-77' } }] }, 'You are in.'])
    const decision = { approved: true as const, args: { pin } }
    const runner = new AgentRunner({ model, tools: [login], ...(way === 'approve' ? { approve: () => decision } : {}) })
    const { text } = await playsByteEqual(async (record) => {
      const result = await runner.run('Let me in.', record)
      if (way === 'approve') return result
      return runner.resume(result.state, { ...record, decisions: result.pending.map((item) => ({ ...item, ...decision })) })
    })
    expect(text).not.toContain('sesame')
  })

  it('of `approve`, with reasons', async () => {
    const toolCalls = [call({ a: 1, b: 1 }, 'risky'), call({ a: 2, b: 1 }, 'risky'), call({ a: 3, b: 1 }, 'risky')]
    const approve = ({ args }: { args: { a?: unknown } }) => (args.a === 3 ? { approved: false, reason: 'too much' } : true)
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls }, 'done']), tools: [risky], approve })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(decisionsIn(recording)).toEqual([
      { place: '1.approve.1', call: 'call_2', tool: 'risky', args: { a: 2, b: 1 }, verdict: { approved: true } },
      { place: '1.approve.2', call: 'call_3', tool: 'risky', args: { a: 3, b: 1 }, verdict: { approved: false, reason: 'too much' } },
    ])
  })

  it('on a paused run, which continues in the same file when it is resumed: other arguments, a client’s result, a later decision', async () => {
    const client = defineTool({ name: 'client', description: 'Runs elsewhere.' })
    const toolCalls = [call({ a: 2, b: 1 }, 'risky'), call({}, 'client'), call({ a: 1, b: 1 }, 'risky')]
    const runner = () => new AgentRunner({ model: scriptedModel([{ toolCalls }, 'done']), tools: [risky, client] })
    let paused = await runner().run('unrecorded')
    const { recording } = await playsByteEqual(
      async (record) => (paused = await runner().run('go', record)),
      async (record) => {
        const decisions = paused.pending.slice(1).map((item) => ({ ...item, result: { here: true } }))
        paused = await runner().resume(paused.state, { ...record, decisions })
      },
      async (record) => {
        const decisions = paused.pending.map((item) => ({ ...item, approved: true as const, args: { a: 5, b: 5 } }))
        const model = scriptedModel(['done'])
        await new AgentRunner({ model, tools: [risky, client] }).resume(paused.state, { ...record, decisions })
      },
    )
    expect(recording.result).toMatchObject({ stopReason: 'answered', text: 'done' })
    expect(requestsOf(recording)).toHaveLength(2)
    expect(decisionsIn(recording).map(({ place }) => place)).toEqual(['1.tool.0.decision', '1.tool.1.decision'])
  })

  it('in their own turn, even if later executions reach it again', async () => {
    const turns = [1, 2].map((n) => ({ toolCalls: [call({ a: n + 1, b: 1 }, 'risky')] }))
    const approved = (pending: readonly PendingItem[]) => pending.map((item) => ({ ...item, approved: true as const }))
    let paused: RunResult | undefined
    const go = (at: number) => async (record: object) => {
      const runner = new AgentRunner({ model: scriptedModel([...turns, 'done'].slice(at)), tools: [risky] })
      paused =
        paused === undefined
          ? await runner.run('go', record)
          : await runner.resume(paused.state, { ...record, decisions: approved(paused.pending) })
    }
    const { recording } = await playsByteEqual(go(0), go(1), go(2))
    expect(Object.keys(recording.steps)).toEqual([
      ...['1.model', '1.tool.0.decision', '1.tool.0.decision.done'],
      ...['2.model', '2.tool.0.decision', '2.tool.0.decision.done', '3.model'],
    ])
  })

  it('a run in a journal continues in its file, even in another process; in a new file it says that its beginning is missing', async () => {
    let kept = new MemoryRuns()
    const go = (at: number) => async (record: object) => {
      const journal = memoryJournal(kept)
      const model = scriptedModel([{ toolCalls: [call({ a: 2, b: 1 }, 'risky')] }, 'done'].slice(at))
      const runner = new AgentRunner({ model, tools: [risky], journal })
      if (at === 0) await runner.run('go', { ...record, runId: 'run_1' })
      else {
        const { pending } = await runner.resume('run_1')
        await runner.resume('run_1', { ...record, decisions: pending.map((item) => ({ ...item, approved: true as const })) })
      }
      await journal.close()
    }
    const { recording } = await playsByteEqual(go(0), go(1))
    expect(recording).toMatchObject({ steps: { '1.model': [{}], '2.model': [{}] }, result: { text: 'done' } })
    kept = new MemoryRuns()
    await go(0)({})
    const { recording: later } = await recorded(go(1))
    expect(later.given.partial).toBe('what was before it was resumed is not recorded')
    await expect(replayRun(later)).rejects.toThrow('one of a whole run (what was before it was resumed is not recorded)')
  })

  it('is not replayed if the beginning of a run inside a call is missing because its process died', async () => {
    const kept = new MemoryRuns()
    const hangs = Promise.withResolvers<void>()
    const open = (dies: boolean) => {
      const journal = memoryJournal(kept)
      const last = defineTool({
        name: 'last',
        description: 'Dies once.',
        effect: 'read',
        execute: async () => {
          if (!dies) return 'alive'
          await journal.close()
          return hangs.promise
        },
      })
      const inner = scriptedModel([{ toolCalls: [call({ a: 1, b: 2 })] }, { toolCalls: [call({}, 'last')] }, 'inner'].slice(dies ? 0 : 2))
      const agent = asTool(new AgentRunner({ model: inner, tools: [add, last] }), { name: 'agent', description: 'x', effect: 'idempotent' })
      const outer = scriptedModel([{ toolCalls: [call({ task: 'go' }, 'agent')] }, 'outer'].slice(dies ? 0 : 1))
      return { journal, runner: new AgentRunner({ model: outer, tools: [agent], journal }) }
    }
    const [first, second] = [open(true), open(false)]
    const file = await newFile()
    const begun = recordRun((record) => first.runner.run('go', { ...record, runId: 'run_1' }), file)
    await expect(begun).rejects.toThrow('it was closed')
    hangs.resolve()
    await recordRun((record) => second.runner.resume('run_1', record), file)
    await second.journal.close()
    const recording = readRecording(file)
    expect(recording).toMatchObject({ result: { text: 'outer' }, given: expect.not.objectContaining({ partial: expect.anything() }) })
    await expect(replayRun(recording)).rejects.toThrow('one of a whole run (what was before it was resumed is not recorded)')
  })

  it('a run that still waits', async () => {
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [call({ a: 2, b: 1 }, 'risky')] }]), tools: [risky] })
    const { recording } = await playsByteEqual((record) => runner.run('go', record))
    expect(recording.result).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'approval', toolCallId: 'call_1' }] })
  })

  it('on a tool that asks repeatedly, in the order in which they were made', async () => {
    const execute = (_args: object, { answer }: { answer?: unknown }) =>
      answer === 'done' ? 'well' : ask({ about: `after ${String(answer)}` })
    const asking = defineTool({ name: 'asking', description: 'Asks.', execute })
    const runner = (at: number) =>
      new AgentRunner({ model: scriptedModel([{ toolCalls: [call({}, 'asking')] }, 'Done.'].slice(at)), tools: [asking] })
    let paused: RunResult | undefined
    const answer = (given: string) => async (record: object) => {
      const decisions = (paused?.pending ?? []).map((item) => ({ ...item, answer: given }))
      paused = await runner(1).resume(paused?.state, { ...record, decisions })
    }
    const { recording } = await playsByteEqual(
      async (record) => (paused = await runner(0).run('go', record)),
      answer('one'),
      answer('two'),
      answer('done'),
    )
    expect(decisionsIn(recording).map(({ verdict }) => verdict.answer)).toEqual(['one', 'two', 'done'])
    expect(callsOf(recording).map((made) => made.answer)).toEqual([undefined, 'one', 'two', 'done'])
  })

  it('on agents inside calls whose approvals are decided one by one', async () => {
    const asking = (name: string, tools: AnyTool[], calls: ReturnType<typeof call>[]) =>
      asTool(
        new AgentRunner({
          model: scriptedModel([
            { toolCalls: calls, usage },
            { text: name, usage },
          ]),
          tools,
        }),
        { name, description: name },
      )
    const two = [call({ a: 2, b: 1 }, 'risky'), call({ a: 3, b: 1 }, 'risky')]
    const deep = asking('deep', [asking('deeper', [risky], two)], [call({ task: 'x' }, 'deeper')])
    const model = scriptedModel([{ toolCalls: [call({ task: 'x' }, 'flat'), call({ task: 'x' }, 'deep')] }, 'done'])
    const runner = new AgentRunner({ model, tools: [asking('flat', [risky], two), deep] })
    let paused: RunResult | undefined
    const decide = (at: number) => async (record: object) => {
      const { state, pending = [] } = paused ?? {}
      const decisions = pending.slice(at, at + 1).map((item) => ({ ...item, approved: true as const }))
      if (state !== undefined) paused = await runner.resume(state, { ...record, decisions })
    }
    const begin = async (record: object) => (paused = await runner.run('go', record))
    const { recording } = await playsByteEqual(begin, decide(1), decide(2), decide(0), decide(0))
    expect(recording.result).toMatchObject({ text: 'done' })
  })

  it('on an agent inside a call that asks for an approval', async () => {
    const agent = () => {
      const inner = new AgentRunner({
        model: scriptedModel([
          { toolCalls: [call({ a: 2, b: 1 }, 'risky')], usage },
          { text: '3', usage },
        ]),
        tools: [risky],
      })
      return asTool(inner, { name: 'inner', description: 'Adds.' })
    }
    const tool = agent()
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [call({ task: 'x' }, 'inner')] }, 'done']), tools: [tool] })
    let paused = await new AgentRunner({ model: 'demo' }).run('1 + 1')
    const { recording } = await playsByteEqual(
      async (record) => (paused = await runner.run('go', record)),
      async (record) => {
        const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
        await runner.resume(paused.state, { ...record, decisions })
      },
    )
    expect(recording.result).toMatchObject({ text: 'done' })
    expect(callsOf(recording).map(({ outcome, runs }) => [outcome, runs?.[0] && requestsOf(runs[0]).length])).toEqual([
      ['question', 2],
      ['ok', undefined],
    ])
  })
})
