import type { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../../core/errors.ts'
import { type DatabaseOptions, inTransaction, makeFile, openDatabase } from './database.ts'
import { Owner } from './owner.ts'
import { journalProblem, tried } from './problems.ts'
import { RecordedRuns } from './recorded-runs.ts'

/** How the thread opens the file. */
export interface OpenOptions extends DatabaseOptions {
  agent: string
}

/** The file with its owner, who is alive until it is closed. */
export interface OpenedFile {
  readonly database: DatabaseSync
  readonly runs: RecordedRuns
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

/** Journals of one process that open a file in the same way share a connection. Throws `journal_failed`; nothing is left open then. */
export function openFile({ agent, ...options }: OpenOptions): OpenedFile {
  const { file } = options
  let connection: Connection | undefined
  let owner: Owner | undefined
  try {
    const real = makeFile(file)
    const key = JSON.stringify({ ...options, file: real })
    connection = connections.get(key) ?? { database: openDatabase({ ...options, file: real }), owners: new Set() }
    owner = new Owner(`${real}-owners`)
    enter(connection, owner, file)
    connections.set(key, connection)
    const opened = { connection, owner }
    const close = () => {
      try {
        leave(opened)
      } finally {
        if (opened.connection.owners.size === 0) {
          connections.delete(key)
          opened.connection.database.close()
        }
      }
    }
    return { database: connection.database, runs: new RecordedRuns(connection.database, owner, agent), close }
  } catch (error) {
    tried(() => owner?.close())
    if (connection?.owners.size === 0) tried(() => connection?.database.close())
    throw journalProblem(error, file)
  }
}

/** Registers the owner among those of the file, from which the dead are removed. */
function enter({ database, owners: sharing }: Connection, owner: Owner, file: string): void {
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
          'journal_failed',
          `The journal \`${file}\` is open in another process, and sharing it needs SQLite ${sharedSince.join('.')} or newer in every process: ${versions}. Use Node 24.15 or newer in all of them`,
        )
      }
    }
    database.prepare('INSERT INTO owners (id, pid, sqlite) VALUES (?, ?, ?)').run(owner.id, process.pid, sqlite)
  })
  sharing.add(owner.id)
}

function leave({ connection: { database, owners }, owner }: { connection: Connection; owner: Owner }): void {
  owners.delete(owner.id)
  // Where the disk can't be written, whoever comes next finds this owner dead.
  tried(() => {
    database.prepare('UPDATE runs SET owner = NULL WHERE owner = ?').run(owner.id)
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
