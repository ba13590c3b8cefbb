import { parentPort } from 'node:worker_threads'
import { type ErrorCode, ToolloopError } from '../core/errors.ts'
import { type DatabaseOptions, emptyLog, inTransaction } from './database.ts'
import { type Contents, type OpenedFile, openFile } from './opened-file.ts'
import { fileProblem, isBusy, tried } from './problems.ts'

/** What can be asked of a file: functions by their names. */
export type Methods = object

/** A call of one of them. */
export interface Call {
  name: string
  args: readonly unknown[]
}

export interface Asked {
  id: number
  call: Call
  /** Until when it is tried again if the file is locked, by the thread's clock. */
  until?: number
}
export type Answer = { id: number } & ({ ok: true; value: unknown } | { ok: false; code: ErrorCode; message: string })

/** How the thread opens a file: as a database, and with what its contents want to know. */
export interface OpenOptions {
  database: DatabaseOptions
  own: unknown
}

/** What one store asks of the thread. */
export interface ToThread {
  store: number
  /** In the first message. */
  open?: OpenOptions
  calls?: readonly Asked[]
  close?: true
}

export interface FromThread {
  store: number
  answers: readonly Answer[]
  /** What whoever keeps the file should know. */
  warning?: string
  closed?: true
  /** Why closing it failed. */
  problem?: string
}

interface OpenStore<Tables> {
  options: OpenOptions
  opened?: OpenedFile<Tables>
  asked: Asked[]
  /** Until its log is emptied. */
  erasing?: NodeJS.Timeout
  /** Until what found the file locked is tried again; how often in a row it has. */
  retrying?: NodeJS.Timeout | undefined
  locked: number
}

/** How soon after something was deleted for good the log is emptied, in milliseconds: once for all that is deleted meanwhile. */
const erasedWithinMs = 200

/** How many reads share a transaction and a message. */
const readsAtOnce = 8

/** The longest that a call waits until it finds out that a file is no longer locked, in milliseconds. */
const longestRetryMs = 50

/**
 * The thread that has the files: SQLite blocks whoever writes until the disk has it. What has been asked for while one transaction was being
 * written goes into the next, so that many share one wait for the disk. To be called once, by the thread's program.
 */
