import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { type SqliteJournalOptions, sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { inFolder } from './temp-folder.ts'

const look = defineTool({ name: 'look', description: 'looks', effect: 'read', execute: () => 'x'.repeat(50_000) })
const logger = { debug() {}, info() {}, warn() {}, error() {} }

function open(options: SqliteJournalOptions) {
  const journal = sqliteJournal(options)
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'look' }] }))
  return { journal, runner: new AgentRunner({ model, tools: [look], journal, logger }) }
}

/** Why the file can't be used. */
async function problemOf(options: SqliteJournalOptions): Promise<string> {
  const { journal, runner } = open(options)
  const problem = await runner.run('go').then(
    () => 'none',
    ({ code, message }) => `${code}: ${message}`,
  )
  await journal.close()
  return problem
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe('the file of an SQLite journal', () => {
  it('is readable only by its owner, with all files beside it, and stays unlocked', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'data', 'runs.sqlite')
      const { journal, runner } = open({ file })
      await runner.run('go', { runId: 'run' })
      expect([modeOf(join(folder, 'data')), modeOf(`${file}-owners`)]).toEqual(['700', '700'])
      expect([file, `${file}-wal`, `${file}-shm`].map(modeOf)).toEqual(['600', '600', '600'])
      await journal.close()
      expect(readdirSync(join(folder, 'data'), { recursive: true })).toEqual(['runs.sqlite', 'runs.sqlite-owners'])
      expect((await open({ file }).runner.resume('run')).output).toBe('done')
    }))

  it('can be read if nobody has decided in time: the run continues with the call refused', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
      const start = () => {
        const journal = sqliteJournal({ file, logger })
        const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'pay' }] }))
        return { journal, runner: new AgentRunner({ model, tools: [pay], journal, logger }) }
      }
      const first = start()
      await first.runner.run('go', { runId: 'run', decisionTimeoutMs: 1 })
      await first.journal.close()
      const second = start()
      await expect.poll(async () => (await second.runner.resume('run')).stopReason).toBe('answered')
      expect((await second.runner.resume('run')).toolCalls).toMatchObject([{ tool: 'pay', outcome: 'denied' }])
      await second.journal.close()
    }))

  it('P1.8 H60 warns if it was last used long before the clock, and ends no run that waits', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const ask = defineTool({ name: 'ask', description: 'Asks.', approval: true, execute: () => 'asked' })
      const warnings: string[] = []
      const logger = { debug() {}, info() {}, error() {}, warn: (_fields: object, message: string) => void warnings.push(message) }
      const start = () => {
        const journal = sqliteJournal({ file, logger })
        const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'ask' }] }))
        return { journal, runner: new AgentRunner({ model, tools: [ask], journal, decisionTimeoutMs: 10 * 86_400_000 }) }
      }
      const before = start()
      await before.runner.run('go', { runId: 'run' })
      await before.journal.close()
      // As if all that had been forty days ago.
      const database = new DatabaseSync(file)
      for (const [table, column] of [
        ['clock', 'now'],
        ['waits', 'deadline'],
      ])
        database.prepare(`UPDATE ${table} SET ${column} = ${column} - ?`).run(40 * 86_400_000)
      database.close()
      const { journal, runner } = start()
      expect(await runner.recover()).toEqual([])
      expect(warnings).toEqual([expect.stringMatching(/^The clock shows .*, but .* was expected: .* for 20 minutes$/)])
      const pending = (await runner.runs.get('run'))?.pending ?? []
      expect((await runner.resume('run', { decisions: pending.map((item) => ({ ...item, approved: true })) })).output).toBe('done')
      await journal.close()
    }))

  it('is refused and not changed if it is of a newer version, of another program, damaged, or not a database', () =>
    inFolder(async (folder) => {
      const made = join(folder, 'made.sqlite')
      const { journal, runner } = open({ file: made })
      await runner.run('go')
      await journal.close()
      const change = (name: string, sql: string): string => {
        const file = join(folder, name)
        writeFileSync(file, name === 'foreign.sqlite' ? '' : readFileSync(made))
        const database = new DatabaseSync(file)
        database.exec(sql)
        database.close()
        return file
      }
      const newer = change('newer.sqlite', 'PRAGMA user_version = 99')
      expect(await problemOf({ file: newer })).toMatch(
        /journal_failed: Expected `.+newer.sqlite` to be a toolloop journal of version \d+ or older, got 99/,
      )
      const foreign = change('foreign.sqlite', 'CREATE TABLE mine (x)')
      const before = readFileSync(foreign)
      expect(await problemOf({ file: foreign })).toMatch(/journal_failed: .+got another program's database$/)
      expect(readFileSync(foreign).equals(before)).toBe(true)
      const text = join(folder, 'text.sqlite')
      writeFileSync(text, 'These are my notes, and they are longer than the header of a database is.'.repeat(3))
      expect(await problemOf({ file: text })).toMatch(
        /journal_failed: The journal `.+text.sqlite` can’t be used: it is not an SQLite database/,
      )
      expect(readFileSync(text, 'utf8')).toMatch(/^These are my notes/)
      const bytes = readFileSync(made)
      const damaged = join(folder, 'damaged.sqlite')
      writeFileSync(damaged, bytes.fill(0x5a, 4096))
      expect(await problemOf({ file: damaged })).toMatch(/journal_failed: .+damaged: restore a copy/)
      mkdirSync(join(folder, 'folder.sqlite'))
      expect(await problemOf({ file: join(folder, 'folder.sqlite') })).toMatch(/journal_failed: .+can’t be opened/)
      expect(await problemOf({ file: '/proc/nowhere/runs.sqlite' })).toMatch(/journal_failed: The journal `\/proc\/nowhere.+ENOENT/)
    }))

  it('that is locked by something else for too long is reported, and used again when it is free', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const { journal, runner } = open({ file, busyTimeoutMs: 10 })
      await runner.run('go')
      const other = new DatabaseSync(file)
      other.exec('BEGIN IMMEDIATE')
      await expect(runner.run('go', { runId: 'run' })).rejects.toThrow(/locked for longer than `busyTimeoutMs`/)
      other.exec('ROLLBACK')
      other.close()
      expect((await runner.run('go', { runId: 'run' })).output).toBe('done')
      await journal.close()
    }))

  it('that is locked when a run breaks off releases the run as soon as it is free', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const { journal, runner } = open({ file, busyTimeoutMs: 1 })
      await runner.run('go')
      const other = new DatabaseSync(file)
      const engine = journal.connect((durable) => durable.step('0.x', async () => other.exec('BEGIN IMMEDIATE')) as never)
      await engine.start('run', {})
      await expect(engine.result('run')).rejects.toThrow(/locked for longer/)
      const run = other.prepare("SELECT owner, problem FROM runs WHERE id = 'run'")
      expect(run.get()).toMatchObject({ owner: expect.any(String), problem: null })
      other.exec('ROLLBACK')
      await expect.poll(() => run.get()).toMatchObject({ owner: null, problem: expect.stringMatching(/locked for longer/) })
      other.close()
      await journal.close()
    }))

  it('that is full fails the run, and recorded runs continue once there is room again', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const small = open({ file, maxBytes: 1_048_576 })
      const problems: string[] = []
      for (let n = 0; problems.length === 0 && n < 20; n++) {
        await small.runner.run('go', { runId: `run-${n}` }).catch(({ code, message }) => problems.push(`${n} ${code}: ${message}`))
      }
      expect(problems[0]).toMatch(/^[1-9]\d* journal_failed: .+the disk is full, or the file has reached `maxBytes`/)
      const full = `run-${Number.parseInt(problems[0] ?? '', 10)}`
      expect((await small.runner.resume('run-0')).output).toBe('done')
      await small.journal.close()
      const large = open({ file })
      const recovered = await large.runner.recover()
      const { output } =
        (await large.runner.runs.get(full)) === undefined ? await large.runner.run('go', { runId: full }) : await large.runner.resume(full)
      expect([output, recovered.every(({ stopReason }) => stopReason === 'answered')]).toEqual(['done', true])
      await large.journal.close()
    }))

  it('separates agents: none sees, lists or resumes the runs of another', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const [one, two] = [open({ file, agent: 'one' }), open({ file, agent: 'two' })]
      await one.runner.run('go', { runId: 'run' })
      expect(await two.runner.runs.get('run')).toBe(undefined)
      expect((await two.runner.runs.list()).runs).toEqual([])
      await expect(two.runner.run('go', { runId: 'run' })).rejects.toThrow(
        'Expected `agent` to be `one`, the agent of run `run`, got `"two"`',
      )
      expect(await two.runner.runs.prune({ keep: 0 })).toBe(0)
      expect(await one.runner.runs.prune({ keep: 0 })).toBe(1)
      await one.journal.close()
      await two.journal.close()
    }))

  it('is open in only one process if several could damage it with that SQLite', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const first = open({ file })
      await first.runner.run('go')
      const database = new DatabaseSync(file)
      database.exec("UPDATE owners SET sqlite = '3.50.2', pid = 17")
      database.close()
      // Journals of one process share a connection.
      expect(await problemOf({ file, agent: 'another' })).toBe('none')
      // Not these: to SQLite it is as if there were two processes.
      expect(await problemOf({ file, busyTimeoutMs: 1 })).toMatch(/journal_failed: .+is open in another process.+process 17 has 3\.50\.2/)
      await first.journal.close()
      expect(await problemOf({ file })).toBe('none')
    }))

  it('refuses a run that a newer loop has recorded', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const { journal, runner } = open({ file })
      await runner.run('go', { runId: 'run' })
      const database = new DatabaseSync(file)
      database.exec("UPDATE runs SET loop = 99, status = 'running'")
      database.close()
      const [{ error } = {}] = await runner.recover()
      expect(String(error)).toMatch(/run `run` to be recorded by loop version 1 or older, got 99: a newer toolloop has written it/)
      await journal.close()
    }))

  it('refuses options that are not allowed', () => {
    const refused = (options: object) => expect(() => sqliteJournal(options as SqliteJournalOptions)).toThrow(/^Expected/)
    refused({})
    refused({ file: ':memory:' })
    refused({ file: 'x', agent: '' })
    refused({ file: 'x', synchronous: 'off' })
    refused({ file: 'x', busyTimeoutMs: -1 })
    refused({ file: 'x', maxBytes: 10 })
    expect(() => sqliteJournal({ file: 'x', sync: 'full' } as never)).toThrow(/`synchronous`|sync/)
  })
})

it('reached by a symbolic link is the same file: a run is carried out once', () =>
  inFolder(async (folder) => {
    mkdirSync(join(folder, 'real'))
    symlinkSync(join(folder, 'real'), join(folder, 'link'))
    symlinkSync(join(folder, 'real', 'runs.sqlite'), join(folder, 'runs.sqlite'))
    // Other options, so that each has a connection of its own, as in two processes.
    const real = sqliteJournal({ file: join(folder, 'real', 'runs.sqlite') })
    const links = [join(folder, 'link', 'runs.sqlite'), join(folder, 'runs.sqlite')].map((file) =>
      sqliteJournal({ file, busyTimeoutMs: 6_000 }),
    )
    const { promise: end, resolve } = Promise.withResolvers<void>()
    const engine = real.connect(async () => {
      await end
      return {}
    })
    await engine.start('run', {})
    for (const link of links) expect(await link.connect(async () => ({})).pending()).toEqual([])
    resolve()
    await engine.result('run')
    for (const journal of [real, ...links]) await journal.close()
  }))
