import { parentPort } from 'node:worker_threads'
import { type ErrorCode, ToolloopError } from '../core/errors.ts'
import { doAtOnce, isWork } from '../sql/statement.ts'
import { type DatabaseOptions, emptyLog, inTransaction } from './database.ts'
import { type Contents, type OpenedFile, openFile } from './opened-file.ts'
import { fileProblem, isBusy, tried } from './problems.ts'

export type Methods = object

export interface Call {
  name: string
  args: readonly unknown[]
}

export interface Asked {
  id: number
  call: Call
  /** While the file is locked, the call is retried until this time, on the thread's monotonic clock. */
  until?: number
}
export type Answer = { id: number } & ({ ok: true; value: unknown } | { ok: false; code: ErrorCode; message: string })

/** The options with which the thread opens a file. `own`: the options of `Contents.open`. */
export interface OpenOptions {
  database: DatabaseOptions
  own: unknown
}

export interface ToThread {
  store: number
  /** The options for opening the file. Sent with the first message of a store. */
  open?: OpenOptions
  calls?: readonly Asked[]
  close?: true
}

export interface FromThread {
  store: number
  answers: readonly Answer[]
  /** A warning for the log, for example about a clock that has jumped. */
  warning?: string
  closed?: true
  /** The reason why closing the file failed. */
  problem?: string
}

interface OpenStore<Tables> {
  options: OpenOptions
  opened?: OpenedFile<Tables>
  asked: Asked[]
  /** The timer that empties the log. */
  erasing?: NodeJS.Timeout
  /** `retrying`: the timer for the next attempt after the file was locked. `locked`: the number of such attempts in a row. */
  retrying?: NodeJS.Timeout | undefined
  locked: number
}

/** How soon the log is emptied after data was deleted, in milliseconds. */
const erasedWithinMs = 200

/** The number of reads that share one transaction and one answer to the store. */
const readsAtOnce = 8

/** The longest pause between two attempts on a locked file, in milliseconds. */
const longestRetryMs = 50

/**
 * Runs the thread that keeps the files open. A transaction blocks the thread until the disk has the data. All calls that arrive in this
 * time share the next transaction.
 */
export function serveFiles<Tables extends Methods, Options>(contents: Contents<Tables, Options>): void {
  const stores = new Map<number, OpenStore<Tables>>()
  // Node 22 prints a warning about `node:sqlite` once in every thread that loads it.
  process.removeAllListeners('warning')
  const send = (message: FromThread) => parentPort?.postMessage(message)

  const failure = (error: unknown, file: string): { ok: false; code: ErrorCode; message: string } => {
    const { code, message } = ToolloopError.isInstance(error) ? error : fileProblem(error, contents, file)
    return { ok: false, code, message }
  }

  const reading = new Set(contents.reading)
  const reads = ({ call }: Asked) => reading.has(call.name)

  /** Runs all calls in one transaction. Each call has its own savepoint: it takes effect as a whole or not at all. */
  const carryOut = (
    { database, clock, statements, tables }: OpenedFile<Tables>,
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
            // The cast is safe, because `SqliteFile` types a method's name and arguments together.
            const method = tables[call.name as keyof Tables] as (...args: unknown[]) => unknown
            const done = method.apply(tables, [...call.args])
            const value = isWork(done) ? doAtOnce(done, (statement) => statements.rowsOf(statement)) : done
            database.exec('RELEASE one')
            return { id, ok: true, value }
          } catch (error) {
            // If the disk is full, SQLite may have rolled back the whole transaction. In that case no call in it has taken effect.
            if (!tried(() => database.exec('ROLLBACK TO one; RELEASE one'))) throw error
            return { id, ...failure(error, file) }
          }
        })
        if (kind === 'writes') clock.note()
        return answers
      },
      kind,
    )

  /**
   * Runs the calls in one transaction. If that fails, runs each call in its own transaction, so that a call that is too large doesn't make
   * the others fail.
   */
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
      // Errors are ignored: the next call that erases data empties the log, too.
      tried(() => emptyLog(database))
    }, erasedWithinMs)
  }

  /** Registers the store as an owner of the file. If that fails, the file is closed, and the next call opens it again. */
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

  /** Answers calls to a store. Returns the calls to retry, if the file is locked. */
  const attempt = (store: number, kept: OpenStore<Tables>, asked: readonly Asked[], kind: 'reads' | 'writes'): readonly Asked[] => {
    const { file } = kept.options.database
    try {
      // A failed attempt is not kept: the next call tries to open the file again.
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

  /** Reads in small batches, because many large answers at once would not fit into the thread's memory. */
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
      // Waits until all messages that have arrived are read, so that their calls share a transaction.
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
        // The error is sent instead of thrown, because it must not end the thread, which has other stores.
        send({ store, answers: [], closed: true, problem: fileProblem(error, contents, kept?.options.database.file ?? '').message })
      }
    }
  })
}
