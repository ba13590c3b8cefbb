import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../core/errors.ts'
import { isInMemory } from './file-place.ts'
import { checkHome } from './home.ts'
import { type FileKind, isBusy, tried } from './problems.ts'
import { differenceOf } from './table-shapes.ts'

/** The delay before a retry if the file is locked, in milliseconds. */
const retryMs = 5

/** A kind of file, with the definitions of its tables. */
export interface Schema extends FileKind {
  /**
   * The migration at index n upgrades a file from version n to version n + 1. A released migration never changes, because files of every
   * version exist.
   */
  readonly migrations: readonly string[]
  /** SQLite's `application_id`. It identifies the kind of file. */
  readonly applicationId: number
  /** Whether deleted data is overwritten. If false, deleted bytes stay in the file until SQLite reuses their space. Default: false. */
  readonly erases?: boolean
  /** Whether to refuse a copy of a file while the original is in use. Requires a table `home`. Default: false. */
  readonly isUnique?: boolean
}

/** Options for opening a file; see `SqliteJournalOptions`. */
export interface DatabaseOptions {
  file: string
  synchronous: 'full' | 'normal'
  busyTimeoutMs: number
  maxBytes: number | undefined
  /** Whether a copy may be used even if its original is in use. Default: false. */
  adopt?: boolean
}

/**
 * Opens the file, and migrates an older version. The returned database does not wait for locks: a statement throws if the file is locked.
 *
 * Throws SQLite's errors. For a file of another kind, throws an error with the schema's code and leaves the file unchanged. `real`: the
 * file's path without symbolic links.
 */
export function openDatabase(
  schema: Schema,
  { file, synchronous, busyTimeoutMs, maxBytes, adopt = false }: DatabaseOptions,
  real: string,
): DatabaseSync {
  checkNotCut(schema, file, real)
  const database = new DatabaseSync(isInMemory(real) ? ':memory:' : real)
  try {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    const version = inTransaction(database, () => checkedVersion(database, schema, file), 'reads')
    writeAhead(database, performance.now() + busyTimeoutMs)
    if (schema.erases) database.exec('PRAGMA secure_delete = ON')
    database.exec(`PRAGMA synchronous = ${synchronous}`)
    // Only macOS has these settings. Without them, macOS may leave written data in the cache of the disk.
    const isFull = synchronous === 'full' ? 1 : 0
    database.exec(`PRAGMA fullfsync = ${isFull}; PRAGMA checkpoint_fullfsync = ${isFull}`)
    if (version < schema.migrations.length) migrate(database, schema, file)
    if (schema.isUnique && !adopt) checkHome(database, schema, { file, real })
    if (maxBytes !== undefined) {
      const pageSize = numberOf(database, 'page_size')
      database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`)
    }
    database.exec('PRAGMA busy_timeout = 0')
    return database
  } catch (error) {
    tried(() => database.close())
    throw error
  }
}

/** Sets the journal mode. Retries until `until`, because SQLite fails at once if another connection is using the file. */
function writeAhead(database: DatabaseSync, until: number): void {
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
  }
}

/**
 * Throws if the file has lost its content: it is empty, but a folder of owners shows that it was used before. The check must run before
 * SQLite opens the file, because SQLite would delete the log, which may still contain the data.
 */
function checkNotCut({ noun, code }: FileKind, file: string, real: string): void {
  if (!existsSync(`${real}-owners`) || statSync(real).size > 0) return
  const begin = `delete the file and \`${file}-owners\` to start a new one`
  throw new ToolloopError(
    code,
    `Expected \`${file}\` to be the ${noun} that was used before, got an empty file: restore a backup, or ${begin}`,
  )
}

/**
 * Returns the version of the file, or 0 if it is new. Throws for a file of a newer version, and for a file that another program created or
 * changed. SQLite itself throws for a damaged file, or a file that is not a database.
 *
 * Must be called inside a transaction, because another process may be creating the file.
 */
function checkedVersion(database: DatabaseSync, { noun, code, applicationId, migrations }: Schema, file: string): number {
  const refuse = (got: string): never => {
    throw new ToolloopError(code, `Expected \`${file}\` to be a toolloop ${noun}${got}`)
  }
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
  const [id, version] = [numberOf(database, 'application_id'), numberOf(database, 'user_version')]
  if (isEmpty && version === 0 && (id === 0 || id === applicationId)) return 0
  if (id !== applicationId) refuse(", got another program's database")
  if (version > migrations.length) refuse(` of version ${migrations.length} or older, got ${version}: a newer toolloop has written it`)
  if (version < 1) refuse(` of version 1 or newer, got ${version}: something else has changed it`)
  const difference = differenceOf(database, migrations.slice(0, version))
  if (difference !== undefined) refuse(` with the tables of version ${version}, got ${difference}: something else has changed it`)
  return version
}

function migrate(database: DatabaseSync, schema: Schema, file: string): void {
  const { migrations, applicationId } = schema
  inTransaction(database, () => {
    // The version is read again, because another process may have migrated the file in the meantime.
    for (const migration of migrations.slice(checkedVersion(database, schema, file))) database.exec(migration)
    database.exec(`PRAGMA application_id = ${applicationId}`)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
  })
}

/**
 * Empties the write-ahead log, which may still contain data that was deleted from the file. Does nothing while another process uses the
 * file.
 */
export function emptyLog(database: DatabaseSync): void {
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/**
 * Runs `work` in a transaction, which is rolled back if `work` throws. If `work` only reads, other connections can write at the same time.
 */
export function inTransaction<T>(database: DatabaseSync, work: () => T, kind: 'reads' | 'writes' = 'writes'): T {
  database.exec(kind === 'writes' ? 'BEGIN IMMEDIATE' : 'BEGIN')
  try {
    const value = work()
    database.exec('COMMIT')
    return value
  } catch (error) {
    // SQLite may already have rolled back.
    tried(() => database.exec('ROLLBACK'))
    throw error
  }
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0])
}
