import { closeSync, existsSync, openSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeFolder } from './file-place.ts'
import { isBusy, tried } from './problems.ts'

/**
 * Who is alive, without clocks: each owner keeps a small file locked, and the operating system lets go of it when the process dies, however
 * it dies. A process that is only paused keeps its lock.
 *
 * Nothing but SQLite may open these files once it has: closing any other handle on one would drop the lock of its process.
 */
export class Owner {
  readonly id: string = crypto.randomUUID()
  readonly #folder: string | undefined
  #lock: DatabaseSync | undefined

  /** Without a folder, what is owned is of this process alone: every owner is alive. */
  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  /** From now on this owner is alive to everybody. */
  live(): void {
    if (this.#lock !== undefined || this.#folder === undefined) return
    makeFolder(this.#folder)
    const file = join(this.#folder, this.id)
    closeSync(openSync(file, 'a', 0o600))
    const lock = new DatabaseSync(file)
    lock.exec('BEGIN EXCLUSIVE')
    this.#lock = lock
  }

  /** Whether the owner of that id still holds its lock. */
  isAlive(id: string): boolean {
    return id === this.id || this.#folder === undefined || isLocked(join(this.#folder, id))
  }

  /** Removes what a dead owner has left. */
  forget(id: string): void {
    if (this.#folder !== undefined) rmSync(join(this.#folder, id), { force: true })
  }

  /** From now on this owner is dead to everybody. */
  close(): void {
    this.#lock?.close()
    // What can't be removed is found unlocked by whoever comes next.
    tried(() => this.forget(this.id))
  }
}

/** Whether any owner in that folder is alive. */
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
