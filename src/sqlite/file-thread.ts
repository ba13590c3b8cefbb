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
}

/** How soon after something was deleted for good the log is emptied, in milliseconds: once for all that is deleted meanwhile. */
const erasedWithinMs = 200

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

  /** One transaction for all; each call in it happens as a whole or not at all. */
  const commit = ({ database, tables }: OpenedFile<Tables>, file: string, asked: readonly Asked[]): Answer[] =>
    inTransaction(database, () =>
      asked.map(({ id, call }): Answer => {
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
      }),
    )

  /** Where they have no room together, each has a transaction of its own: one that is too large is not to take the others with it. */
  const commitWhatFits = (opened: OpenedFile<Tables>, file: string, asked: readonly Asked[]): Answer[] => {
    try {
      return commit(opened, file, asked)
    } catch (error) {
      if (asked.length === 1 || isBusy(error)) throw error
      return asked.flatMap((one) => {
        try {
          return commit(opened, file, [one])
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

  const answerAll = (): void => {
    for (const [store, kept] of stores) {
      const { asked, options } = kept
      if (asked.length === 0) continue
      kept.asked = []
      const { file } = options.database
      try {
        // Tried again by each call: what was wrong may have been put right.
        kept.opened ??= openFile(contents, options.database, options.own as Options)
        send({ store, answers: commitWhatFits(kept.opened, file, asked) })
        if (asked.some(({ call }) => contents.erasing?.includes(call.name))) eraseSoon(kept, kept.opened)
      } catch (error) {
        send({ store, answers: asked.map(({ id }) => ({ id, ...failure(error, file) })) })
      }
    }
  }

  parentPort?.on('message', ({ store, open, calls, close }: ToThread) => {
    if (open !== undefined) stores.set(store, { options: open, asked: [] })
    const kept = stores.get(store)
    if (calls !== undefined && kept !== undefined) {
      // All messages that have arrived are read before this runs.
      setImmediate(answerAll)
      kept.asked.push(...calls)
    }
    if (close === true) {
      stores.delete(store)
      clearTimeout(kept?.erasing)
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
