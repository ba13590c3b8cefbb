/** Shifts the clock of this process, and of its threads, by `CLOCK_OFF_BY_MS`. Loaded with `--require`. */
import { syncBuiltinESMExports } from 'node:module'
import threads, { type WorkerOptions } from 'node:worker_threads'

const offMs = Number(process.env.CLOCK_OFF_BY_MS ?? 0)
const RightDate = Date

class WrongDate extends RightDate {
  constructor(...given: []) {
    super(...(given.length === 0 ? ([WrongDate.now()] as never) : given))
  }

  static override now(): number {
    return RightDate.now() + offMs
  }
}

globalThis.Date = WrongDate as DateConstructor

// Threads are started without the options of the process.
threads.Worker = class extends threads.Worker {
  constructor(file: string | URL, options: WorkerOptions = {}) {
    super(file, { ...options, execArgv: process.execArgv })
  }
}
syncBuiltinESMExports()
