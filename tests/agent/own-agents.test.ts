import { describe, expect, it } from 'vitest'
import type { RunToRestore } from '../../src/agent/durable/index.ts'
import {
  type AgentHistory,
  AgentRunner,
  asTool,
  CustomAgent,
  defineTool,
  type MessageInput,
  memorySessions,
  type PerformedRun,
  type PerformRun,
  type RunResult,
  type ToolContext,
} from '../../src/index.ts'
import type { HistoryRun } from '../../src/sessions/index.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

interface User {
  name: string
}

const { logger } = recordingLogger()
const ann: User = { name: 'Ann' }
const paying = () => scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'pay' }] }))
const payment = (approval: boolean, execute: (ctx: ToolContext<User>) => unknown = () => 'paid') =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    approval,
    effect: 'idempotent',
    execute: (_args, ctx: ToolContext<User>) => execute(ctx),
  })

/** A run whose process has gone in the middle of its call. */
async function abandoned(kept: MemoryRuns, Agent: typeof Chat | typeof Watched): Promise<void> {
  const journal = memoryJournal(kept)
  const begun = Promise.withResolvers<void>()
  const hanging = payment(false, () => {
    begun.resolve()
    return new Promise(() => {})
  })
  const agent = new Agent({ model: paying(), tools: [hanging], journal, logger })
  const running = agent.run('Pay.', { runId: 'r', context: ann, metadata: { user: 'Ann' } }).catch(() => {})
  await begun.promise
  await journal.close()
  await running
}

/** An agent with a `run` of its own, in one place. */
class Watched extends CustomAgent<User> {
  readonly seen: unknown[] = []

  protected override async perform({ input, runId, options }: PerformedRun<User>, next: PerformRun<User>): Promise<RunResult> {
    this.seen.push([input, runId, options.context?.name])
    const result = await next()
    this.seen.push(result.stopReason)
    return { ...result, output: `${result.output} (watched)` }
  }

  protected override restore({ metadata }: RunToRestore) {
    return { context: { name: String(metadata?.user) } }
  }
}

describe('perform', () => {
  it('P1.5 is called by every way to run an agent', async () => {
    const agent = new Watched({ model: paying(), tools: [payment(true)], logger })
    const paused = await agent.run('Pay.', { context: ann })
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const { runId } = paused
    expect((await agent.resume(paused.state, { decisions, context: ann })).output).toBe('Done. (watched)')
    expect((await agent.stream('Pay.', { context: ann, runId: 's' }).result).stopReason).toBe('paused')
    const terms = { decisions, context: ann, claim: () => true }
    expect((await agent.resumeStream(paused.state, terms).result).output).toBe('Done. (watched)')
    expect(agent.seen).toEqual([
      ['Pay.', undefined, 'Ann'],
      'paused',
      [undefined, runId, 'Ann'],
      'answered',
      ['Pay.', 's', 'Ann'],
      'paused',
      [undefined, runId, 'Ann'],
      'answered',
    ])
  })

  it('P1.5 is called once for a run that a journal continues, with the restored parts', async () => {
    const kept = new MemoryRuns()
    await abandoned(kept, Watched)
    const agent = new Watched({ model: paying(), tools: [payment(false)], journal: memoryJournal(kept), logger })
    const ended: string[] = []
    agent.bus.on('RUN_END', ({ stopReason }) => void ended.push(stopReason))
    expect(await agent.recover()).toEqual([{ runId: 'r', stopReason: 'answered' }])
    expect(agent.seen).toEqual([[undefined, 'r', 'Ann'], 'answered'])
    expect([(await agent.runs.get('r'))?.result?.output, ended]).toEqual(['Done. (watched)', ['answered']])
    await agent.run('Pay.', { runId: 'own', context: ann })
    expect(agent.seen).toHaveLength(4)
  })

  it('P1.5 can change input and options, try again, answer itself, and fail', async () => {
    class Own extends CustomAgent {
      tries = 0
      protected override async perform({ input, options }: PerformedRun, next: PerformRun) {
        if (input === 'fail') throw new Error('not today')
        this.tries++
        const first = await next({ input: `${input}!`, options: { ...options, metadata: { tries: this.tries } } })
        return first.stopReason === 'model_error' ? next() : first
      }
    }
    const model = scriptedModel([{ error: new Error('down') }, 'Here.'])
    const agent = new Own({ model, logger, tools: [] })
    expect((await agent.run('go')).output).toBe('Here.')
    expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['go!', 'go'])
    await expect(agent.run('fail')).rejects.toThrow('not today')
    await expect(agent.stream('fail').result).rejects.toThrow('not today')
    await expect(agent.run(undefined as never)).rejects.toMatchObject({ code: 'invalid_option' })
  })
})

