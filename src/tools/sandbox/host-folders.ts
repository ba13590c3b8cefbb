import { execFile } from 'node:child_process'
import { relative } from 'node:path'
import { show, ToolloopError } from '../../errors.ts'

/** Folders of the host that a script is shown. */
export interface ShownFolders {
  skill: string
  /** With these, the filter of system calls keeps a script from sockets that have a name. */
  others: readonly string[]
}

const unseenByFilter = ['-type', 'p']
const anyWayOut = ['(', '-type', 'p', '-o', '-type', 's', ')']

/**
 * That a folder is read-only keeps nobody from a pipe or a socket in it: who is at its other end would be spoken to. Rejects with `tool_denied` where
 * there is one, or with the signal's reason. What this user can't list, the script can't either.
 */
export async function refuseWaysOut(find: string, { skill, others }: ShownFolders, signal: AbortSignal): Promise<void> {
  const found = await Promise.all([
    firstOf(find, [skill], others.length === 0 ? anyWayOut : unseenByFilter, signal),
    others.length === 0 ? undefined : firstOf(find, others, unseenByFilter, signal),
  ])
  const path = found.find((one) => one !== undefined)
  if (path === undefined) return
  const folder = [skill, ...others].find((one) => path.startsWith(`${one}/`))
  throw new ToolloopError(
    'tool_denied',
    `The script was not run: ${show(folder === undefined ? path : relative(folder, path))} is a pipe or a socket, through which a script could ` +
      'reach who is at its other end. Remove it, or show scripts a folder that has none.',
  )
}

/** The first file that the tests hold for; its path may be cut at a line break, as it is only told. */
function firstOf(find: string, folders: readonly string[], tests: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  const args = ['-P', ...folders, ...tests, '-print', '-quit']
  return new Promise((resolve, reject) => {
    execFile(find, args, { signal, env: {}, maxBuffer: 65_536 }, (error, stdout) => {
      if (signal.aborted) reject(signal.reason)
      // Folders it can't list make it end with 1.
      else if (error !== null && error.code !== 1)
        reject(new ToolloopError('tool_failed', 'The script was not run: its folders could not be looked through.', { cause: error }))
      else resolve(stdout.split('\n', 1)[0] || undefined)
    })
  })
}
