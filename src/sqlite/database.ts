import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../core/errors.ts'
import { isInMemory } from './file-place.ts'
import { checkHome } from './home.ts'
import { type FileKind, tried } from './problems.ts'
import { differenceOf } from './table-shapes.ts'

/** Which files these are, and what is in them. */
export interface Schema extends FileKind {
  /** Each brings a file from the version that is its index to the next. Never changed once released: files of every version exist. */
  readonly migrations: readonly string[]
  /** Says whose file it is. */
  readonly applicationId: number
  /** Overwrites what is deleted. Default false: its bytes stay until their place is needed. */
  readonly erases?: boolean
  /** Whether a copy is refused as long as its original is used. It has a table `home` then. Default false. */
  readonly isUnique?: boolean
}

/** How a file is opened; see `SqliteJournalOptions`. */
export interface DatabaseOptions {
  file: string
  synchronous: 'full' | 'normal'
  busyTimeoutMs: number
  maxBytes: number | undefined
  /** Whether a copy is used though its original is. Default false. */
  adopt?: boolean
}

/**
 * Opens the file, brought up to date if it is of an older version. Its statements wait for nobody: they throw if it is locked. Throws what
 * SQLite throws, and the schema's error for a file that is not one of its own; it is left as it is then. `real`: its path without symbolic links.
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
    database.exec('PRAGMA journal_mode = WAL')
    if (schema.erases) database.exec('PRAGMA secure_delete = ON')
    database.exec(`PRAGMA synchronous = ${synchronous}`)
    // macOS alone has these: without them its disks may keep what is written in their own memory.
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

/**
 * Throws for an empty file beside which owners have been: they made its tables before. Asked in this order, and before SQLite opens the file: it
 * would delete the log beside it, which may have what is missing.
 */
function checkNotCut({ noun, code }: FileKind, file: string, real: string): void {
  if (!existsSync(`${real}-owners`) || statSync(real).size > 0) return
  const begin = `delete the file and \`${file}-owners\` to begin a new one`
  throw new ToolloopError(code, `Expected \`${file}\` to be the ${noun} that was there, got an empty file: restore a backup, or ${begin}`)
}

/**
 * Its version; 0 for one that is new. Throws for a file that something else has made or changed, or a newer version. Reads it, so that what is no
 * database, or a damaged one, is found out here. To be called in a transaction: another process may be making the file.
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
    // Looked at again: another process may have been faster.
    for (const migration of migrations.slice(checkedVersion(database, schema, file))) database.exec(migration)
    database.exec(`PRAGMA application_id = ${applicationId}`)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
  })
}

/** Empties the log beside the file, which may still hold what was deleted from the file. Does nothing while another process uses it. */
export function emptyLog(database: DatabaseSync): void {
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** Undone as a whole if `work` throws. Others can write meanwhile if it only reads. */
export function inTransaction<T>(database: DatabaseSync, work: () => T, kind: 'reads' | 'writes' = 'writes'): T {
  database.exec(kind === 'writes' ? 'BEGIN IMMEDIATE' : 'BEGIN')
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
