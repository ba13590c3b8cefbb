import { randomUUID } from 'node:crypto'
import { open, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** What a file that is being written is called; one that is found was left behind by a crash. */
export const freshName: RegExp = /^\.toolloop-[0-9a-f-]{36}\.tmp$/

/**
 * Replaces a file as a whole: whoever reads it sees the old content or the new one, also after a crash. A symbolic link stays one; the file is
 * for its owner alone from then on. `text` may be given in parts: others get their turn while one of them is written.
 */
export async function replaceFile(path: string, text: string | Iterable<string>): Promise<void> {
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