export function serveFiles<Tables extends Methods, Options>(contents: Contents<Tables, Options>): void {
  const stores = new Map<number, OpenStore<Tables>>()
  // Node 22 warns of `node:sqlite` once in every thread that loads it.
  process.removeAllListeners('warning')
  const send = (message: FromThread) => parentPort?.postMessage(message)

  const failure = (error: unknown, file: string): { ok: false; code: ErrorCode; message: string } => {
    const { code, message } = ToolloopError.isInstance(error) ? error : fileProblem(error, contents, file)
    return { ok: false, code, message }
  }

  const reading = new Set(contents.reading)
  const reads = ({ call }: Asked) => reading.has(call.name)

  /** One transaction for all; each call in it happens as a whole or not at all. */
  const carryOut = (
    { database, clock, tables }: OpenedFile<Tables>,
    file: string,
    asked: readonly Asked[],
    kind: 'reads' | 'writes',
  ): Answer[] =>
    inTransaction(
      database,
      () => {
        const answers = asked.map(({ id, call }): Answer => {
          database.exec('SAVEPOINT one')
          try {
            // A name and its arguments belong together, as `SqliteFile` says.
            const method = tables[call.name as keyof Tables] as (...args: unknown[]) => unknown
            const value = method.apply(tables, [...call.args])
            database.exec('RELEASE one')
            return { id, ok: true, value }
          } catch (error) {
            // A full disk may have ended the whole transaction: then nothing in it has happened.
            if (!tried(() => database.exec('ROLLBACK TO one; RELEASE one'))) throw error
            return { id, ...failure(error, file) }
          }
        })
        if (kind === 'writes') clock.note()
        return answers
      },
      kind,
    )

  /** Where they have no room together, each has a transaction of its own: one that is too large is not to take the others with it. */
  const commit = (opened: OpenedFile<Tables>, file: string, asked: readonly Asked[]): Answer[] => {
    try {
      return carryOut(opened, file, asked, 'writes')
    } catch (error) {
      if (asked.length === 1 || isBusy(error)) throw error
      return asked.flatMap((one) => {
        try {
          return carryOut(opened, file, [one], 'writes')
        } catch (problem) {
          return { id: one.id, ...failure(problem, file) }
        }
      })
    }
  }

  const eraseSoon = (kept: OpenStore<Tables>, { database }: OpenedFile<Tables>): void => {
    kept.erasing ??= setTimeout(() => {
      delete kept.erasing
      // What fails now is done with the next of these calls.
      tried(() => emptyLog(database))
    }, erasedWithinMs)
  }

  /** One that can't be written is opened again by the next call. */
  const enter = (kept: OpenStore<Tables>, opened: OpenedFile<Tables>): void => {
    try {
      opened.enter()
    } catch (error) {
      if (!isBusy(error)) {
        delete kept.opened
        tried(() => opened.close())
      }
      throw error
    }
  }

  /** Answers them, but for those that it returns: they found the file locked. */
  const attempt = (store: number, kept: OpenStore<Tables>, asked: readonly Asked[], kind: 'reads' | 'writes'): readonly Asked[] => {
    const { file } = kept.options.database
    try {
      // Tried again by each call: what was wrong may have been put right.
      kept.opened ??= openFile(contents, kept.options.database, {
        own: kept.options.own as Options,
        warn: (warning) => send({ store, answers: [], warning }),
      })
      if (kind === 'writes') enter(kept, kept.opened)
      send({ store, answers: kind === 'reads' ? carryOut(kept.opened, file, asked, kind) : commit(kept.opened, file, asked) })
      return []
    } catch (error) {
      const now = performance.now()
      const waits = ({ until = 0 }: Asked) => isBusy(error) && until > now
      const answers = asked.filter((one) => !waits(one)).map(({ id }): Answer => ({ id, ...failure(error, file) }))
      if (answers.length > 0) send({ store, answers })
      return asked.filter(waits)
    }
  }

  /** A few at a time: very many large answers at once would not fit into the thread's memory. */
  const readAll = (store: number, kept: OpenStore<Tables>, asked: readonly Asked[]): Asked[] => {
    const waiting: Asked[] = []
    for (let at = 0; at < asked.length; at += readsAtOnce) {
      waiting.push(...attempt(store, kept, asked.slice(at, at + readsAtOnce), 'reads'))
    }
    return waiting
  }

  const answer = (store: number, kept: OpenStore<Tables>): void => {
    const { asked } = kept
    kept.asked = []
    clearTimeout(kept.retrying)
    const kind = asked.every(reads) ? 'reads' : 'writes'
    let waiting = kind === 'reads' ? readAll(store, kept, asked) : attempt(store, kept, asked, kind)
    if (kind === 'writes' && waiting.some(reads)) {
      waiting = [...waiting.filter((one) => !reads(one)), ...readAll(store, kept, waiting.filter(reads))]
    }
    kept.asked.push(...waiting)
    kept.locked = waiting.length > 0 ? kept.locked + 1 : 0
    kept.retrying = waiting.length > 0 ? setTimeout(() => answer(store, kept), Math.min(2 ** kept.locked, longestRetryMs)) : undefined
    const hasErased = asked.some((one) => contents.erasing?.includes(one.call.name) && !waiting.includes(one))
    if (hasErased && kept.opened !== undefined) eraseSoon(kept, kept.opened)
  }

  const answerAll = (): void => {
    for (const [store, kept] of stores) if (kept.asked.length > 0) answer(store, kept)
  }

  parentPort?.on('message', ({ store, open, calls, close }: ToThread) => {
    if (open !== undefined) stores.set(store, { options: open, asked: [], locked: 0 })
    const kept = stores.get(store)
    if (calls !== undefined && kept !== undefined) {
      // All messages that have arrived are read before this runs.
      setImmediate(answerAll)
      const until = performance.now() + kept.options.database.busyTimeoutMs
      for (const { id, call } of calls) kept.asked.push({ id, call, until })
    }
    if (close === true) {
      stores.delete(store)
      clearTimeout(kept?.erasing)
      clearTimeout(kept?.retrying)
      try {
        kept?.opened?.close()
        send({ store, answers: [], closed: true })
      } catch (error) {
        // The other stores live on.
        send({ store, answers: [], closed: true, problem: fileProblem(error, contents, kept?.options.database.file ?? '').message })
      }
    }
  })
}
