import type { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../core/errors.ts'
import { type DatabaseOptions, inTransaction, openDatabase, type Schema } from './database.ts'
import { FileClock } from './file-clock.ts'
import { isInMemory, makeFile } from './file-place.ts'
import { settleAt } from './home.ts'
import { Owner } from './owner.ts'
import { fileProblem, tried } from './problems.ts'

/** What the tables of a file work with. */
export interface FileParts {
  readonly database: DatabaseSync
  readonly owner: Owner
  readonly clock: FileClock
}

/** A file of some kind: its tables, and what can be done with them. */
export interface Contents<Tables, Options> extends Schema {
  /** What is called in a transaction each, which is rolled back if it throws. */
  open(parts: FileParts, options: Options): Tables
  /** Lets go of all that an owner has who leaves. */
  release(database: DatabaseSync, ownerId: string): void
  /** Methods that only read. They wait for no writer; what was asked for and not answered before, they may not see. */
  readonly reading: readonly string[]
  /** Methods after which nothing of what they have deleted may stay in the log beside the file. */
  readonly erasing?: readonly string[]
}

/** The file with its owner, who is alive until it is closed. */
export interface OpenedFile<Tables> {
  readonly database: DatabaseSync
  readonly clock: FileClock
  readonly tables: Tables
  /** Before anything is written: from the first time on, its owner is alive. Who only reads is nobody to the others. */
  enter(): void
  close(): void
}

/**
 * Until this version several connections could damage a file in WAL mode between them (https://sqlite.org/wal.html#walresetbug), so that
 * only one process may have it open.
 */
const sharedSince = [3, 51, 3]

/** A connection, who uses it, and which owners of this process share it. */
interface Connection {
  readonly database: DatabaseSync
  readonly clock: FileClock
  users: number
  readonly owners: Set<string>
}

const connections = new Map<string, Connection>()

/**
 * Stores of one process that open a file in the same way share a connection. Throws the kind's error; nothing is left open then. `warn` is told if the
 * clock of the machine is doubted.
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
    const { database, owners, clock } = connection
    const owner = new Owner(inMemory ? undefined : `${real}-owners`)
    const tables = contents.open({ database, owner, clock }, own)
    const used = connection
    connections.set(key, used)
    used.users++
    const close = () => {
      // There is no later: it waits for others as long as it may.
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
    return { database, clock, tables, enter: enterOnce, close }
  } catch (error) {
    if (connection?.users === 0) tried(() => connection?.database.close())
    throw fileProblem(error, contents, file)
  }
}

/** Throws what SQLite throws; the database is closed then. */
function connect(database: DatabaseSync, warn: (message: string) => void): Connection {
  try {
    return { database, clock: new FileClock(database, warn), users: 0, owners: new Set() }
  } catch (error) {
    tried(() => database.close())
    throw error
  }
}

/** Registers the owner among those of the file, from which the dead are removed. */
function enter(
  { database, owners: sharing, clock }: Omit<Connection, 'users'>,
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
  // Where the disk can't be written, whoever comes next finds this owner dead.
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
