import { execFile } from 'node:child_process'
import { type Stats, statSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { show, ToolloopError } from '../../errors.ts'

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
 * there is one, or with the signal's reason. What this user can't list, the script can't either.
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
      'reach who is at its other end. Remove it, or show scripts a folder that has none.',
  )
}

/** Whether everybody can get at `folder`, for a process that has no rights of its own. */
export function isOpenToAll(folder: string): boolean {
  if (!allows(statSync(folder), enter | read)) return false
  for (let above = dirname(folder); ; above = dirname(above)) {
    if (!allows(statSync(above), enter)) return false
    if (above === dirname(above)) return true
  }
}

function allows({ mode }: Stats, rights: number): boolean {
  return (mode & rights) === rights
}

/** The first file that the tests hold for; its path may be cut at a line break, as it is only told. */
function firstOf(find: string, folders: readonly string[], tests: readonly string[], { signal, timeoutMs }: Bounds) {
  const args = ['-H', ...folders, ...tests, '-print', '-quit']
  const options = { signal, env: {}, maxBuffer: 65_536, timeout: Math.min(Math.ceil(timeoutMs), 2 ** 31 - 1) }
  return new Promise<string | undefined>((settle, reject) => {
    execFile(find, args, options, (error, stdout) => {
      if (signal.aborted) reject(signal.reason)
      // Folders it can't list make it end with 1.
      else if (error !== null && error.code !== 1)
        reject(new ToolloopError('tool_failed', 'The script was not run: its folders could not be looked through.', { cause: error }))
      else settle(stdout.split('\n', 1)[0] || undefined)
    })
  })
}
