import { mkdir, readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { withFileLock } from '../../../core/files/file-lock.ts'
import { replaceFile } from '../../../core/files/replace-file.ts'
import type { McpTokenStore } from '../auth-options.ts'

/**
 * Stores tokens in files that only their owner can read. Processes that share the folder take turns to renew tokens. Default folder:
 * `~/.toolloop/mcp`, which is created on the first save.
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
    // The empty lock file is kept. If it were deleted, one process could wait for the old file while another locks a new one.
    remove: (key) => rm(fileOf(key), { force: true }),
    lock: async (key, work, { signal }) => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await withFileLock(lockOf(key), signal, work)
    },
  }
}
