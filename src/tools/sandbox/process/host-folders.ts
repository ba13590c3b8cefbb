import { execFile } from 'node:child_process'
import { type Stats, statSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { show, ToolloopError } from '../../../core/errors.ts'

/** Folders of the host that a script is shown. */
export interface ShownFolders {
  /** Absent if it is copied. */
  skill?: string | undefined
  /** With these, the filter of system calls keeps a script from sockets that have a name. */
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
 * That a folder is read-only keeps nobody from a pipe or a socket in it: who is at its other end would be spoken to. Rejects with `tool_denied` where
 * there is one, or where a folder can't be listed that may be entered: what is in it could be opened by its name. Rejects with the signal's
 * reason too. It is looked at when the script starts: what others put there later is not seen.
 */
export async function refuseWaysOut(find: string, { skill, others }: ShownFolders, bounds: Bounds): Promise<void> {
  // As bubblewrap takes them, which is started there.
  const folders = [...(skill === undefined ? [] : [skill]), ...others].map((folder) => resolve('/', folder))
  if (folders.length === 0) return
  const path = await firstOf(find, folders, others.length === 0 ? pipesAndSockets : pipes, bounds)
  if (path === undefined) return
  const folder = folders.find((one) => path.startsWith(`${one}/`))
  throw refusal(folder === undefined ? path : relative(folder, path))
}

/** That a script is not run where there is a pipe or a socket at `path`. */
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

/** The first file that the tests hold for; its path may be cut at a line break, as it is only told. */
function firstOf(find: string, folders: readonly string[], tests: readonly string[], { signal, timeoutMs }: Bounds) {
  // The script runs as this user, or as one with fewer rights: a folder this one can't enter, the script can't enter either.
  const closed = ['-type', 'd', '!', '-executable', '-prune']
  const args = ['-H', ...folders, ...closed, '-o', ...tests, '-print', '-quit']
  const options = { signal, env: {}, maxBuffer: 65_536, timeout: Math.min(Math.ceil(timeoutMs), 2 ** 31 - 1) }
  return new Promise<string | undefined>((settle, reject) => {
    execFile(find, args, options, (error, stdout, stderr) => {
      if (signal.aborted) reject(signal.reason)
      else if (stdout !== '') settle(stdout.split('\n', 1)[0])
      else if (error?.code === 1) {
        // What was removed while it was looked through is not there for the script either.
        const complaint = stderr.split('\n').find((line) => line !== '' && !line.endsWith('No such file or directory'))
        if (complaint === undefined) settle(undefined)
        else reject(unlisted(complaint, error))
      } else if (error !== null)
        reject(new ToolloopError('tool_failed', 'The script was not run: its folders could not be checked.', { cause: error }))
      else settle(undefined)
    })
  })
}
