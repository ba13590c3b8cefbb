import { fstatSync, openSync } from 'node:fs'
import { isOpenToAll } from './host-folders.ts'

/**
 * Opens the Node.js executable if other users can't read it, for example because its folder has mode 0700. Undefined if other users can
 * read it. The caller must close the descriptor.
 */
export function openClosedNode(): { descriptor: number; bytes: number } | undefined {
  if (isOpenToAll(process.execPath)) return undefined
  const descriptor = openSync(process.execPath, 'r')
  return { descriptor, bytes: fstatSync(descriptor).size }
}

/** Returns arguments for bubblewrap that show Node.js at `place`. `source` is a path, or the descriptor of a file to copy. */
export function nodeArguments(source: string | number, place: string): string[] {
  if (typeof source === 'string') return ['--ro-bind-try', source, place]
  return ['--perms', '0555', '--file', String(source), place]
}
