import { chmod, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { InvalidOptionError, messageOf } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import { freshName, replaceFile } from '../config/replace-file.ts'
import { FolderLock } from './folder-lock.ts'
import { readStoredRun, type StoredRun, storedParts } from './stored-run.ts'

const runFile = /^run_[0-9a-f-]{36}\.json$/

/** Runs in a folder, a file each, so that they outlive the process. What is done to one run is done in order. */
export class RunFiles {
  readonly #folder: string
  readonly #lock: FolderLock
  readonly #logger: Logger
  /** Of each run the last thing that is being done. */
  readonly #work = new Map<string, Promise<void>>()
  #isClosed = false

  /** Makes the folder if need be; `option` is what named it. Rejects with `invalid_option` when it can't be had. */
  static async open(folder: string, option: string, logger: Logger): Promise<RunFiles> {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      // One that was there already may have been open to others.
      await chmod(folder, 0o700)
      return new RunFiles(folder, await FolderLock.take(folder, option), logger)
    } catch (error) {
      if (error instanceof InvalidOptionError) throw error
      throw new InvalidOptionError(option, `a folder that can be written to (${messageOf(error)})`, folder)
    }
  }

  private constructor(folder: string, lock: FolderLock, logger: Logger) {
    this.#folder = folder
    this.#lock = lock
    this.#logger = logger
  }

  /** All there are, in no order, one after the other. What is not readable is left alone, and logged. */
  async *load(): AsyncIterable<StoredRun> {
    for (const name of await readdir(this.#folder)) {
      if (freshName.test(name)) await rm(join(this.#folder, name), { force: true })
      if (!runFile.test(name)) continue
      const file = join(this.#folder, name)
      const run = await readRun(file, name).catch((error: unknown) => {
        this.#logger.error({ file, error }, 'a stored run is not readable, and is left as it is')
      })
      if (run) yield run
    }
  }

  /** One of them, when what is being done to it is done. Rejects when it is not readable. */
  async read(id: string): Promise<StoredRun> {
    await this.#work.get(id)
    return readRun(this.#fileOf(id), `${id}.json`)
  }

  /** Resolves when it is on the disk. Rejects, as `remove` does, when the folder is another process's by now. */
  save(run: StoredRun): Promise<void> {
    return this.#inOrder(run.head.id, () => replaceFile(this.#fileOf(run.head.id), storedParts(run)))
  }

  remove(id: string): Promise<void> {
    return this.#inOrder(id, () => rm(this.#fileOf(id), { force: true }))
  }

  /** Resolves when everything is on the disk, and the folder free. What is to be written from now on is refused. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#work.values())
    await this.#lock.release()
  }

  #fileOf(id: string): string {
    return join(this.#folder, `${id}.json`)
  }

  #inOrder(id: string, work: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error(`The folder ${this.#folder} has been given back`))
    const done = (this.#work.get(id) ?? Promise.resolve()).then(() => this.#lock.check()).then(work)
    const settled = done
      .catch(() => {})
      .then(() => {
        if (this.#work.get(id) === settled) this.#work.delete(id)
      })
    this.#work.set(id, settled)
    return done
  }
}

async function readRun(file: string, name: string): Promise<StoredRun> {
  const run = readStoredRun(await readFile(file, 'utf8'))
  if (run === undefined || `${run.head.id}.json` !== name) throw new Error('It is not what a run is written as')
  return run
}
