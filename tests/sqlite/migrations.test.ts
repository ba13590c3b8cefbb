import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { openDatabase, type Schema } from '../../src/sqlite/database.ts'
import { inFolder } from '../journals/temp-folder.ts'

const first = 'CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT'
const second = 'ALTER TABLE notes ADD COLUMN read INTEGER NOT NULL DEFAULT 0'
const schema = (...migrations: string[]): Schema => ({ noun: 'journal', code: 'journal_failed', applicationId: 7, migrations })

it('a file of an older version is migrated when it is opened, with all its data', () =>
  inFolder(async (folder) => {
    const file = `${folder}/notes.sqlite`
    const open = (...migrations: string[]) =>
      openDatabase(schema(...migrations), { file, synchronous: 'full', busyTimeoutMs: 100, maxBytes: undefined }, file)
    const older = open(first)
    older.exec("INSERT INTO notes VALUES (1, 'kept')")
    older.close()
    const newer = open(first, second)
    expect(newer.prepare('SELECT * FROM notes').all()).toEqual([{ id: 1, text: 'kept', read: 0 }])
    newer.close()
    expect(() => open(first)).toThrow(/of version 1 or older, got 2: a newer toolloop has written it/)
  }))

it('a file of an older version without its tables is refused, and not changed', () =>
  inFolder(async (folder) => {
    const file = `${folder}/notes.sqlite`
    const database = new DatabaseSync(file)
    database.exec(`${first}; ${second}; PRAGMA application_id = 7; PRAGMA user_version = 1`)
    database.close()
    const options = { file, synchronous: 'full', busyTimeoutMs: 100, maxBytes: undefined } as const
    expect(() => openDatabase(schema(first, second), options, file)).toThrow(/with the tables of version 1, got another `notes`/)
    const after = new DatabaseSync(file)
    expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 })
    after.close()
  }))
