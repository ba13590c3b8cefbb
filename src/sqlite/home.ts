import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ToolloopError } from '../core/errors.ts'
import { hasLivingOwner } from './owner.ts'
import type { FileKind } from './problems.ts'

/**
 * Throws for a copy whose original is in use: to the copy its owners look dead, because they hold no locks beside it. A file that was moved, or
 * restored from a backup, has no living original.
 */
export function checkHome(database: DatabaseSync, { noun, code }: FileKind, { file, real }: { file: string; real: string }): void {
  const home = database.prepare('SELECT id, path FROM home').get()
  if (home === undefined) return
  const path = String(home.path)
  if (path === real || isSameFile(path, real) || idOf(path) !== home.id || !hasLivingOwner(`${path}-owners`)) return
  throw new ToolloopError(
    code,
    `Expected the ${noun} \`${file}\` to be no copy, got one of \`${path}\`, which a living process uses: both would execute the same runs. To use it all the same, pass \`adopt: true\``,
  )
}

/** Notes where the file is. In another place it is another one from then on. */
export function settleAt(database: DatabaseSync, real: string): void {
  const home = database.prepare('SELECT path FROM home').get()
  if (home?.path === real) return
  database.exec('DELETE FROM home')
  database.prepare('INSERT INTO home (id, path) VALUES (?, ?)').run(crypto.randomUUID(), real)
}

/** A volume can be mounted in several places. */
function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => statSync(file, { bigint: true, throwIfNoEntry: false }))
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev
}

/** Undefined for what is not there, or no such file any more. */
function idOf(file: string): unknown {
  if (!existsSync(file)) return undefined
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { readOnly: true })
    return database.prepare('SELECT id FROM home').get()?.id
  } catch {
    // A journal of another version, or whatever was put in its place: it has no runs of this one.
    return undefined
  } finally {
    database?.close()
  }
}
