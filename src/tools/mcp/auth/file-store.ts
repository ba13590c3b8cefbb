import { mkdir, readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { withFileLock } from '../../../core/files/file-lock.ts'
import { replaceFile } from '../../../core/files/replace-file.ts'
import type { McpTokenStore } from '../auth-options.ts'

/**
 * Keeps tokens in files that are for their owner alone. Processes that share the folder renew tokens one after the other. Default folder:
 * `~/.toolloop/mcp`, which is made when something is saved.
 */
export function mcpTokenFiles(folder: string = join(homedir(), '.toolloop', 'mcp')): McpTokenStore {
  const fileOf = (key: string) => join(folder, `${key}.json`)
  const lockOf = (key: string) => join(folder, `${key}.lock`)
  return {
    load: async (key) => {
      try {
        return await readFile(fileOf(key), 'utf8')
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      }
    },
    save: async (key, text) => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await replaceFile(fileOf(key), text)
    },
    // The lock's empty file stays: if it were deleted, a process that waits for it and one that makes a new file would hold the lock together.
    remove: (key) => rm(fileOf(key), { force: true }),
    lock: async (key, work, { signal }) => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await withFileLock(lockOf(key), signal, work)
    },
  }
}
