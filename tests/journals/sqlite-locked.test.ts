import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { inFolder } from './temp-folder.ts'

function open(file: string, busyTimeoutMs: number) {
  const journal = sqliteJournal({ file, busyTimeoutMs })
  return { journal, runner: new AgentRunner({ model: scriptedModel(() => 'done'), journal, logger: recordingLogger().logger }) }
}

/** Somebody who keeps the file locked. */
function writerOf(file: string): { end(): void } {
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  return {
    end: () => {
      other.exec('ROLLBACK')
      other.close()
    },
  }
}

it('P1.12 sqliteJournal: reads beside a writer, even in a process that has just opened it, and while a write waits', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'runs.sqlite')
    const first = open(file, 60_000)
    await first.runner.run('go', { runId: 'run' })
    const writer = writerOf(file)
    // Longer than the test may take: what waited for it would fail.
    const second = open(file, 60_001)
    const waits = first.runner.run('go', { runId: 'later' })
    for (const { runner, journal } of [second, first]) {
      expect((await runner.runs.list()).runs).toMatchObject([{ runId: 'run' }])
      expect((await runner.runs.get('run'))?.result?.output).toBe('done')
      expect(await runner.recover()).toEqual([])
      expect(await journal.connect(async () => ({})).pending()).toEqual([])
    }
    writer.end()
    expect((await waits).output).toBe('done')
    for (const { journal } of [second, first]) await journal.close()
  }))

it('P1.12 sqliteJournal: a new file opens once another process that has just created it lets go', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'runs.sqlite')
    const other = writerOf(file)
    setTimeout(() => other.end(), 100)
    const { runner, journal } = open(file, 60_000)
    expect((await runner.run('go')).output).toBe('done')
    await journal.close()
  }))

it('P1.12 sqliteJournal: a write waits for a writer as long as `busyTimeoutMs`, and later ones get their own time', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'runs.sqlite')
    const { journal, runner } = open(file, 300)
    await runner.run('go')
    const writer = writerOf(file)
    const failed = runner.run('go')
    await expect(failed).rejects.toThrow(/locked for longer than `busyTimeoutMs`/)
    const waits = runner.run('go')
    writer.end()
    expect((await waits).output).toBe('done')
    await journal.close()
  }))

it('P1.12 sqliteSessions: reads beside a writer; a session that is expired or whose process has died is shown as such', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'sessions.sqlite')
    const sessions = sqliteSessions({ file, busyTimeoutMs: 60_000, expireAfterMs: 3_600_000 })
    for (const id of ['kept', 'dead', 'old']) await sessions.append(id, [{ role: 'user', content: id }])
    const database = new DatabaseSync(file)
    database.exec("UPDATE sessions SET run = 'r', token = 't', owner = 'nobody' WHERE id = 'dead'")
    database.exec("UPDATE sessions SET updated_at = 1 WHERE id = 'old'")
    const before = database.prepare('SELECT count(*) AS n FROM sessions').get()
    const writer = writerOf(file)
    const second = sqliteSessions({ file, busyTimeoutMs: 60_001, expireAfterMs: 3_600_000 })
    for (const one of [second, sessions]) {
      const listed = await one.list()
      expect(listed.sessions.map(({ id, status }) => `${id} ${status}`)).toEqual(['dead idle', 'kept idle'])
      expect((await one.list({ status: 'running' })).sessions).toEqual([])
      expect((await one.list({ status: 'idle', prefix: 'ke' })).sessions).toMatchObject([{ id: 'kept' }])
      expect([await one.get('old'), (await one.get('dead'))?.status]).toEqual([undefined, 'idle'])
      expect(await one.read('kept')).toMatchObject([{ content: 'kept' }])
    }
    writer.end()
    expect(database.prepare('SELECT count(*) AS n FROM sessions').get()).toEqual(before)
    // A new one in the place of the old has nothing of it.
    await sessions.append('old', [{ role: 'user', content: 'new' }])
    expect(await sessions.read('old')).toMatchObject([{ content: 'new' }])
    database.exec("UPDATE sessions SET updated_at = 1 WHERE id = 'old'")
    // Deleted for good, though it is not there to anybody.
    expect(await sessions.delete('old')).toBe(false)
    expect(database.prepare("SELECT count(*) AS n FROM session_messages WHERE value LIKE '%new%'").get()).toEqual({ n: 0 })
    database.close()
    await sessions.close()
    await second.close()
  }))
