import { randomUUID } from 'node:crypto'
import { open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** What a file that is being written is called; one that is found was left behind by a crash. */
const freshName: RegExp = /^\.toolloop-[0-9a-f-]{36}\.tmp$/

/**
 * Replaces a file as a whole: whoever reads it sees the old content or the new one, also after a crash. A symbolic link stays one; the file is
 * for its owner alone from then on. `text` may be given in parts: others get their turn while one of them is written.
 */
export async function replaceFile(path: string, text: string | readonly string[] | AsyncIterable<string>): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const fresh = join(dirname(target), `.toolloop-${randomUUID()}.tmp`)
  try {
    const file = await open(fresh, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(fresh, target)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
}

/** Rejects with the system's error where `path` could not be replaced. */
export async function checkReplaceable(path: string): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const fresh = join(dirname(target), `.toolloop-${randomUUID()}.tmp`)
  await (await open(fresh, 'wx', 0o600)).close()
  await rm(fresh, { force: true })
}

/** One that is younger may be another process's that is still being written. */
const leftBehindMs = 60_000

/** Removes what crashes have left behind where `path` is replaced: it may hold what the file does. Rejects when it can't be removed. */
export async function removeLeftBehind(path: string): Promise<void> {
  const folder = dirname(await realpath(path).catch(() => path))
  const names = (await readdir(folder).catch(() => [])).filter((name) => freshName.test(name))
  for (const file of names.map((name) => join(folder, name))) {
    const found = await stat(file).catch(() => undefined)
    if (found !== undefined && found.mtimeMs < Date.now() - leftBehindMs) await rm(file, { force: true })
  }
}
