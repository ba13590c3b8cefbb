import { chmodSync, closeSync, existsSync, mkdirSync, openSync, realpathSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../../core/errors.ts'
import { tried } from './problems.ts'

/** How the file is opened; see `SqliteJournalOptions`. */
export interface DatabaseOptions {
  file: string
  synchronous: 'full' | 'normal'
  busyTimeoutMs: number
  maxBytes: number | undefined
}

/** Each brings the file from the version that is its index to the next. Never changed once released: files of every version exist. */
const migrations = [
  `CREATE TABLE runs (
     n INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     agent TEXT NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('running', 'waiting', 'ended')),
     stop_reason TEXT,
     owner TEXT,
     epoch INTEGER NOT NULL,
     loop INTEGER NOT NULL,
     cancel_reason TEXT,
     problem TEXT,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX runs_open ON runs (agent, status) WHERE status <> 'ended';
   CREATE INDEX runs_ended ON runs (agent, updated_at) WHERE status = 'ended';
   CREATE TABLE inputs (run INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;
   CREATE TABLE outputs (run INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;
   CREATE TABLE steps (run INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run, key)) STRICT, WITHOUT ROWID;
   CREATE TABLE waits (
     run INTEGER NOT NULL,
     name TEXT NOT NULL,
     deadline INTEGER,
     value TEXT,
     decided_at INTEGER,
     taken INTEGER NOT NULL DEFAULT 0,
     PRIMARY KEY (run, name)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX waits_decided ON waits (run) WHERE taken = 0 AND value IS NOT NULL;
   CREATE INDEX waits_timed ON waits (deadline, run) WHERE taken = 0 AND value IS NULL AND deadline IS NOT NULL;
   CREATE TABLE owners (id TEXT PRIMARY KEY, pid INTEGER NOT NULL, sqlite TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
]
/** "tlJ1": says whose file it is. */
const applicationId = 0x746c4a31

/**
 * Opens the file, brought up to date if it is of an older version. Throws what SQLite throws, and
 * `journal_failed` for a file of a newer version or of another program.
 */
export function openDatabase({ file, synchronous, busyTimeoutMs, maxBytes }: DatabaseOptions): DatabaseSync {
  const database = new DatabaseSync(file)
  try {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    checkKind(database, file)
    database.exec('PRAGMA journal_mode = WAL')
    database.exec(`PRAGMA synchronous = ${synchronous}`)
    // macOS alone has these: without them its disks may keep what is written in their own memory.
    const isFull = synchronous === 'full' ? 1 : 0
    database.exec(`PRAGMA fullfsync = ${isFull}; PRAGMA checkpoint_fullfsync = ${isFull}`)
    migrate(database, file)
    if (maxBytes !== undefined) {
      const pageSize = numberOf(database, 'page_size')
      database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`)
    }
    return database
  } catch (error) {
    tried(() => database.close())
    throw error
  }
}

/** Not `mkdirSync`'s `recursive`: where a folder can't be made, such as in /proc, that never returns. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  if (dirname(folder) !== folder) makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(folder)) throw error
  }
}

/**
 * The file's path without symbolic links: whichever way two processes come to it, they are to meet. Made if it is not there, for its owner's
 * eyes alone, as are the files SQLite puts beside it: they get the same mode. Throws `journal_failed` where it is on a network.
 */
export function makeFile(file: string): string {
  makeFolder(dirname(file))
  checkLocal(dirname(file), file)
  if (!existsSync(file)) {
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
  }
  const real = realpathSync(file)
  checkLocal(dirname(real), file)
  return real
}

function checkLocal(folder: string, file: string): void {
  const network = networkOf(folder)
  if (network !== undefined) {
    throw new ToolloopError(
      'journal_failed',
      `Expected the journal \`${file}\` to be on a local disk, got ${network}: locks and shared memory don’t work there`,
    )
  }
}

/** The magic numbers of statfs(2). */
const networks: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  1397113167: 'AFS',
  12805120: 'Ceph',
  198183888: 'Lustre',
}

function networkOf(folder: string): string | undefined {
  const name = process.platform === 'linux' ? networks[statfsSync(folder).type >>> 0] : undefined
  return name === undefined ? undefined : `a network file system (${name})`
}

/** Throws for a file that something else has made. Reads it, so that what is no database is found out here. */
function checkKind(database: DatabaseSync, file: string): void {
  const id = numberOf(database, 'application_id')
  const isNew = id === 0 && database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
  if (isNew || id === applicationId) return
  throw new ToolloopError('journal_failed', `Expected \`${file}\` to be a toolloop journal, got another program's database`)
}

function migrate(database: DatabaseSync, file: string): void {
  const newest = migrations.length
  if (numberOf(database, 'user_version') === newest) return
  inTransaction(database, () => {
    // Read again: another process may have been faster.
    const version = numberOf(database, 'user_version')
    if (version > newest) {
      const message = `Expected the journal \`${file}\` to be of version ${newest} or older, got ${version}: a newer toolloop has written it`
      throw new ToolloopError('journal_failed', message)
    }
    for (const migration of migrations.slice(version)) database.exec(migration)
    database.exec(`PRAGMA application_id = ${applicationId}`)
    database.exec(`PRAGMA user_version = ${newest}`)
  })
}

/** Undone as a whole if `work` throws. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const value = work()
    database.exec('COMMIT')
    return value
  } catch (error) {
    // SQLite may have done so itself.
    tried(() => database.exec('ROLLBACK'))
    throw error
  }
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0])
}
