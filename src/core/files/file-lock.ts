import { setTimeout as pause } from 'node:timers/promises'

/** The interval between attempts to take a lock that is held elsewhere, in milliseconds. */
const retryMs = 25

/**
 * Runs `work` while holding an exclusive lock on a file. The lock excludes other processes and other calls in this process. The operating
 * system releases the lock however the process ends.
 *
 * The file is left behind, empty. Only SQLite may open it: closing any other handle on it would drop the lock.
 *
 * Rejects with the error of `work`. If the signal is aborted before the lock is free, rejects with the signal's reason.
 */
export async function withFileLock<T>(file: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { DatabaseSync } = loadSqlite()
  const lock = new DatabaseSync(file)
  try {
    lock.exec('PRAGMA busy_timeout = 0')
    // SQLite's journal is kept in memory: a journal file would be left behind if the process is killed. It is not needed, because nothing
    // is ever written to the database.
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

/**
 * Loads SQLite on first use. Suppresses Node 22's warning that it is experimental: an application that uses a lock has not chosen SQLite.
 */
function loadSqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}
