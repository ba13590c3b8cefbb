import type { DatabaseSync } from 'node:sqlite'
import { type NotedTime, SteadyClock } from '../core/time/steady-clock.ts'

/** The current time is stored with the first write after this interval, in milliseconds. */
const noteEveryMs = 60_000

/** The table in which a `FileClock` stores the time. */
export const clockTable = 'CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), now INTEGER NOT NULL, doubted_since INTEGER) STRICT;'

/**
 * The clock that decides what has expired in a file. It starts from the time stored in the file, so that it can detect a jump of the
 * machine's clock.
 */
export class FileClock {
  readonly #database: DatabaseSync
  readonly #clock: SteadyClock
  #notedAt = Number.NEGATIVE_INFINITY
  #doubtedSince: number | null = null

  constructor(database: DatabaseSync, jumped: (message: string) => void) {
    this.#database = database
    const row = database.prepare('SELECT now, doubted_since FROM clock').get()
    const doubted = row?.doubted_since
    const noted: NotedTime | undefined = row && { now: Number(row.now), doubtedSince: typeof doubted === 'number' ? doubted : null }
    this.#clock = new SteadyClock(jumped, noted)
  }

  now(): number {
    return this.#clock.now()
  }

  /** Stores the current time, unless it was stored recently. Called at the end of every transaction that writes. */
  note(): void {
    const { now, doubtedSince } = this.#clock.noted()
    const steady = performance.now()
    if (steady - this.#notedAt < noteEveryMs && doubtedSince === this.#doubtedSince) return
    const noted =
      'INSERT INTO clock VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET now = excluded.now, doubted_since = excluded.doubted_since'
    this.#database.prepare(noted).run(now, doubtedSince)
    this.#notedAt = steady
    this.#doubtedSince = doubtedSince
  }
}
