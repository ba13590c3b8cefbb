import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Journal } from '../../src/agent/journal/journal.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { EventBus } from '../../src/core/callbacks/event-bus.ts'
import { Event } from '../../src/core/events.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { MemoryRuns, memoryJournal } from '../../src/testing/memory-journal.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { turnEventLoop } from '../hazards/waiting.ts'
import { inFolder } from './temp-folder.ts'

/** A process with two runs: the tool of one kills it, that of the other ends when the first run has. */
function openProcess(kept: MemoryRuns, started: string[]) {
  const journal = memoryJournal(kept)
  const [killed, poisonEnded] = [Promise.withResolvers<'killed'>(), Promise.withResolvers<void>()]
  const tool = (name: string, execute: () => Promise<unknown>) =>
    defineTool({
      name,
      description: name,
      effect: 'idempotent',
      timeoutMs: Number.POSITIVE_INFINITY,
      execute: () => {
        started.push(name)
        return execute()
      },
    })
  const poison = tool('poison', () => {
    killed.resolve('killed')
    return new Promise(() => {})
  })
  const work = tool('work', () => poisonEnded.promise)
  const model = scriptedModel(({ messages }) => {
    const [first, last] = [messages[0], messages.at(-1)]
    return last?.role === 'tool' ? 'done' : { toolCalls: [{ name: String(first?.content) }] }
  })
  const runner = new AgentRunner({ model, tools: [poison, work], journal, logger: recordingLogger().logger })
  runner.on(Event.RUN_END, (_payload, { runId }) => {
    if (runId === 'poison') poisonEnded.resolve()
  })
  return { runner, journal, killed: killed.promise }
}

it('a run that kills its process again and again is ended, and a run that dies with it is not', async () => {
  const kept = new MemoryRuns()
  const started: string[] = []
  const first = openProcess(kept, started)
  for (const name of ['poison', 'work']) void first.runner.run(name, { runId: name }).catch(() => undefined)
  await first.killed
  await first.journal.close()
  let processes = 1
  for (let isOver = false; !isOver; processes++) {
    const { runner, journal, killed } = openProcess(kept, started)
    isOver = (await Promise.race([runner.recover(), killed])) !== 'killed'
    await journal.close()
  }
  const { runner } = openProcess(kept, started)
  const poison = await runner.resume('poison')
  expect([poison.stopReason, poison.error?.message]).toEqual([
    'aborted',
    'The run was aborted: 10 processes in a row that took it over have died before anything more was recorded (`maxTakeOvers`)',
  ])
  // The call that was in flight has its result, as every call.
  expect(poison.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  expect((await runner.resume('work')).output).toBe('done')
  expect(processes).toBe(12)
  const startsOf = (name: string) => started.filter((one) => one === name).length
  expect(startsOf('poison')).toBe(11)
  // Whether it gets as far as its tool before the other run kills the process is chance; it is not resumed again and again.
  expect(startsOf('work')).toBeGreaterThan(0)
  expect(startsOf('work')).toBeLessThanOrEqual(6)
})

/** Lets processes die of a run until one has ended it, and returns its runner and the number of processes. */
async function livesOf(
  open: (die: () => void, life: number, journal: Journal) => Partial<RunnerOptions>,
): Promise<{ lives: number; runner: AgentRunner }> {
  const kept = new MemoryRuns()
  for (let lives = 1; lives <= 20; lives++) {
    const journal = memoryJournal(kept)
    const dead = Promise.withResolvers<'dead'>()
    const die = () => {
      void journal.close()
      dead.resolve('dead')
    }
    const { logger } = recordingLogger()
    const runner = new AgentRunner({
      model: scriptedModel(['done']),
      instructions: 'Be brief.',
      journal,
      logger,
      ...open(die, lives, journal),
    })
    const run = lives === 1 ? runner.run('go', { runId: 'run' }) : runner.recover()
    run.catch(() => undefined)
    if ((await Promise.race([run, dead.promise])) !== 'dead') return { lives, runner }
  }
  throw new Error('Expected the run to end')
}

it.each([Event.RUN_START, Event.RUN_END])(
  'a run that kills each process that announces its %s is ended without being announced',
  async (event) => {
    const { lives, runner } = await livesOf((die) => {
      const bus = new EventBus(() => {})
      bus.on(event, die)
      return { bus }
    })
    expect(lives).toBe(13)
    const { stopReason, error, messages, newMessages } = await runner.resume('run')
    expect([stopReason, error?.message]).toEqual([
      'aborted',
      'The run was aborted: 11 processes in a row that took it over have died before anything more was recorded (`maxTakeOvers`)',
    ])
    expect([messages, newMessages].map((list) => list.map(({ role }) => role))).toEqual([['system', 'user'], ['user']])
  },
)

it('a run that kills each process that resumes it, before any progress, is ended', async () => {
  const { lives, runner } = await livesOf((die, life, journal) => ({
    journal: {
      connect: (body) =>
        journal.connect((durable, input) => {
          if (durable.givenUp === undefined) die()
          return life === 1 ? new Promise(() => {}) : body(durable, input)
        }),
    },
  }))
  expect(lives).toBe(13)
  expect((await runner.resume('run')).stopReason).toBe('aborted')
})

it('a run whose attempts break off while their process lives is not ended', async () => {
  const kept = new MemoryRuns()
  const open = (connect: Journal['connect']) =>
    new AgentRunner({ model: scriptedModel(['done']), journal: { connect }, logger: recordingLogger().logger })
  const first = memoryJournal(kept)
  const begun = Promise.withResolvers<void>()
  const stuck = open(() => first.connect(() => new Promise(() => begun.resolve())))
  stuck.run('go', { runId: 'run' }).catch(() => undefined)
  await begun.promise
  await first.close()
  let failures = 0
  const second = memoryJournal(kept)
  const runner = open((body) =>
    second.connect(async (durable, input) => {
      await turnEventLoop(1)
      if (failures++ < 12) throw new Error('not set up')
      return body(durable, input)
    }),
  )
  for (let tries = 0; tries < 12; tries++) expect(await runner.recover()).toMatchObject([{ error: { message: 'not set up' } }])
  expect(await runner.recover()).toEqual([{ runId: 'run', stopReason: 'answered' }])
})

it('a run that was taken over and waits is no longer suspected', async () => {
  const kept = new MemoryRuns()
  const pay = defineTool({ name: 'pay', description: 'x', approval: true, execute: () => 'paid' })
  const open = (journal: Journal) =>
    new AgentRunner({
      model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'done']),
      tools: [pay],
      journal,
      logger: recordingLogger().logger,
    })
  const first = memoryJournal(kept)
  const suspending = Promise.withResolvers<void>()
  const dying = open({
    connect: (body) =>
      first.connect(async (durable, input) => {
        const output = await body(durable, input)
        suspending.resolve()
        await first.close()
        return output
      }),
  })
  dying.run('go', { runId: 'run' }).catch(() => undefined)
  await suspending.promise
  await open(memoryJournal(kept)).recover()
  expect(kept.runs.get('run')).toMatchObject({ status: 'waiting', tries: 0 })
})

