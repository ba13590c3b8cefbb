import { chmod, mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { InvalidOptionError, messageOf } from '../../../core/errors.ts'
import { freshName, replaceFile } from '../../../core/files/replace-file.ts'
import type { Logger } from '../../../core/logger.ts'
import { FolderLock } from './folder-lock.ts'
import { RunReader, readEarlierRun, writtenRun } from './run-format.ts'
import type { OutcomeSummary, StoredHead, StoredRun } from './stored-run.ts'

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

  /**
   * All there are, in no order, one after the other: their heads; whole those that were going on, and those that the version before has
   * written. What is not readable is left alone, and logged.
   */
  async *load(): AsyncIterable<StoredHead | StoredRun> {
    for (const name of await readdir(this.#folder)) {
      if (freshName.test(name)) await rm(join(this.#folder, name), { force: true })
      if (!runFile.test(name)) continue
      const file = join(this.#folder, name)
      const run = await readFirst(file, name).catch((error: unknown) => {
        this.#logger.error({ file, error }, 'a stored run is not readable, and is left as it is')
      })
      if (run) yield run
    }
  }

  /** One of them without its state, when what is being done to it is done. Rejects, as the next two do, when it is not readable. */
  read(id: string): Promise<StoredRun> {
    return this.#readWhenDone(id, (reader) => reader.run())
  }

  readSummary(id: string): Promise<OutcomeSummary> {
    return this.#readWhenDone(id, (reader) => reader.summary())
  }

  /** What a paused run goes on from, as JSON. */
  readState(id: string): Promise<string> {
    return this.#readWhenDone(id, (reader) => reader.state())
  }

  async #readWhenDone<T>(id: string, read: (reader: RunReader) => Promise<T>): Promise<T> {
    await this.#work.get(id)
    return readFrom(this.#fileOf(id), read)
  }

  /**
   * Resolves when it is on the disk. A paused run that comes without its state has the one that is there. Rejects, as `remove` does, when the
   * folder is another process's by now.
   */
  save(run: StoredRun, head: StoredHead): Promise<void> {
    const file = this.#fileOf(run.head.id)
    return this.#inOrder(run.head.id, async () => {
      const { outcome } = run
      const lacksState = outcome?.status === 'paused' && outcome.state === undefined
      const whole = lacksState ? { ...run, outcome: { ...outcome, state: await readFrom(file, (reader) => reader.state()) } } : run
      await replaceFile(file, writtenRun(whole, head))
    })
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
    if (this.#isClosed) return Promise.reject(new Error(`The folder ${this.#folder} was released`))
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

async function readFrom<T>(path: string, read: (reader: RunReader) => Promise<T>): Promise<T> {
  const file = await open(path)
  try {
    return await read(await RunReader.open(file))
  } finally {
    await file.close()
  }
}

async function readFirst(path: string, name: string): Promise<StoredHead | StoredRun> {
  const read = async (reader: RunReader) => (reader.head().outcome === undefined ? reader.run() : reader.head())
  const found = await readFrom(path, read).catch(async (error: unknown) => {
    const earlier = readEarlierRun(await readFile(path, 'utf8'))
    if (earlier === undefined) throw error
    return earlier
  })
  if (`${found.head.id}.json` !== name) throw new Error('The file holds another run than its name says')
  return found
}
