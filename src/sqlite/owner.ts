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
  readonly #folder: string
  #lock: DatabaseSync | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** From now on this owner is alive to everybody. */
  live(): void {
    if (this.#lock !== undefined) return
    makeFolder(this.#folder)
    closeSync(openSync(this.#file(this.id), 'a', 0o600))
    const lock = new DatabaseSync(this.#file(this.id))
    lock.exec('BEGIN EXCLUSIVE')
    this.#lock = lock
  }

  /** Whether the owner of that id still holds its lock. */
  isAlive(id: string): boolean {
    if (id === this.id) return true
    return isLocked(this.#file(id))
  }

  /** Removes what a dead owner has left. */
  forget(id: string): void {
    rmSync(this.#file(id), { force: true })
  }

  /** From now on this owner is dead to everybody. */
  close(): void {
    this.#lock?.close()
    // What can't be removed is found unlocked by whoever comes next.
    tried(() => this.forget(this.id))
  }

  #file(id: string): string {
    return join(this.#folder, id)
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
