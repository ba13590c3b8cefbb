import { fstatSync, openSync } from 'node:fs'
import { isOpenToAll } from './host-folders.ts'

/**
 * Opens the program this process runs on if others can't read it where it is, such as in a folder of mode 0700. Undefined if they can. The caller
 * closes the descriptor.
 */
export function openClosedNode(): { descriptor: number; bytes: number } | undefined {
  if (isOpenToAll(process.execPath)) return undefined
  const descriptor = openSync(process.execPath, 'r')
  return { descriptor, bytes: fstatSync(descriptor).size }
}

/** Arguments of bubblewrap that show Node.js at `place`. `source` is a path, or the descriptor of a file that is copied. */
export function nodeArguments(source: string | number, place: string): string[] {
  if (typeof source === 'string') return ['--ro-bind-try', source, place]
  return ['--perms', '0555', '--file', String(source), place]
}