/** Where an application keeps its chats. */
class Chats {
  readonly of = new Map<string, MessageInput[]>()
  readonly saved: string[] = []
  readonly loaded: HistoryRun<User>[] = []
  fails = false

  history(): AgentHistory<User> {
    return {
      load: async (run) => {
        this.loaded.push(run)
        return run.parentRunId === undefined ? this.of.get(run.context.name) : undefined
      },
      save: async ({ runId, context }, { newMessages }) => {
        if (this.fails) throw new Error('no database')
        if (this.saved.includes(runId)) return
        this.saved.push(runId)
        this.of.set(context.name, [...(this.of.get(context.name) ?? []), ...newMessages])
      },
    }
  }
}
let chats = new Chats()

/** An agent with a history of its own, in one place. */
class Chat extends CustomAgent<User> {
  protected override history() {
    return chats.history()
  }

  protected override restore({ metadata }: RunToRestore) {
    return { context: { name: String(metadata?.user) } }
  }
}

const open = () => {
  chats = new Chats()
  chats.of.set('Ann', [])
  return chats
}
const saidIn = (kept: Chats) => kept.of.get('Ann')?.map(({ content }) => content)

describe('history', () => {
  it('P1.5 is loaded before a run and saved at its end, run or streamed', async () => {
    const kept = open()
    const model = scriptedModel(['One.', 'Two.', 'Three.', 'Four.'])
    const agent = new Chat({ model, logger, sessions: memorySessions() })
    await agent.run('First?', { context: ann, runId: 'a', metadata: { page: 1 } })
    await agent.stream('Second?', { context: ann }).result
    expect(saidIn(kept)).toEqual(['First?', 'One.', 'Second?', 'Two.'])
    expect(model.requests[1]?.messages.map(({ content }) => content)).toEqual(['First?', 'One.', 'Second?'])
    expect(kept.loaded[0]).toEqual({ runId: 'a', context: ann, metadata: { page: 1 } })
    // What the caller gives comes first, and is the caller's to keep.
    await agent.run('Third?', { context: ann, messages: [] })
    await agent.run('Fourth?', { context: ann, session: 's' })
    await agent.run('Fourth?', { context: { name: 'nobody' } }).catch(() => {})
    expect(saidIn(kept)).toHaveLength(4)
    expect(kept.of.has('nobody')).toBe(false)
  })

  it('P1.5 of a run that pauses is saved as a whole at its end', async () => {
    const kept = open()
    const agent = new Chat({ model: paying(), tools: [payment(true)], logger })
    const { state, pending } = await agent.run('Pay.', { context: ann })
    expect(saidIn(kept)).toEqual([])
    const decisions = pending.map((item) => ({ ...item, approved: true as const }))
    await agent.resume(state, { decisions, context: ann })
    expect(saidIn(kept)).toEqual(['Pay.', '', 'paid', 'Done.'])
    expect(kept.loaded).toHaveLength(1)
  })

  it('P1.5 of a recorded run is saved before its end is recorded, by whichever process ends it', async () => {
    const kept = open()
    const runs = new MemoryRuns()
    await abandoned(runs, Chat)
    kept.fails = true
    const failing = new Chat({ model: paying(), tools: [payment(false)], journal: memoryJournal(runs), logger })
    expect(await failing.recover()).toMatchObject([{ runId: 'r', error: { code: 'session_failed' } }])
    const problem = 'The run ended with `answered`: The conversation of run `r` could not be saved: no database'
    expect(await failing.runs.get('r')).toMatchObject({ status: 'running', problem })
    kept.fails = false
    const model = paying()
    const agent = new Chat({ model, tools: [payment(false)], journal: memoryJournal(runs), logger })
    await failing.close()
    expect(await agent.recover()).toEqual([{ runId: 'r', stopReason: 'answered' }])
    expect(model.requests).toEqual([])
    expect(saidIn(kept)).toEqual(['Pay.', '', 'paid', 'Done.'])
  })

  it('P1.5 that can’t be loaded starts nothing; that can’t be saved rejects with the result', async () => {
    const kept = open()
    const model = scriptedModel(['Hello.'])
    kept.fails = true
    const failed = new Chat({ model, logger }).run('Hi.', { context: ann })
    await expect(failed).rejects.toMatchObject({ code: 'session_failed', result: { stopReason: 'answered', output: 'Hello.' } })
    class Lost extends CustomAgent {
      protected override history(): AgentHistory {
        return { load: () => Promise.reject(new Error('no database')), save() {} }
      }
    }
    await expect(new Lost({ model, logger }).run('Hi.')).rejects.toThrow('no database')
    expect(model.requests).toHaveLength(1)
  })

  it('P1.5 is called for a run in a call, and may return none for it', async () => {
    const kept = open()
    const inner = new Chat({ model: scriptedModel(['Found.']), logger })
    const model = scriptedModel([{ toolCalls: [{ name: 'help', args: { task: 'find' } }] }, 'Done.'])
    const runner = new AgentRunner({ model, tools: [asTool(inner, { name: 'help', description: 'Helps.' })], logger })
    await runner.run('go', { runId: 'outer', context: ann })
    expect(kept.loaded).toMatchObject([{ parentRunId: 'outer', context: ann }])
    expect(saidIn(kept)).toEqual([])
  })
})

