import type { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../core/errors.ts'
import { type DatabaseOptions, inTransaction, openDatabase, type Schema } from './database.ts'
import { FileClock } from './file-clock.ts'
import { isInMemory, makeFile } from './file-place.ts'
import { settleAt } from './home.ts'
import { Owner } from './owner.ts'
import { fileProblem, tried } from './problems.ts'
import { Statements } from './statements.ts'

export interface FileParts {
  readonly database: DatabaseSync
  readonly owner: Owner
  readonly clock: FileClock
  readonly statements: Statements
}

/** A kind of file: its tables and their methods. */
export interface Contents<Tables, Options> extends Schema {
  /**
   * Returns an object with the methods that stores can call. Each call of a method runs in a transaction that is rolled back if the method
   * throws. If a method returns `Work`, the transaction includes it.
   */
  open(parts: FileParts, options: Options): Tables
  /** Releases everything that an owner holds. Called when the owner closes the file. */
  release(database: DatabaseSync, ownerId: string): void
  /** Names of methods that only read. They don't wait for writers, so they may miss the effects of calls that are still running. */
  readonly reading: readonly string[]
  /** Names of methods that delete data. The write-ahead log is emptied after they are called. */
  readonly erasing?: readonly string[]
}

/** An open file and its owner. The owner counts as alive until the file is closed. */
export interface OpenedFile<Tables> {
  readonly database: DatabaseSync
  readonly clock: FileClock
  readonly statements: Statements
  readonly tables: Tables
  /** Registers the owner. Called before the first write, so an owner that only reads is never visible to other processes. */
  enter(): void
  close(): void
}

/**
 * Before this version, several connections could damage a file in WAL mode (https://sqlite.org/wal.html#walresetbug). With an older
 * version, only one process may have the file open.
 */
const sharedSince = [3, 51, 3]

/** A connection, and the owners of this process that share it. */
interface Connection {
  readonly database: DatabaseSync
  readonly clock: FileClock
  readonly statements: Statements
  users: number
  readonly owners: Set<string>
}

const connections = new Map<string, Connection>()

/**
 * Opens the file. Stores of one process that open a file with the same options share a connection.
 *
 * Throws an error with the code of `contents` if the file can't be opened. Calls `warn` if the machine's clock has jumped.
 */
export function openFile<Tables, Options>(
  contents: Contents<Tables, Options>,
  options: DatabaseOptions,
  { own, warn }: { own: Options; warn(message: string): void },
): OpenedFile<Tables> {
  const { file, busyTimeoutMs } = options
  let connection: Connection | undefined
  try {
    const inMemory = isInMemory(file)
    const real = inMemory ? file : makeFile(contents, file)
    const key = JSON.stringify({ ...options, file: real })
    connection = connections.get(key) ?? connect(openDatabase(contents, options, real), warn)
    const { database, owners, clock, statements } = connection
    const owner = new Owner(inMemory ? undefined : `${real}-owners`)
    const tables = contents.open({ database, owner, clock, statements }, own)
    const used = connection
    connections.set(key, used)
    used.users++
    const close = () => {
      // The owner can't be removed later, so the statements wait if another connection has locked the file.
      tried(() => database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`))
      try {
        if (owners.delete(owner.id)) leave(database, owner, contents)
        owner.close()
      } finally {
        tried(() => database.exec('PRAGMA busy_timeout = 0'))
        if (--used.users === 0) {
          connections.delete(key)
          database.close()
        }
      }
    }
    const enterOnce = () => {
      if (owners.has(owner.id)) return
      owner.live()
      enter({ database, owners, clock }, owner, contents, { file, real })
    }
    return { database, clock, statements, tables, enter: enterOnce, close }
  } catch (error) {
    if (connection?.users === 0) tried(() => connection?.database.close())
    throw fileProblem(error, contents, file)
  }
}

function connect(database: DatabaseSync, warn: (message: string) => void): Connection {
  try {
    return { database, clock: new FileClock(database, warn), statements: new Statements(database), users: 0, owners: new Set() }
  } catch (error) {
    tried(() => database.close())
    throw error
  }
}

/** Adds the owner to the owners of the file, and removes owners that are dead. */
function enter(
  { database, owners: sharing, clock }: Pick<Connection, 'database' | 'owners' | 'clock'>,
  owner: Owner,
  { noun, code, isUnique }: Schema,
  { file, real }: { file: string; real: string },
): void {
  const sqlite = String(database.prepare('SELECT sqlite_version() AS version').get()?.version)
  inTransaction(database, () => {
    const owners = database.prepare('SELECT id, pid, sqlite FROM owners').all()
    const remove = database.prepare('DELETE FROM owners WHERE id = ?')
    for (const { id, pid, sqlite: other } of owners) {
      if (!owner.isAlive(String(id))) {
        owner.forget(String(id))
        remove.run(String(id))
      } else if (!sharing.has(String(id)) && !(isSafeToShare(sqlite) && isSafeToShare(String(other)))) {
        const versions = `this process has ${sqlite}, process ${pid} has ${other}`
        throw new ToolloopError(
          code,
          `The ${noun} \`${file}\` is open in another process, and sharing it needs SQLite ${sharedSince.join('.')} or newer in every process: ${versions}. Use Node 24.15 or newer in all of them`,
        )
      }
    }
    database.prepare('INSERT INTO owners (id, pid, sqlite) VALUES (?, ?, ?)').run(owner.id, process.pid, sqlite)
    if (isUnique) settleAt(database, real)
    clock.note()
  })
  sharing.add(owner.id)
}

function leave(database: DatabaseSync, owner: Owner, { release }: Pick<Contents<never, never>, 'release'>): void {
  // Errors are ignored: if the owner stays in the file, the next process finds it dead.
  tried(() => {
    release(database, owner.id)
    database.prepare('DELETE FROM owners WHERE id = ?').run(owner.id)
  })
}

function isSafeToShare(version: string): boolean {
  const parts = version.split('.').map(Number)
  for (const [at, least] of sharedSince.entries()) {
    const part = parts[at] ?? 0
    if (part !== least) return part > least
  }
  return true
}
