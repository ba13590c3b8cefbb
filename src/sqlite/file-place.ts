import { chmodSync, closeSync, existsSync, mkdirSync, openSync, realpathSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ToolloopError } from '../core/errors.ts'
import type { FileKind } from './problems.ts'

/**
 * Creates a folder and its parents. `mkdirSync(…, { recursive: true })` is not used, because it never returns if a folder can't be created,
 * such as in /proc.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  if (dirname(folder) !== folder) makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have created the folder at the same time.
    if (!existsSync(folder)) throw error
  }
}

/** Returns the name of a new database in memory. The database is deleted when its store is closed. */
export function inMemory(): string {
  return `:memory:${crypto.randomUUID()}`
}

export function isInMemory(file: string): boolean {
  return file.startsWith(':memory:')
}

/**
 * Creates the file if it is missing, with access for its owner only. Returns the file's path without symbolic links, so that all processes
 * use the same path.
 *
 * Throws an error with the code of `kind` if the file is on a network file system.
 */
export function makeFile(kind: FileKind, file: string): string {
  makeFolder(dirname(file))
  checkLocal(kind, dirname(file), file)
  if (!existsSync(file)) {
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
  }
  const real = realpathSync(file)
  checkLocal(kind, dirname(real), file)
  return real
}

function checkLocal({ noun, code }: FileKind, folder: string, file: string): void {
  const network = networkOf(folder)
  if (network !== undefined) {
    throw new ToolloopError(
      code,
      `Expected the ${noun} \`${file}\` to be on a local disk, got ${network}: locks and shared memory don’t work there`,
    )
  }
}

/** The magic numbers of network file systems, as statfs(2) reports them. */
const networks: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  1397113167: 'AFS',
  12805120: 'Ceph',
  198183888: 'Lustre',
}

function networkOf(folder: string): string | undefined {
  const name = process.platform === 'linux' ? networks[statfsSync(folder).type >>> 0] : undefined
  return name === undefined ? undefined : `a network file system (${name})`
}
