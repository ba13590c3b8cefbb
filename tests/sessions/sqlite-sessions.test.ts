import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { type SqliteSessionsOptions, sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { inFolder } from '../journals/temp-folder.ts'

const model = scriptedModel(({ messages }) => `heard ${messages.length}`, { record: false })
const logger = { debug() {}, info() {}, warn() {}, error() {} }

function open(options: SqliteSessionsOptions) {
  const sessions = sqliteSessions(options)
  return { sessions, runner: new AgentRunner({ model, sessions, logger }) }
}

/** Changes the file behind the back of its sessions. */
function change(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

describe('the file of SQLite sessions', () => {
  it('P1.13 is released later by a run that could not release it when it ended', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'sessions.sqlite')
      const busyTimeoutMs = 50
      const first = open({ file, busyTimeoutMs })
      const second = open({ file })
      await second.runner.run('hi', { session: 'chat' })
      const database = new DatabaseSync(file)
      const locking = scriptedModel(() => {
        database.exec('BEGIN IMMEDIATE')
        return 'heard'
      })
      const failing = first.runner.run('hi', { session: 'chat', model: locking })
      await expect(failing).rejects.toMatchObject({ code: 'session_failed' })
      database.exec('ROLLBACK')
      database.close()
      expect((await second.runner.run('hi again', { session: 'chat' })).output).toBe('heard 3')
      await Promise.all([first.sessions.close(), second.sessions.close()])
    }))

  it('is only readable by its owner, and outlives its process', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'data', 'sessions.sqlite')
      const first = open({ file })
      await first.runner.run('hi', { session: 'chat' })
      expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
      await first.sessions.close()
      const second = open({ file })
      expect((await second.runner.run('hi', { session: 'chat' })).output).toBe('heard 3')
      await second.sessions.close()
    }))

  it('is refused if it belongs to a journal, another program, or a newer version, and a journal refuses it', () =>
    inFolder(async (folder) => {
      const problemOf = async (file: string): Promise<string> => {
        const { sessions } = open({ file })
        const problem = await sessions.get('chat').then(String, ({ code, message }) => `${code}: ${message}`)
        await sessions.close()
        return problem
      }
      const runs = join(folder, 'runs.sqlite')
      const journal = sqliteJournal({ file: runs })
      await new AgentRunner({ model, journal }).run('hi')
      await journal.close()
      expect(await problemOf(runs)).toMatch(
        /^session_failed: Expected `.+runs.sqlite` to be a toolloop session file, got another program's database/,
      )
      const newer = join(folder, 'newer.sqlite')
      const made = open({ file: newer })
      await made.runner.run('hi', { session: 'chat' })
      await made.sessions.close()
      await expect(new AgentRunner({ model, journal: sqliteJournal({ file: newer }) }).run('hi')).rejects.toMatchObject({
        code: 'journal_failed',
        message: expect.stringMatching(/to be a toolloop journal/),
      })
      change(newer, 'PRAGMA user_version = 99')
      expect(await problemOf(newer)).toMatch(/^session_failed: Expected `.+` to be a toolloop session file of version \d+ or older, got 99/)
    }))

  it('reports damage with session and position; nothing is sent, and other sessions still work', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'sessions.sqlite')
      const { sessions, runner } = open({ file })
      for (const session of ['good', 'text', 'kind', 'folded']) await runner.run('hi', { session })
      const of = (id: string) => `(SELECT n FROM sessions WHERE id = '${id}')`
      change(file, `UPDATE session_messages SET value = '{"role":' WHERE at = 1 AND session = ${of('text')}`)
      change(file, `UPDATE session_messages SET value = '{"role":"nobody"}' WHERE at = 0 AND session = ${of('kind')}`)
      change(file, `UPDATE sessions SET compaction = '{"from":-1}' WHERE id = 'folded'`)
      const why = async (session: string) => runner.run('again', { session }).then(String, ({ code, message }) => `${code}: ${message}`)
      expect(await why('text')).toMatch(/^session_failed: The message 1 of session `text` can’t be read: .*JSON/)
      expect(await why('kind')).toMatch(/^session_failed: The message 0 of session `kind` can’t be read: Expected it.role to be/)
      expect(await why('folded')).toMatch(/^session_failed: The compaction of session `folded` can’t be read: Expected positions/)
      await expect(sessions.read('text')).rejects.toMatchObject({ code: 'session_failed' })
      expect((await runner.run('again', { session: 'good' })).output).toBe('heard 3')
      // Nobody has to wait for what failed, and it can be deleted.
      expect((await sessions.get('text'))?.status).toBe('idle')
      expect(await sessions.delete('text')).toBe(true)
      expect((await runner.run('again', { session: 'text' })).output).toBe('heard 1')
      await sessions.close()
    }))

  it('has a conversation that was damaged from outside repaired when it is sent, and continues', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'sessions.sqlite')
      const sessions = sqliteSessions({ file })
      const warnings: unknown[] = []
      const warn = (fields: unknown, words?: unknown): void => void warnings.push([fields, words])
      const runner = new AgentRunner({ model, sessions, logger: { ...logger, warn } })
      const call = { id: 'a', type: 'function' as const, function: { name: 'look', arguments: '{}' } }
      await sessions.append('chat', [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '', toolCalls: [call] },
        { role: 'tool', content: 'seen', toolCallId: 'a' },
      ])
      change(file, 'DELETE FROM session_messages WHERE at = 2')
      // The missing result is stored with the first run’s own messages.
      for (const expected of [
        ['heard 4', 3],
        ['heard 6', 2],
      ]) {
        const { output, newMessages } = await runner.run('go on', { session: 'chat' })
        expect([output, newMessages.length]).toEqual(expected)
      }
      const healing = expect.objectContaining({ session: 'chat', answeredCalls: 1 })
      expect(warnings).toEqual([[healing, 'the session was not valid and was repaired']])
      await sessions.close()
    }))

  it('is unchanged after a run that can’t be stored, which says so in its result', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'sessions.sqlite')
      const { sessions } = open({ file, maxBytes: 1_048_576 })
      const long = new AgentRunner({ model: scriptedModel(['short', 'x'.repeat(2_000_000), 'short']), sessions, logger })
      await long.run('hi', { session: 'chat' })
      const error = await long.run('write', { session: 'chat' }).catch((failure: unknown) => failure)
      expect(error).toMatchObject({
        name: 'RunError',
        code: 'session_failed',
        message: expect.stringMatching(/the disk is full, or the file/),
      })
      expect(error).toHaveProperty('result.output.length', 2_000_000)
      expect((await sessions.read('chat')).length).toBe(2)
      await long.run('hi', { session: 'chat' })
      expect((await sessions.read('chat')).length).toBe(4)
      await sessions.close()
    }))

  it('treats an expired session as missing, creates it again, and removes its rows', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'sessions.sqlite')
      const { sessions, runner } = open({ file, expireAfterMs: 200 })
      for (const session of ['a', 'b', 'c']) await runner.run('hi', { session })
      await expect.poll(async () => (await sessions.list()).sessions).toEqual([])
      expect((await runner.run('hi', { session: 'a' })).output).toBe('heard 1')
      await sessions.close()
      const database = new DatabaseSync(file)
      expect(database.prepare('SELECT count(*) AS count FROM session_messages').get()).toEqual({ count: 2 })
      database.close()
    }))

  it('is refused with invalid options', () => {
    for (const options of [{ file: '' }, { file: 'a', synchronous: 'off' }, { file: 'a', expireAfterMs: 0 }, { file: 'a', agent: 'x' }]) {
      expect(() => sqliteSessions(options as never)).toThrow(expect.objectContaining({ code: 'invalid_option' }))
    }
  })
})
