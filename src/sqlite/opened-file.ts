import type { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../core/errors.ts'
import { type DatabaseOptions, inTransaction, makeFile, openDatabase, type Schema } from './database.ts'
import { Owner } from './owner.ts'
import { fileProblem, tried } from './problems.ts'

/** A file of some kind: its tables, and what can be done with them. */
export interface Contents<Tables, Options> extends Schema {
  /** What is called in a transaction each, which is rolled back if it throws. */
  open(database: DatabaseSync, owner: Owner, options: Options): Tables
  /** Lets go of all that an owner has who leaves. */
  release(database: DatabaseSync, ownerId: string): void
  /** Methods after which nothing of what they have deleted may stay in the log beside the file. */
  readonly erasing?: readonly string[]
}

/** The file with its owner, who is alive until it is closed. */
export interface OpenedFile<Tables> {
  readonly database: DatabaseSync
  readonly tables: Tables
  close(): void
}

/**
 * Until this version several connections could damage a file in WAL mode between them (https://sqlite.org/wal.html#walresetbug), so that
 * only one process may have it open.
 */
const sharedSince = [3, 51, 3]

/** A connection, and the owners of this process that share it. */
interface Connection {
  database: DatabaseSync
  owners: Set<string>
}

const connections = new Map<string, Connection>()

/** Stores of one process that open a file in the same way share a connection. Throws the kind's error; nothing is left open then. */
export function openFile<Tables, Options>(contents: Contents<Tables, Options>, options: DatabaseOptions, own: Options): OpenedFile<Tables> {
  const { file } = options
  let connection: Connection | undefined
  let owner: Owner | undefined
  try {
    const real = makeFile(contents, file)
    const key = JSON.stringify({ ...options, file: real })
    connection = connections.get(key) ?? { database: openDatabase(contents, { ...options, file: real }), owners: new Set() }
    owner = new Owner(`${real}-owners`)
    enter(connection, owner, contents, file)
    connection.database.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`)
    connections.set(key, connection)
    const opened = { connection, owner }
    const close = () => {
      try {
        leave(opened, contents)
      } finally {
        if (opened.connection.owners.size === 0) {
          connections.delete(key)
          opened.connection.database.close()
        }
      }
    }
    return { database: connection.database, tables: contents.open(connection.database, owner, own), close }
  } catch (error) {
    tried(() => owner?.close())
    if (connection?.owners.size === 0) tried(() => connection?.database.close())
    throw fileProblem(error, contents, file)
  }
}

/** Registers the owner among those of the file, from which the dead are removed. */
function enter({ database, owners: sharing }: Connection, owner: Owner, { noun, code }: Schema, file: string): void {
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
  })
  sharing.add(owner.id)
}

function leave(
  { connection: { database, owners }, owner }: { connection: Connection; owner: Owner },
  { release }: Pick<Contents<never, never>, 'release'>,
): void {
  owners.delete(owner.id)
  // Where the disk can't be written, whoever comes next finds this owner dead.
  tried(() => {
    release(database, owner.id)
    database.prepare('DELETE FROM owners WHERE id = ?').run(owner.id)
  })
  owner.close()
}

function isSafeToShare(version: string): boolean {
  const parts = version.split('.').map(Number)
  for (const [at, least] of sharedSince.entries()) {
    const part = parts[at] ?? 0
    if (part !== least) return part > least
  }
  return true
}
