import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { inFolder } from './temp-folder.ts'

function open(file: string) {
  const paid: string[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { euros: { type: 'number' } } },
    approval: true,
    execute: ({ euros }, { runId }) => {
      paid.push(`${runId} ${euros}`)
      return 'paid'
    },
  })
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'pay', args: { euros: 250 } }] },
  )
  const journal = sqliteJournal({ file })
  return { journal, paid, runner: new AgentRunner({ model, tools: [pay], journal, logger: recordingLogger().logger }) }
}

/** Two runs that were decided and not executed yet. */
async function madeIn(folder: string): Promise<string> {
  const file = join(folder, 'runs.sqlite')
  const { journal, runner } = open(file)
  for (const runId of ['bad', 'good']) {
    const { pending } = await runner.run(`for ${runId}`, { runId })
    const [place = ''] = pending.map(({ place }) => place)
    await journal.connect(async () => ({})).deliver(runId, { [place]: { approved: true } })
  }
  await journal.close()
  return file
}

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

describe('a damaged journal', () => {
  // Most of them stay JSON: nothing else would notice.
  const damage: [what: string, sql: string][] = [
    ['the input', "UPDATE inputs SET value = replace(value, 'for bad', 'for bae') WHERE run = 1"],
    ['an argument', "UPDATE steps SET value = replace(value, '250', '350') WHERE run = 1"],
    ['the key of a step', "UPDATE steps SET key = '1.modem' WHERE run = 1 AND key = '1.model'"],
    ['a decision', "UPDATE waits SET value = replace(value, 'approved', 'appsoved') WHERE run = 1"],
    ['a brace', "UPDATE steps SET value = '[' || substr(value, 2) WHERE run = 1"],
    ['a checksum', 'UPDATE inputs SET crc = crc + 1 WHERE run = 1'],
  ]
  it.each(damage)('P1.12 fails the run by name, and no other, if a bit of %s was flipped', (_what, sql) =>
    inFolder(async (folder) => {
      const file = await madeIn(folder)
      change(file, sql)
      const { journal, paid, runner } = open(file)
      const message = expect.stringMatching(
        new RegExp(`^Run \`bad\` of the journal \`${file}\` can’t be read: \`.+\` is not what was recorded`),
      )
      expect(await runner.recover()).toEqual([
        { runId: 'bad', error: expect.objectContaining({ code: 'journal_failed', message }) },
        { runId: 'good', stopReason: 'answered' },
      ])
      expect(paid).toEqual(['good 250'])
      expect((await runner.runs.list()).runs).toHaveLength(2)
      await journal.close()
    }),
  )

  it('P1.12 fails the run by name if the disk has flipped a bit', () =>
    inFolder(async (folder) => {
      const file = await madeIn(folder)
      const bytes = readFileSync(file)
      for (let at = bytes.indexOf('for bad'); at >= 0; at = bytes.indexOf('for bad', at)) bytes.writeUInt8((bytes[at] ?? 0) ^ 0x80, at)
      writeFileSync(file, bytes)
      const { journal, runner } = open(file)
      await expect(runner.runs.get('bad')).rejects.toThrow(`Run \`bad\` of the journal \`${file}\` can’t be read`)
      expect(await runner.runs.get('good')).toMatchObject({ status: 'waiting' })
      await journal.close()
    }))

  it('P1.12 is refused if it was truncated to nothing, and is not changed', () =>
    inFolder(async (folder) => {
      const file = await madeIn(folder)
      writeFileSync(`${file}-wal`, 'what SQLite would delete')
      truncateSync(file)
      const { journal, runner } = open(file)
      const message = expect.stringMatching(
        /to be the journal that was used before, got an empty file: restore a backup, or delete .+runs.sqlite-owners`/,
      )
      await expect(runner.recover()).rejects.toMatchObject({ code: 'journal_failed', message })
      await expect(runner.run('go')).rejects.toMatchObject({ code: 'journal_failed', message })
      expect([readFileSync(file, 'utf8'), readFileSync(`${file}-wal`, 'utf8')]).toEqual(['', 'what SQLite would delete'])
      await journal.close()
    }))

  it.each([4096, 5000])('P1.12 is refused if it was truncated to %i bytes', (bytes) =>
    inFolder(async (folder) => {
      const file = await madeIn(folder)
      truncateSync(file, bytes)
      const { journal, runner } = open(file)
      await expect(runner.recover()).rejects.toMatchObject({ code: 'journal_failed', message: expect.stringContaining(`\`${file}\``) })
      await expect(runner.run('go')).rejects.toMatchObject({ code: 'journal_failed' })
      expect(readFileSync(file).length).toBe(bytes)
      await journal.close()
    }),
  )

  it('P1.12 is created in an empty file that never was a journal', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      writeFileSync(file, '')
      const { journal, runner } = open(file)
      expect(await runner.run('go')).toMatchObject({ stopReason: 'paused' })
      await journal.close()
    }))

  const shapes: [what: string, sql: string, got: RegExp][] = [
    ['without a table', 'DROP TABLE waits', /got no table called `waits`/],
    ['with another column', 'ALTER TABLE steps ADD COLUMN mine TEXT', /got another `steps`/],
    ['without a column', 'ALTER TABLE runs DROP COLUMN problem', /got another `runs`/],
    [
      'with a column of another type',
      'DROP TABLE inputs; CREATE TABLE inputs (run INTEGER PRIMARY KEY, crc INTEGER NOT NULL, value BLOB NOT NULL)',
      /got another `inputs`/,
    ],
    [
      'whose ids are not unique',
      'CREATE TABLE x AS SELECT * FROM runs; DROP TABLE runs; ALTER TABLE x RENAME TO runs',
      /got another `runs`/,
    ],
    ['of a version without tables', 'PRAGMA user_version = 0', /of version 1 or newer, got 0/],
  ]
  it.each(shapes)('P1.12 is refused %s before anything of it is changed', (_what, sql, got) =>
    inFolder(async (folder) => {
      const file = await madeIn(folder)
      change(file, `PRAGMA journal_mode = DELETE; ${sql}`)
      const before = readFileSync(file)
      const { journal, runner } = open(file)
      await expect(runner.runs.list()).rejects.toMatchObject({ code: 'journal_failed', message: expect.stringMatching(got) })
      await expect(runner.run('go')).rejects.toMatchObject({ code: 'journal_failed', message: expect.stringContaining(file) })
      await journal.close()
      expect([readFileSync(file).equals(before), existsSync(`${file}-wal`)]).toEqual([true, false])
    }),
  )

  it('P1.12 may have other tables and indexes beside its own', () =>
    inFolder(async (folder) => {
      const file = await madeIn(folder)
      change(file, 'CREATE TABLE notes (run, note); CREATE INDEX mine ON runs (created_at)')
      const { journal, runner } = open(file)
      expect((await runner.recover()).map(({ stopReason }) => stopReason)).toEqual(['answered', 'answered'])
      await journal.close()
    }))
})

it('P1.12 sqliteSessions: is refused if it was truncated to nothing, or has other tables', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'sessions.sqlite')
    const made = sqliteSessions({ file })
    await made.append('s', [{ role: 'user', content: 'hi' }])
    await made.close()
    const problemOf = async () => {
      const sessions = sqliteSessions({ file })
      const problem = sessions.get('s').catch(({ code, message }) => `${code}: ${message}`)
      await problem
      await sessions.close()
      return problem
    }
    change(file, 'ALTER TABLE session_messages ADD COLUMN mine TEXT')
    expect(await problemOf()).toMatch(
      /^session_failed: Expected `.+` to be a toolloop session file with the tables of version \d, got another `session_messages`/,
    )
    truncateSync(file)
    expect(await problemOf()).toMatch(/^session_failed: Expected `.+` to be the session file that was used before, got an empty file/)
  }))
