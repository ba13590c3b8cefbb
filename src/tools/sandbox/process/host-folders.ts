import { execFile } from 'node:child_process'
import { type Stats, statSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { show, ToolloopError } from '../../../core/errors.ts'

/** Folders of the host that a script can see. */
export interface ShownFolders {
  /** The Skill's folder. Absent if the folder is copied. */
  skill?: string | undefined
  /** Other folders. If the list isn't empty, the system call filter blocks named sockets. */
  others: readonly string[]
}

interface Bounds {
  signal: AbortSignal
  timeoutMs: number
}

const pipes = ['-type', 'p']
const pipesAndSockets = ['(', ...pipes, '-o', '-type', 's', ')']
const [enter, read] = [0o001, 0o004]

/**
 * Checks that no folder contains a pipe or a socket. Through a pipe or a socket, a script could talk to the process at the other end, even
 * in a read-only folder. Rejects with `tool_denied` if a folder contains a pipe or a socket. Also rejects if a folder can be entered but
 * not listed, because a script could open a pipe in it by name. Rejects with the signal's reason if the signal is aborted. The folders are
 * checked only when the script starts, so files that others add later are not detected.
 */
export async function refuseWaysOut(find: string, { skill, others }: ShownFolders, bounds: Bounds): Promise<void> {
  // Relative folders are resolved from `/`, because bubblewrap is started in `/`.
  const folders = [...(skill === undefined ? [] : [skill]), ...others].map((folder) => resolve('/', folder))
  if (folders.length === 0) return
  const path = await firstOf(find, folders, others.length === 0 ? pipesAndSockets : pipes, bounds)
  if (path === undefined) return
  const folder = folders.find((one) => path.startsWith(`${one}/`))
  throw refusal(folder === undefined ? path : relative(folder, path))
}

/** Creates the error for a script that was not run because there is a pipe or a socket at `path`. */
export function refusal(path: string): ToolloopError {
  return new ToolloopError(
    'tool_denied',
    `The script was not run: ${show(path)} is a pipe or a socket, through which a script could ` +
      'reach another process. Remove it, or give scripts a folder without one.',
  )
}

function unlisted(complaint: string, cause: Error): ToolloopError {
  const why = complaint.replace(/^.*?find: /, '')
  return new ToolloopError(
    'tool_denied',
    `The script was not run: one of its folders can't be listed (${why}), so a pipe or a socket in it would go unnoticed.`,
    { cause },
  )
}

/** Whether a process without privileges can read the file or folder at `path`. */
export function isOpenToAll(path: string): boolean {
  const stats = statSync(path)
  if (!allows(stats, stats.isDirectory() ? enter | read : read)) return false
  for (let above = dirname(path); ; above = dirname(above)) {
    if (!allows(statSync(above), enter)) return false
    if (above === dirname(above)) return true
  }
}

function allows({ mode }: Stats, rights: number): boolean {
  return (mode & rights) === rights
}

/**
 * Returns the first file that matches the tests. The path may be cut at a line break, which is harmless because it is only shown in an
 * error message.
 */
function firstOf(find: string, folders: readonly string[], tests: readonly string[], { signal, timeoutMs }: Bounds) {
  // Folders that this user can't enter need not be searched: the script runs as this user, or with fewer rights, so it can't enter them
  // either.
  const closed = ['-type', 'd', '!', '-executable', '-prune']
  const args = ['-H', ...folders, ...closed, '-o', ...tests, '-print', '-quit']
  const options = { signal, env: {}, maxBuffer: 65_536, timeout: Math.min(Math.ceil(timeoutMs), 2 ** 31 - 1) }
  return new Promise<string | undefined>((settle, reject) => {
    execFile(find, args, options, (error, stdout, stderr) => {
      if (signal.aborted) reject(signal.reason)
      else if (stdout !== '') settle(stdout.split('\n', 1)[0])
      else if (error?.code === 1) {
        // Errors about files that were removed during the search are ignored, because such files don't exist for the script either.
        const complaint = stderr.split('\n').find((line) => line !== '' && !line.endsWith('No such file or directory'))
        if (complaint === undefined) settle(undefined)
        else reject(unlisted(complaint, error))
      } else if (error !== null)
        reject(new ToolloopError('tool_failed', 'The script was not run: its folders could not be checked.', { cause: error }))
      else settle(undefined)
    })
  })
}
