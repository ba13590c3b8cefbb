import { closeSync, existsSync, openSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeFolder } from './file-place.ts'
import { isBusy, tried } from './problems.ts'

/**
 * Shows other processes whether an owner is alive. Each owner keeps a small file locked. The operating system releases the lock when the
 * process ends, for any reason. A paused process keeps its lock.
 *
 * Only SQLite may open these files: if the process closes any other handle of a file, it loses its lock on the file.
 */
export class Owner {
  readonly id: string = crypto.randomUUID()
  readonly #folder: string | undefined
  #lock: DatabaseSync | undefined

  /** `folder`: the folder for the lock files. Without a folder, every owner counts as alive. */
  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  /** Takes the lock. Other processes then see this owner as alive. */
  live(): void {
    if (this.#lock !== undefined || this.#folder === undefined) return
    makeFolder(this.#folder)
    const file = join(this.#folder, this.id)
    closeSync(openSync(file, 'a', 0o600))
    const lock = new DatabaseSync(file)
    lock.exec('BEGIN EXCLUSIVE')
    this.#lock = lock
  }

  /** Whether the owner with this id still holds its lock. */
  isAlive(id: string): boolean {
    return id === this.id || this.#folder === undefined || isLocked(join(this.#folder, id))
  }

  forget(id: string): void {
    if (this.#folder !== undefined) rmSync(join(this.#folder, id), { force: true })
  }

  /** Releases the lock. Other processes then see this owner as dead. */
  close(): void {
    this.#lock?.close()
    // Errors are ignored: the next process removes an unlocked file.
    tried(() => this.forget(this.id))
  }
}

export function hasLivingOwner(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).some((id) => isLocked(join(folder, id)))
}

function isLocked(file: string): boolean {
  if (!existsSync(file)) return false
  const probe = new DatabaseSync(file)
  try {
    probe.exec('PRAGMA busy_timeout = 0')
    probe.exec('BEGIN EXCLUSIVE')
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw error
  } finally {
    probe.close()
  }
}