it('P1.5 a class agent is restored by the option and by its method', async () => {
  const kept = new MemoryRuns()
  await abandoned(kept, Watched)
  const seen: unknown[] = []
  class Plain extends CustomAgent<User> {}
  const tools = [payment(false, ({ context }) => seen.push(context))]
  const without = new Plain({ model: paying(), tools, journal: memoryJournal(kept), logger })
  expect(await without.recover()).toMatchObject([{ error: { code: 'not_restored' } }])
  const agent = new Plain({ model: paying(), tools, journal: memoryJournal(kept), logger, restore: () => ({ context: ann }) })
  await without.close()
  expect(await agent.recover()).toEqual([{ runId: 'r', stopReason: 'answered' }])
  expect(seen).toEqual([ann])
})

it('P1.1 P1.5 a cancelled run of a class agent ends without its context: the agent is not called', async () => {
  for (const Agent of [Watched, Chat]) {
    const kept = new MemoryRuns()
    const saved = open()
    await abandoned(kept, Agent)
    const Base: typeof CustomAgent<User> = Agent
    class Lost extends Base {
      protected override restore(): never {
        throw new Error('no database')
      }

      override tools({ context }: { context: User }) {
        return context.name === '' ? [] : [payment(false)]
      }
    }
    const agent = new Lost({ model: paying(), journal: memoryJournal(kept), logger })
    await agent.runs.cancel('r', 'not needed')
    await expect.poll(async () => (await agent.runs.get('r'))?.status).toBe('ended')
    expect(await agent.runs.get('r')).toMatchObject({
      stopReason: 'aborted',
      result: { error: { message: 'The run was aborted: not needed' } },
    })
    expect(saved.saved).toEqual([])
  }
})
