import { chmodSync, closeSync, existsSync, mkdirSync, openSync, realpathSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../core/errors.ts'
import { type FileKind, tried } from './problems.ts'

/** Which files these are, and what is in them. */
export interface Schema extends FileKind {
  /** Each brings a file from the version that is its index to the next. Never changed once released: files of every version exist. */
  readonly migrations: readonly string[]
  /** Says whose file it is. */
  readonly applicationId: number
  /** Overwrites what is deleted. Default false: its bytes stay until their place is needed. */
  readonly erases?: boolean
}

/** How a file is opened; see `SqliteJournalOptions`. */
export interface DatabaseOptions {
  file: string
  synchronous: 'full' | 'normal'
  busyTimeoutMs: number
  /** The same while it is opened, which others may delay by writing to it. Default: `busyTimeoutMs`. */
  openTimeoutMs?: number
  maxBytes: number | undefined
}

/**
 * Opens the file, brought up to date if it is of an older version. Throws what SQLite throws, and
 * the schema's error for a file of a newer version or of another program.
 */
export function openDatabase(
  schema: Schema,
  { file, synchronous, busyTimeoutMs, openTimeoutMs = busyTimeoutMs, maxBytes }: DatabaseOptions,
): DatabaseSync {
  const database = new DatabaseSync(file)
  try {
    database.exec(`PRAGMA busy_timeout = ${openTimeoutMs}`)
    checkKind(database, schema, file)
    database.exec('PRAGMA journal_mode = WAL')
    if (schema.erases) database.exec('PRAGMA secure_delete = ON')
    database.exec(`PRAGMA synchronous = ${synchronous}`)
    // macOS alone has these: without them its disks may keep what is written in their own memory.
    const isFull = synchronous === 'full' ? 1 : 0
    database.exec(`PRAGMA fullfsync = ${isFull}; PRAGMA checkpoint_fullfsync = ${isFull}`)
    migrate(database, schema, file)
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
 * eyes alone, as are the files SQLite puts beside it: they get the same mode. Throws the kind's error where it is on a network.
 */
export function makeFile(kind: FileKind, file: string): string {
  makeFolder(dirname(file))
  checkLocal(kind, dirname(file), file)
  if (!existsSync(file)) {
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
  }
  const real = realpathSync(file)
  checkLocal(kind, dirname(real), file)
  return real
}

function checkLocal({ noun, code }: FileKind, folder: string, file: string): void {
  const network = networkOf(folder)
  if (network !== undefined) {
    throw new ToolloopError(
      code,
      `Expected the ${noun} \`${file}\` to be on a local disk, got ${network}: locks and shared memory don’t work there`,
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
function checkKind(database: DatabaseSync, { noun, code, applicationId }: Schema, file: string): void {
  // In this order: another process may be making it, its tables and its id at once.
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
  const id = numberOf(database, 'application_id')
  if (id === applicationId || (isEmpty && id === 0)) return
  throw new ToolloopError(code, `Expected \`${file}\` to be a toolloop ${noun}, got another program's database`)
}

function migrate(database: DatabaseSync, { noun, code, migrations, applicationId }: Schema, file: string): void {
  const newest = migrations.length
  if (numberOf(database, 'user_version') === newest) return
  inTransaction(database, () => {
    // Read again: another process may have been faster.
    const version = numberOf(database, 'user_version')
    if (version > newest) {
      const message = `Expected the ${noun} \`${file}\` to be of version ${newest} or older, got ${version}: a newer toolloop has written it`
      throw new ToolloopError(code, message)
    }
    for (const migration of migrations.slice(version)) database.exec(migration)
    database.exec(`PRAGMA application_id = ${applicationId}`)
    database.exec(`PRAGMA user_version = ${newest}`)
  })
}

/**
 * Empties the log beside the file, which may still hold what was deleted from the file. Does nothing while another process uses that: it is not
 * waited for.
 */
export function emptyLog(database: DatabaseSync): void {
  const timeout = numberOf(database, 'busy_timeout')
  database.exec('PRAGMA busy_timeout = 0')
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    database.exec(`PRAGMA busy_timeout = ${timeout}`)
  }
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
