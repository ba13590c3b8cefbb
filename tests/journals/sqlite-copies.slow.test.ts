import { cpSync, mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { type SqliteJournalOptions, sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { killHard, stuckProcess } from './stuck.ts'
import { inFolder } from './temp-folder.ts'

/** Opens a file, and resumes what it finds there: how the runs have ended, or why it is refused. */
async function recoveredIn(options: SqliteJournalOptions): Promise<unknown> {
  const pay = defineTool({ name: 'pay', description: 'Pays.', effect: 'idempotent', execute: () => 'paid' })
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'pay' }] }))
  const journal = sqliteJournal(options)
  try {
    const runner = new AgentRunner({ model, tools: [pay], journal, logger: recordingLogger().logger })
    return (await runner.recover()).map(({ runId, stopReason, error }) => `${runId} ${error ?? stopReason}`)
  } catch (error) {
    return String(error)
  } finally {
    await journal.close()
  }
}

/** As tools for backups do it. */
function backUp(file: string, copy: string): void {
  const database = new DatabaseSync(file)
  database.prepare('VACUUM INTO ?').run(copy)
  database.close()
}

it('P1.10 sqliteJournal: refuses a copy as long as the original is used, however it was copied', () =>
  inFolder(async (folder) => {
    const [original, copies] = [join(folder, 'original'), join(folder, 'copies')]
    const file = join(original, 'runs.sqlite')
    mkdirSync(copies)
    const child = await stuckProcess(file, 'run')
    backUp(file, join(copies, 'backup.sqlite'))
    for (const beside of ['', '-wal', '-shm', '-owners']) {
      cpSync(`${file}${beside}`, join(copies, `copy.sqlite${beside}`), { recursive: true })
    }
    const refused = `to be the original, got a copy of \`${file}\`, which a running process uses`
    for (const copy of ['backup.sqlite', 'copy.sqlite']) expect(await recoveredIn({ file: join(copies, copy) })).toContain(refused)
    // By another way it is the same file.
    symlinkSync(original, join(folder, 'link'))
    expect(await recoveredIn({ file: join(folder, 'link', 'runs.sqlite') })).toEqual([])
    // Another process has it by now, which the copy knows nothing of.
    await killHard(child)
    const next = await stuckProcess(file, 'other')
    expect(await recoveredIn({ file: join(copies, 'backup.sqlite') })).toContain(refused)
    expect(await recoveredIn({ file: join(copies, 'copy.sqlite'), adopt: true })).toEqual(['run answered'])
    // From now on it is a journal of its own, and so are its copies.
    expect(await recoveredIn({ file: join(copies, 'copy.sqlite') })).toEqual([])
    await killHard(next)
    expect(await recoveredIn({ file })).toEqual(['run answered', 'other answered'])
  }))

it('P1.10 sqliteJournal: uses a backup in its place or elsewhere, and a volume that was moved', () =>
  inFolder(async (folder) => {
    const [volume, moved] = [join(folder, 'volume'), join(folder, 'moved')]
    const file = join(volume, 'runs.sqlite')
    const child = await stuckProcess(file, 'run')
    backUp(file, join(folder, 'backup.sqlite'))
    await killHard(child)
    cpSync(join(folder, 'backup.sqlite'), join(folder, 'elsewhere.sqlite'))
    expect(await recoveredIn({ file: join(folder, 'elsewhere.sqlite') })).toEqual(['run answered'])
    renameSync(volume, moved)
    expect(await recoveredIn({ file: join(moved, 'runs.sqlite') })).toEqual(['run answered'])
    // In the place it was made in, where another journal has been meanwhile.
    mkdirSync(volume)
    cpSync(join(folder, 'backup.sqlite'), file)
    expect(await recoveredIn({ file })).toEqual(['run answered'])
  }))

it('P1.10 sqliteJournal: uses a backup even if another journal is in its place now', () =>
  inFolder(async (folder) => {
    const [volume, moved] = [join(folder, 'volume'), join(folder, 'moved')]
    const file = join(volume, 'runs.sqlite')
    await killHard(await stuckProcess(file, 'run'))
    renameSync(volume, moved)
    const child = await stuckProcess(file, 'new')
    expect(await recoveredIn({ file: join(moved, 'runs.sqlite') })).toEqual(['run answered'])
    await killHard(child)
  }))

it('P1.10 sqliteJournal: a moved volume keeps its living processes', () =>
  inFolder(async (folder) => {
    const [volume, moved] = [join(folder, 'volume'), join(folder, 'moved')]
    const child = await stuckProcess(join(volume, 'runs.sqlite'), 'run')
    renameSync(volume, moved)
    expect(await recoveredIn({ file: join(moved, 'runs.sqlite') })).toEqual([])
    await killHard(child)
    expect(await recoveredIn({ file: join(moved, 'runs.sqlite') })).toEqual(['run answered'])
  }))

it('P1.10 sqliteJournal: refuses an `adopt` that is not true or false', () => {
  expect(() => sqliteJournal({ file: 'x', adopt: 'yes' as never })).toThrow('Expected `adopt` to be true or false, got `"yes"`')
})
