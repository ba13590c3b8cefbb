import { randomUUID } from 'node:crypto'
import { open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The pattern of the temporary file's name. A crash can leave such a file behind. */
const freshName: RegExp = /^\.toolloop-[0-9a-f-]{36}\.tmp$/

/**
 * Replaces a file atomically: readers see either the old content or the new content, even after a crash. A symbolic link is kept. The new
 * file is readable by its owner only. `text` may consist of parts. The event loop runs while a part is written.
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

/** Rejects with the system's error if `path` can't be replaced. */
export async function checkReplaceable(path: string): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const fresh = join(dirname(target), `.toolloop-${randomUUID()}.tmp`)
  await (await open(fresh, 'wx', 0o600)).close()
  await rm(fresh, { force: true })
}

/** A temporary file is removed only if it is at least this old, in milliseconds. Another process may still be writing a younger file. */
const leftBehindMs = 60_000

/**
 * Removes the temporary files that crashes left beside `path`. They may contain the content that was meant for `path`. Rejects if a file
 * can't be removed.
 */
export async function removeLeftBehind(path: string): Promise<void> {
  const folder = dirname(await realpath(path).catch(() => path))
  const names = (await readdir(folder).catch(() => [])).filter((name) => freshName.test(name))
  for (const file of names.map((name) => join(folder, name))) {
    const found = await stat(file).catch(() => undefined)
    if (found !== undefined && found.mtimeMs < Date.now() - leftBehindMs) await rm(file, { force: true })
  }
}
