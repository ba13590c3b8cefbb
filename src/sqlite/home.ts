import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../core/errors.ts'
import { hasLivingOwner } from './owner.ts'
import type { FileKind } from './problems.ts'

/**
 * Throws if the file is a copy whose original is in use. The owners of the original have their lock files next to the original, so a
 * process that opens the copy would consider them dead. A file that was moved or restored from a backup is accepted.
 */
export function checkHome(database: DatabaseSync, { noun, code }: FileKind, { file, real }: { file: string; real: string }): void {
  const home = database.prepare('SELECT id, path FROM home').get()
  if (home === undefined) return
  const path = String(home.path)
  if (path === real || isSameFile(path, real) || idOf(path) !== home.id || !hasLivingOwner(`${path}-owners`)) return
  throw new ToolloopError(
    code,
    `Expected the ${noun} \`${file}\` to be the original, got a copy of \`${path}\`, which a running process uses: both would execute the same runs. To use the copy anyway, pass \`adopt: true\``,
  )
}

/** Stores the file's path in the file itself. If the path has changed, the file gets a new id. */
export function settleAt(database: DatabaseSync, real: string): void {
  const home = database.prepare('SELECT path FROM home').get()
  if (home?.path === real) return
  database.exec('DELETE FROM home')
  database.prepare('INSERT INTO home (id, path) VALUES (?, ?)').run(crypto.randomUUID(), real)
}

/** Whether both paths lead to the same file, for example through a volume that is mounted twice. */
function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => statSync(file, { bigint: true, throwIfNoEntry: false }))
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev
}

/** Returns the id stored in the file at this path. Returns undefined if there is no file, or if the file is of another kind. */
function idOf(file: string): unknown {
  if (!existsSync(file)) return undefined
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { readOnly: true })
    return database.prepare('SELECT id FROM home').get()?.id
  } catch {
    // The file at the original path is no longer the original: it is not a journal, or has another version.
    return undefined
  } finally {
    database?.close()
  }
}
