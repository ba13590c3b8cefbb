import type { Stats } from 'node:fs'
import { statSync } from 'node:fs'
import { chmod, chown, cp, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const [enter, read] = [0o001, 0o004]

/** Whether everybody can get at `folder`, for a process that has no rights of its own. */
export function isOpenToAll(folder: string): boolean {
  if (!allows(statSync(folder), enter | read)) return false
  for (let above = dirname(folder); ; above = dirname(above)) {
    if (!allows(statSync(above), enter)) return false
    if (above === dirname(above)) return true
  }
}

/** Whether they can at all that is in it too. */
export async function isWhollyOpenToAll(folder: string): Promise<boolean> {
  if (!isOpenToAll(folder)) return false
  for await (const { stats, isFolder } of within(folder)) if (!allows(stats, isFolder ? enter | read : read)) return false
  return true
}

/** A copy that belongs to `user`, and that no other user can read. The caller removes it. Only root can make one. */
export async function copyFor(user: number, folder: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'toolloop-skill-'))
  try {
    await cp(folder, copy, { recursive: true, verbatimSymlinks: true, filter: isOrdinary })
    for await (const { path, stats, isFolder } of within(copy)) {
      await chmod(path, isFolder || stats.mode & 0o100 ? 0o500 : 0o400)
      await chown(path, user, user)
    }
    await chmod(copy, 0o500)
    await chown(copy, user, user)
    return copy
  } catch (error) {
    await rm(copy, { recursive: true, force: true })
    throw error
  }
}

/** Pipes, sockets and devices can't be copied. */
async function isOrdinary(path: string): Promise<boolean> {
  const stats = await lstat(path)
  return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink()
}

/** What is in a folder, at any depth. Links lead to something that has rights of its own. */
async function* within(folder: string): AsyncGenerator<{ path: string; stats: Stats; isFolder: boolean }> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile() && !entry.isDirectory()) continue
    const path = join(folder, entry.name)
    yield { path, stats: await lstat(path), isFolder: entry.isDirectory() }
    if (entry.isDirectory()) yield* within(path)
  }
}

function allows({ mode }: Stats, rights: number): boolean {
  return (mode & rights) === rights
}
