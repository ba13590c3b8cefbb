import { randomUUID } from 'node:crypto'
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** What a file that is being written is called; one that is found was left behind by a crash. */
export const freshName: RegExp = /^\.toolloop-[0-9a-f-]{36}\.tmp$/

/**
 * Replaces a file as a whole: whoever reads it sees the old content or the new one, also after a crash. A symbolic link stays one, a file keeps
 * its mode, a new one is for its owner alone.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  )
  const fresh = join(dirname(target), `.toolloop-${randomUUID()}.tmp`)
  try {
    const file = await open(fresh, 'wx', mode)
    try {
      // What a file is opened with is cut by the process's mask.
      await file.chmod(mode)
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
