import { setTimeout as pause } from 'node:timers/promises'

/** How long to wait between attempts to take a lock, in milliseconds. */
const retryMs = 25

/**
 * Runs `work` while holding an exclusive lock on a file. The lock excludes other processes and other calls in this process. The operating
 * system releases the lock however the process ends.
 *
 * An empty file remains. Open the file only with SQLite: if any other handle on the file is closed, the lock is lost.
 *
 * Rejects with the error of `work`. If the signal is aborted before the lock is free, rejects with the signal's reason.
 */
export async function withFileLock<T>(file: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { DatabaseSync } = loadSqlite()
  const lock = new DatabaseSync(file)
  try {
    lock.exec('PRAGMA busy_timeout = 0')
    // Nothing is ever written to the database. SQLite's own journal is kept in memory, so that a killed process leaves no journal file
    // behind.
    while (!isTaken(() => lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'))) {
      await pause(retryMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
    signal.throwIfAborted()
    return await work()
  } finally {
    lock.close()
  }
}

/** SQLITE_BUSY: https://sqlite.org/rescode.html#busy */
const busy = 5

function isTaken(take: () => void): boolean {
  try {
    take()
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return false
    throw error
  }
}

/** Loads SQLite on first use. Hides Node 22's warning that SQLite is experimental, because the application did not choose to use SQLite. */
function loadSqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}
