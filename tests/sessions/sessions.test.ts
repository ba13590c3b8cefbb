import { afterEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import { Sessions } from '../../src/agent/sessions/sessions.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { createAgentRunner } from '../../src/backends/index.ts'
import { ToolloopError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/messages.ts'
import { MemorySessionStore, memorySessions, SessionMemory } from '../../src/sessions/memory.ts'
import { memoryJournal } from '../../src/testing/memory-journal.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'

const heard = () => scriptedModel(({ messages }) => `heard ${messages.length}`)
const look = defineTool({ name: 'look', description: 'looks', effect: 'read', execute: () => 'seen' })
const logger = { debug() {}, info() {}, warn() {}, error() {} }

afterEach(() => void vi.useRealTimers())

describe('runs in sessions', () => {
  it('continue the same conversation from a subclass and a stream', async () => {
    const sessions = memorySessions()
    class Shop extends CustomAgent {
      constructor() {
        super({ model: heard(), sessions })
      }
    }
    expect((await new Shop().run('one', { session: 'chat' })).output).toBe('heard 1')
    const stream = new AgentRunner({ model: heard(), sessions }).stream('two', { session: 'chat' })
    let text = ''
    for await (const piece of stream.text) text += piece
    expect(text).toBe('heard 3')
    expect((await sessions.read('chat')).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })

  // Loading LangChain takes a while.
  it('continue with the other backend', { timeout: 60_000 }, async () => {
    const sessions = memorySessions()
    for (const backend of ['native', 'langchain'] as const) {
      const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done'])
      const runner = await createAgentRunner({ backend, model, tools: [look], sessions, logger })
      expect((await runner.run('look', { session: 'chat' })).output).toBe('done')
    }
    const round = ['user', 'assistant', 'tool', 'assistant']
    expect((await sessions.read('chat')).map(({ role }) => role)).toEqual([...round, ...round])
  })

  it('refuse invalid options before anything is sent', async () => {
    const model = heard()
    const sessions = memorySessions()
    const runner = new AgentRunner({ model, sessions })
    const without = new AgentRunner({ model })
    const refused = [
      without.run('hi', { session: 'chat' }),
      runner.run('hi', { session: 'chat', messages: [] }),
      runner.run('hi', { session: { id: 'chat', onBusy: 'queue' } as never }),
      runner.run('hi', { session: { id: 'chat', busy: 'wait' } as never }),
      runner.resume({ version: 1 } as never, { session: 'chat' } as never),
    ]
    await Promise.all(refused.map((run) => expect(run).rejects.toMatchObject({ code: 'invalid_option' })))
    expect(() => new AgentRunner({ model, sessions: {} as never })).toThrow(/`sessions` to be what `memorySessions`/)
    expect(() => memorySessions({ expireAfterMs: -1 })).toThrow(/`expireAfterMs`/)
    expect([model.requests.length, (await sessions.list()).sessions]).toEqual([0, []])
  })

  it('do not fork a session that is deleted while it is read', async () => {
    const store = new MemorySessionStore(new SessionMemory())
    const { get } = store
    const sessions = new Sessions(store)
    await sessions.append('chat', [{ role: 'user', content: 'hi' }])
    store.get = async (id) => {
      const kept = await get.call(store, id)
      await store.delete(id)
      return kept
    }
    await expect(sessions.fork('chat', { to: 'fork' })).rejects.toMatchObject({ code: 'unknown_session' })
    expect((await sessions.list()).sessions).toEqual([])
  })

  it('release the session if their options, instructions or model are refused', async () => {
    const sessions = memorySessions()
    const failing = new AgentRunner({
      model: heard(),
      sessions,
      instructions: () => Promise.reject(new Error('no instructions')),
    })
    await expect(failing.run('hi', { session: 'chat' })).rejects.toThrow('no instructions')
    expect(await sessions.get('chat')).toBe(undefined)
    expect((await new AgentRunner({ model: heard(), sessions }).run('hi', { session: 'chat' })).output).toBe('heard 1')
  })

  it('do not send again what a guardrail or the provider has refused', async () => {
    const sessions = memorySessions()
    const model = heard()
    const guardrails = [{ name: 'no secrets', input: () => ({ refuse: 'secret' as const }) }]
    const { stopReason } = await new AgentRunner({ model, sessions, guardrails, logger }).run('my secret', { session: 'chat' })
    expect([stopReason, model.requests.length, await sessions.read('chat')]).toEqual(['refused', 0, []])
    expect((await new AgentRunner({ model, sessions }).run('hi', { session: 'chat' })).output).toBe('heard 1')
  })

  it('store partial text that was shown, as the user has read it', async () => {
    const sessions = memorySessions()
    const controller = new AbortController()
    const model = scriptedModel([{ text: 'It is sunny and', hang: true }])
    const onText = (): void => controller.abort()
    const runner = new AgentRunner({ model, sessions, logger })
    const { stopReason } = await runner.run('How is it?', { session: 'chat', signal: controller.signal, onText })
    expect(stopReason).toBe('aborted')
    expect((await sessions.read('chat')).map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it('give a nested agent its own session, which pauses and continues with the outer run', async () => {
    const sessions = memorySessions()
    const refund = defineTool({ name: 'refund', description: 'pays', approval: true, execute: () => 'paid' })
    const inner = new AgentRunner({
      model: scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'refunded' : { toolCalls: [{ name: 'refund' }] })),
      tools: [refund],
      sessions,
      logger,
    })
    const clerk = asTool(inner, { name: 'clerk', description: 'pays back', options: { session: 'clerk' } })
    const outer = new AgentRunner({
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'clerk', args: { task: 'pay' } }] },
      ),
      tools: [clerk],
      sessions,
      logger,
    })
    const paused = await outer.run('pay', { session: 'chat' })
    expect([paused.stopReason, (await sessions.get('clerk'))?.status, (await sessions.get('chat'))?.status]).toEqual([
      'paused',
      'waiting',
      'waiting',
    ])
    const { output } = await outer.resume(paused.state, { decisions: paused.pending.map((one) => ({ ...one, approved: true as const })) })
    expect(output).toBe('done')
    expect((await sessions.read('clerk')).map(({ content }) => textOf(content))).toEqual(['pay', '', 'paid', 'refunded'])
    expect((await sessions.list({ status: 'idle' })).sessions.length).toBe(2)
  })

  it.each([1, 2])(
    'refuse the last of runs that each start one in another’s session, over %d runs between; all others continue',
    async (between) => {
      const sessions = memorySessions()
      const names = Array.from({ length: between + 1 }, (_, n) => `chat-${n}`)
      const arrived: string[] = []
      const all = Promise.withResolvers<void>()
      const refused: unknown[] = []
      const ask = defineTool({
        name: 'ask',
        description: 'asks the next',
        parameters: { type: 'object', properties: { next: { type: 'string' } }, required: ['next'] },
        timeoutMs: Number.POSITIVE_INFINITY,
        execute: async ({ next }, ctx) => {
          // All have their own session before any requests another.
          if (arrived.push(next) === names.length) all.resolve()
          await all.promise
          const inner = new AgentRunner({ model: scriptedModel(['answer']), sessions, logger })
          const { output } = await inner.run('hi', { session: next, parent: ctx }).catch((error: ToolloopError) => {
            refused.push(error.code)
            throw error
          })
          return output
        },
      })
      const runs = names.map((session, at) => {
        const next = names[(at + 1) % names.length] ?? ''
        const model = scriptedModel([{ toolCalls: [{ name: 'ask', args: { next } }] }, 'done'])
        return new AgentRunner({ model, tools: [ask], sessions, logger }).run('go', { session })
      })
      expect((await Promise.all(runs)).map(({ output }) => output)).toEqual(names.map(() => 'done'))
      expect(refused).toEqual(['session_busy'])
      // The waiting runs had the session afterwards.
      const answered = await Promise.all(names.map(async (id) => (await sessions.read(id)).length))
      expect(answered.toSorted()).toEqual([4, ...Array.from({ length: between }, () => 6)])
    },
  )

  it('let a nested run wait for a session whose run does not wait for it', async () => {
    const sessions = memorySessions()
    const { promise, resolve } = Promise.withResolvers<void>()
    const slow = new AgentRunner({ model: scriptedModel([{ text: 'slow', before: promise }]), sessions, logger }).run('hi', {
      session: 'other',
    })
    const inner = new AgentRunner({ model: scriptedModel(['inner']), sessions, logger })
    const clerk = asTool(inner, { name: 'clerk', description: 'x', options: { session: 'other' } })
    const model = scriptedModel([{ toolCalls: [{ name: 'clerk', args: { task: 'x' } }] }, 'done'])
    const outer = new AgentRunner({ model, tools: [clerk], sessions, logger })
    outer.on('TOOL_CALL_START', () => setImmediate(resolve))
    expect((await outer.run('go', { session: 'chat' })).toolCalls.map(({ content }) => content)).toEqual(['inner'])
    expect([(await slow).output, (await sessions.read('other')).length]).toEqual(['slow', 4])
  })

  it('continue from a state whose decisions could not be applied as if nobody had tried', async () => {
    class Failing extends MemorySessionStore {
      failing = false
      override async read(...args: Parameters<MemorySessionStore['read']>): Promise<string[]> {
        if (this.failing) throw new ToolloopError('session_failed', 'out of order')
        return super.read(...args)
      }
    }
    const store = new Failing(new SessionMemory())
    const refund = defineTool({ name: 'refund', description: 'x', approval: true, execute: () => 'paid' })
    const model = scriptedModel(['hi', { toolCalls: [{ name: 'refund' }] }, 'done'])
    const runner = new AgentRunner({ model, tools: [refund], sessions: new Sessions(store), logger })
    await runner.run('hi', { session: 'chat' })
    const paused = await runner.run('go', { session: 'chat' })
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    store.failing = true
    await expect(runner.resume(paused.state, { decisions })).rejects.toMatchObject({ code: 'session_failed' })
    store.failing = false
    expect((await runner.resume(paused.state, { decisions })).toolCalls.map(({ outcome }) => outcome)).toEqual(['ok'])
  })

  it('continue a nested agent whose process died while it was resumed, if its call may run again', async () => {
    const memory = new SessionMemory()
    const started: string[] = []
    const both = Promise.withResolvers<void>()
    const start = (effect: string): number => {
      const count = started.push(effect)
      if (count === 2) both.resolve()
      return count
    }
    const openProcess = (answer: string | Promise<never>) => {
      const sessions = new Sessions(new MemorySessionStore(memory))
      const tools = (['idempotent', 'unsafe'] as const).map((effect) =>
        defineTool({ name: effect, description: effect, effect, approval: true, execute: () => start(effect) }),
      )
      const model = scriptedModel(({ messages }) =>
        messages.at(-1)?.role === 'tool' ? answer : { toolCalls: tools.map(({ name }) => ({ name })) },
      )
      const inner = new AgentRunner({ model, tools, sessions, logger })
      const clerk = asTool(inner, { name: 'clerk', description: 'x', effect: 'idempotent', options: { session: 'clerk' } })
      const outerModel = scriptedModel(({ messages }) =>
        messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'clerk', args: { task: 'pay' } }] },
      )
      return { sessions, runner: new AgentRunner({ model: outerModel, tools: [clerk], sessions, logger }) }
    }
    const paused = await openProcess('paid').runner.run('pay', { session: 'chat' })
    const decisions = paused.pending.map((one) => ({ ...one, approved: true as const }))
    const dying = openProcess(new Promise<never>(() => {}))
    const controller = new AbortController()
    const lost = dying.runner.resume(paused.state, { decisions, signal: controller.signal })
    await both.promise
    await dying.sessions.close()
    controller.abort()
    await expect(lost).rejects.toMatchObject({ code: 'session_failed' })
    const { output } = await openProcess('paid').runner.resume(paused.state, { decisions, again: true })
    expect([output, started]).toEqual(['done', ['idempotent', 'unsafe', 'idempotent']])
    const { sessions } = openProcess('')
    expect((await sessions.read('clerk')).map(({ content }) => textOf(content))).toEqual([
      'pay',
      '',
      '3',
      'The run was interrupted while `unsafe` was running. Whether it took effect is not known.',
      'paid',
    ])
  })

  it('store a recorded run that could not be stored once it is resumed, and only once', async () => {
    class Failing extends MemorySessionStore {
      left = 1
      override async commit(...args: Parameters<MemorySessionStore['commit']>) {
        if (this.left-- > 0) throw new ToolloopError('session_failed', 'The disk is full')
        return super.commit(...args)
      }
    }
    const sessions = new Sessions(new Failing(new SessionMemory()))
    const runner = new AgentRunner({ model: heard(), sessions, journal: memoryJournal(), logger })
    await expect(runner.run('hi', { session: 'chat', runId: 'run' })).rejects.toMatchObject({ code: 'session_failed' })
    expect([(await sessions.get('chat'))?.runId, (await runner.runs.get('run'))?.problem]).toEqual(['run', expect.stringContaining('full')])
    expect(await runner.recover()).toEqual([{ runId: 'run', stopReason: 'answered' }])
    expect((await sessions.read('chat')).map(({ content }) => content)).toEqual(['hi', 'heard 1'])
  })

  it('settle immediately when aborted, whatever the store does, and keep nothing that arrives late', async () => {
    const late = Promise.withResolvers<void>()
    class Slow extends MemorySessionStore {
      override async claim(...args: Parameters<MemorySessionStore['claim']>) {
        const claimed = await super.claim(...args)
        await late.promise
        return claimed
      }
    }
    const memory = new SessionMemory()
    const controller = new AbortController()
    const runner = new AgentRunner({ model: heard(), sessions: new Sessions(new Slow(memory)), logger })
    const run = runner.run('hi', { session: 'chat', signal: controller.signal })
    controller.abort()
    expect((await run).stopReason).toBe('aborted')
    late.resolve()
    const others = new Sessions(new MemorySessionStore(memory))
    await expect.poll(() => others.get('chat')).toBe(undefined)
  })

  it('do not let their sessions expire, but others do', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const sessions = memorySessions({ expireAfterMs: 1_000 })
    const { promise, resolve } = Promise.withResolvers<string>()
    const runner = new AgentRunner({ model: scriptedModel([() => 'heard', () => promise, () => 'heard again']), sessions })
    await runner.run('hi', { session: 'a' })
    const slow = runner.run('hi', { session: 'b' })
    await vi.waitFor(async () => expect((await sessions.get('b'))?.status).toBe('running'), { timeout: 50_000 })
    vi.advanceTimersByTime(1_000)
    expect((await sessions.list()).sessions.map(({ id }) => id)).toEqual(['b'])
    expect([await sessions.get('a'), await sessions.read('a')]).toEqual([undefined, []])
    resolve('late')
    await slow
    expect((await sessions.read('b')).length).toBe(2)
    vi.advanceTimersByTime(1_000)
    await runner.run('hi', { session: 'c' })
    expect(await sessions.prune({ olderThanMs: 0 })).toBe(1)
  })
})
