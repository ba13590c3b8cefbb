import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, readdirSync, rmSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Postgres } from '../postgres.ts'
import { DatabaseProxy } from './database-proxy.ts'
import type { Store } from './stores.ts'

/** Where the workers of a scenario store their runs, and how that can be broken. */
export interface Place extends AsyncDisposable {
  /** The store for a new worker, with its own path to the database. */
  store(): Promise<{ store: Store; proxy?: DatabaseProxy }>
  postgres?: Postgres
  /** Fills the disk. Returns a function that frees it. */
  fillDisk?(): () => void
  /** The names of what processes left behind when all have ended. */
  leftovers(): string[]
}

let schemas = 0

export function inPostgres(postgres: Postgres): Place {
  const schema = `faults_${++schemas}`
  const proxies: DatabaseProxy[] = []
  return {
    postgres,
    store: async () => {
      const proxy = await DatabaseProxy.open(postgres.url)
      proxies.push(proxy)
      return { store: { kind: 'dbos', url: proxy.url, schema }, proxy }
    },
    // Locks end with their connections.
    leftovers: () => [],
    [Symbol.asyncDispose]: async () => {
      for (const proxy of proxies) await proxy[Symbol.asyncDispose]()
    },
  }
}

/** `diskMB`: on a separate disk of this size. Needs root. */
export function inFolder(diskMB?: number): Place {
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-faults-'))
  if (diskMB !== undefined) execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMB}m`, 'tmpfs', folder], { stdio: 'pipe' })
  chmodSync(folder, 0o700)
  return {
    store: async () => ({ store: { kind: 'sqlite', folder } }),
    leftovers: () => ['runs', 'sessions'].flatMap((name) => readdirSync(join(folder, `${name}.sqlite-owners`))),
    ...(diskMB === undefined ? {} : { fillDisk: () => fill(join(folder, 'filler')) }),
    [Symbol.asyncDispose]: async () => {
      if (diskMB !== undefined) execFileSync('umount', ['--lazy', folder], { stdio: 'pipe' })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Whether a folder can be mounted on a small disk here. */
export function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  try {
    void inFolder(1)[Symbol.asyncDispose]()
    return true
  } catch {
    return false
  }
}

function fill(file: string): () => void {
  const filler = openSync(file, 'w')
  for (let size = 65_536; size >= 512; ) {
    try {
      writeSync(filler, Buffer.alloc(size, 1))
    } catch {
      size /= 2
    }
  }
  closeSync(filler)
  return () => unlinkSync(file)
}
