import { parentPort } from 'node:worker_threads'
import type { Store } from '../../agent/durable/store.ts'
import { type ErrorCode, ToolloopError } from '../../core/errors.ts'
import { inTransaction } from './database.ts'
import { type OpenedFile, type OpenOptions, openFile } from './opened-file.ts'
import { journalProblem, tried } from './problems.ts'
import type { RecordedRuns } from './recorded-runs.ts'

type CallName = Exclude<keyof Store, 'close' | 'onLost'>
/** A call of one of the store's methods, as the thread carries it out. */
export type Call = { [K in CallName]: { name: K; args: Parameters<RecordedRuns[K]> } }[CallName]

export interface Asked {
  id: number
  call: Call
}
type Answer = { id: number } & ({ ok: true; value: unknown } | { ok: false; code: ErrorCode; message: string })

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

interface OpenStore {
  options: OpenOptions
  opened?: OpenedFile
  asked: Asked[]
}

/**
 * The thread that has the files: SQLite blocks whoever writes until the disk has it. What has been asked for while one transaction was being
 * written goes into the next, so that many runs share one wait for the disk.
 */
const stores = new Map<number, OpenStore>()
// Node 22 warns of `node:sqlite` once in every thread that loads it.
process.removeAllListeners('warning')

const send = (message: FromThread) => parentPort?.postMessage(message)

function answerAll(): void {
  for (const [store, kept] of stores) {
    const { asked } = kept
    if (asked.length === 0) continue
    kept.asked = []
    try {
      // Tried again by each call: what was wrong may have been put right.
      kept.opened ??= openFile(kept.options)
      send({ store, answers: commit(kept.opened, kept.options.file, asked) })
    } catch (error) {
      send({ store, answers: asked.map(({ id }) => ({ id, ...failure(error, kept.options.file) })) })
    }
  }
}

/** One transaction for all; each call in it happens as a whole or not at all. */
function commit({ database, runs }: OpenedFile, file: string, asked: readonly Asked[]): Answer[] {
  return inTransaction(database, () =>
    asked.map(({ id, call }): Answer => {
      database.exec('SAVEPOINT one')
      try {
        // The types of a name and its arguments belong together, which the compiler can't follow.
        const value = (runs[call.name] as (...args: unknown[]) => unknown).apply(runs, call.args)
        database.exec('RELEASE one')
        return { id, ok: true, value }
      } catch (error) {
        // A full disk may have ended the whole transaction: then nothing in it has happened.
        if (!tried(() => database.exec('ROLLBACK TO one; RELEASE one'))) throw error
        return { id, ...failure(error, file) }
      }
    }),
  )
}

function failure(error: unknown, file: string): { ok: false; code: ErrorCode; message: string } {
  const { code, message } = ToolloopError.isInstance(error) ? error : journalProblem(error, file)
  return { ok: false, code, message }
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
    try {
      kept?.opened?.close()
      send({ store, answers: [], closed: true })
    } catch (error) {
      // The other stores live on.
      send({ store, answers: [], closed: true, problem: journalProblem(error, kept?.options.file ?? '').message })
    }
  }
})