it('a run that makes progress in each process is resumed without a limit', async () => {
  const kept = new MemoryRuns()
  let requests = 0
  for (let life = 1; life <= 12; life++) {
    const journal = memoryJournal(kept)
    const asked = Promise.withResolvers<'asked'>()
    // Each process answers one request, and dies of the next.
    const model = scriptedModel(async () => {
      if (++requests % 2 === 1) return requests < 20 ? { toolCalls: [{ name: 'look' }] } : 'done'
      asked.resolve('asked')
      return new Promise<never>(() => {})
    })
    const look = defineTool({ name: 'look', description: 'x', effect: 'read', execute: () => requests })
    const runner = new AgentRunner({ model, tools: [look], journal, maxIterations: 20, logger: recordingLogger().logger })
    const run = runner.run('go', { runId: 'run' })
    const end = await Promise.race([run, asked.promise])
    await journal.close()
    if (end !== 'asked') return expect([end.stopReason, life]).toEqual(['answered', 11])
    run.catch(() => undefined)
  }
  throw new Error('Expected the run to end')
})

it('a run is not blamed for a process that closes its journal during a step', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'runs.sqlite')
    /** Begins the call that never ends, or has ended, and closes the journal then. */
    const live = async (isLast = false) => {
      const journal = sqliteJournal({ file, maxTakeOvers: 3 })
      const started = Promise.withResolvers<void>()
      const execute = () => {
        started.resolve()
        return isLast ? 'looked' : new Promise(() => {})
      }
      const look = defineTool({ name: 'look', description: 'x', effect: 'read', timeoutMs: Number.POSITIVE_INFINITY, execute })
      const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'look' }] }))
      const runner = new AgentRunner({ model, tools: [look], journal, logger: recordingLogger().logger })
      const run = runner.run('go', { runId: 'run' })
      run.catch(() => undefined)
      await Promise.race([started.promise, run])
      if (isLast) await run
      await journal.close()
      return run
    }
    await live().catch(() => undefined)
    const database = new DatabaseSync(file)
    // As two processes leave it that have died of it.
    database.exec('UPDATE runs SET tries = 2')
    for (let closed = 0; closed < 4; closed++) await live().catch(() => undefined)
    expect(database.prepare('SELECT tries FROM runs').get()).toEqual({ tries: 2 })
    database.close()
    expect((await live(true)).output).toBe('done')
  }))

it('a run that made progress, which its store failed to note, is no longer suspected', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'runs.sqlite')
    const open = (journal: Journal) => new AgentRunner({ model: scriptedModel(['done']), journal, logger: recordingLogger().logger })
    const journal = sqliteJournal({ file })
    const runner = open(journal)
    await runner.run('go', { runId: 'run' })
    const database = new DatabaseSync(file)
    database.exec("UPDATE runs SET status = 'running', tries = 1; DELETE FROM steps; DELETE FROM outputs")
    const fails = "BEGIN SELECT RAISE(ABORT, 'not noted'); END"
    database.exec(`CREATE TRIGGER noting BEFORE UPDATE ON runs WHEN NEW.tries = 0 AND NEW.owner IS NOT NULL ${fails}`)
    expect(await runner.recover()).toMatchObject([{ error: { code: 'journal_failed' } }])
    await journal.close()
    expect(database.prepare('SELECT count(*) AS steps, tries FROM runs JOIN steps ON run = n').get()).toEqual({ steps: 1, tries: 0 })
    database.close()
  }))

it.each([0, 1.5, '5'])('`maxTakeOvers` can’t be %j', (maxTakeOvers) => {
  expect(() => sqliteJournal({ file: 'x', maxTakeOvers: maxTakeOvers as number })).toThrow('Expected `maxTakeOvers` to be an integer ≥ 1')
})
