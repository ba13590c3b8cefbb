import { setTimeout as pause } from 'node:timers/promises'

/** How often a lock that somebody else holds is tried again. */
const retryMs = 25

/**
 * Runs `work` while nobody else holds the lock of that file: no other process, and no other call of this one. The operating system releases the
 * lock when its process dies, however it dies. The file stays behind, empty; only SQLite may open it, because closing any other handle on it
 * would drop the lock. Rejects as `work` does, or with the signal's reason if that is aborted before the lock is free.
 */
export async function withFileLock<T>(file: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { DatabaseSync } = loadSqlite()
  const lock = new DatabaseSync(file)
  try {
    lock.exec('PRAGMA busy_timeout = 0')
    // Without a journal file, which a process that is killed would leave behind: nothing is ever written.
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

/** Loaded on first use, and without the warning of Node 22 that SQLite is experimental: nobody chose SQLite by taking a lock. */
function loadSqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}
