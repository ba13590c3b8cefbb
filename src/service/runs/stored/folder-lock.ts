import { randomUUID } from 'node:crypto'
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { InvalidOptionError } from '../../../core/errors.ts'
import { replaceFile } from '../../../core/files/replace-file.ts'
import { isJsonObject, type JsonObject } from '../../../core/messages.ts'

/** How often the holder of a lock shows that it is there, and how long it may be silent. */
const touchMs = 10_000
const silentMs = 30_000

/**
 * Holds a folder for this process alone, by a file in it. A lock that was left behind by a process that ended without a word is taken over:
 * at once where it was one of this machine, else when it has been silent for 30 seconds.
 */
export class FolderLock {
  readonly #file: string
  readonly #id: string
  readonly #timer: NodeJS.Timeout

  /** Rejects with `invalid_option` when another process has the folder; `option` is what named it. */
  static async take(folder: string, option: string): Promise<FolderLock> {
    const file = join(folder, 'lock')
    const claim = join(folder, 'lock.claim')
    const id = randomUUID()
    const used = (got: string) => new InvalidOptionError(option, 'a folder that no other process uses', got)
    // Of any number that find no lock, or the same old one, only the one with the claim looks again and writes.
    if (!(await takeClaim(claim))) throw used(`${folder}, which another process is about to use`)
    try {
      const holder = await readLock(file)
      if (holder !== undefined && (await isHeld(file, holder))) throw used(`${folder}, used by process ${holder.pid} of ${holder.host}`)
      await replaceFile(file, JSON.stringify({ id, host: hostname(), pid: process.pid }))
    } finally {
      await rm(claim, { force: true })
    }
    return new FolderLock(file, id)
  }

  private constructor(file: string, id: string) {
    this.#file = file
    this.#id = id
    this.#timer = setInterval(() => void this.#touch(), touchMs).unref()
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    if ((await readLock(this.#file))?.id === this.#id) await rm(this.#file, { force: true })
  }

  /** Rejects when another process has taken the folder over: one that was suspended for long wakes up to that. */
  async check(): Promise<void> {
    const holder = await readLock(this.#file)
    if (holder !== undefined && holder.id !== this.#id)
      throw new Error(`Process ${holder.pid} on ${holder.host} has taken over ${this.#file}`)
  }

  /** One that could not be touched looks older than it is, which the next touch mends. Another process's is left alone. */
  async #touch(): Promise<void> {
    const now = new Date()
    await this.check()
      .then(() => utimes(this.#file, now, now))
      .catch(() => {})
  }
}

/** False: another process has the claim. One that has been there for 30 seconds was left behind in a crash. */
async function takeClaim(file: string): Promise<boolean> {
  const touched = await touchedAt(file)
  if (touched !== 0 && Date.now() - touched >= silentMs) await rm(file, { force: true })
  try {
    await writeFile(file, '', { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** Undefined: there is no lock any more, or its process did not come to write it. */
async function readLock(file: string): Promise<JsonObject | undefined> {
  try {
    const holder: unknown = JSON.parse(await readFile(file, 'utf8'))
    return isJsonObject(holder) ? holder : undefined
  } catch {
    return undefined
  }
}

async function isHeld(file: string, { host, pid }: JsonObject): Promise<boolean> {
  const touched = await touchedAt(file)
  if (Date.now() - touched >= silentMs) return false
  if (host !== hostname()) return true
  // In a container every process has the same number: one from before this process is not this one.
  if (pid === process.pid) return touched >= performance.timeOrigin
  return typeof pid === 'number' && isAlive(pid)
}

/** Milliseconds since 1970; 0: there is no such file. */
function touchedAt(file: string): Promise<number> {
  return stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  )
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
