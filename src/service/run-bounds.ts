import type { WaitingRoom } from '../agent/journal/shown-runs.ts'
import { HttpProblem } from './http/problem.ts'

/**
 * Limits on stored runs. Running runs are always kept. Waiting runs are kept until a decision is made, for at most `waitingMs`. Finished
 * runs are deleted, oldest first, when a limit is exceeded.
 */
export interface RunBounds {
  /** Maximum number of finished runs. */
  count: number
  /** Maximum age of a finished run, in milliseconds. */
  ageMs: number
  /** Maximum total size of the events and results of finished runs, in characters. */
  characters: number
  /** How long a run may wait before it is ended, in milliseconds. */
  waitingMs: number
  /** Maximum number of waiting runs of one caller. A caller who has reached the limit can't start another run. */
  waitingOfCaller: number
  /**
   * Maximum total size of all waiting runs, in characters. `waitingCharactersOfCaller` is the limit for one caller. A run that would exceed
   * a limit ends instead of waiting.
   */
  waitingCharacters: number
  waitingCharactersOfCaller: number
  /**
   * Maximum size of the state of a waiting run, in characters. A run with a larger state ends instead of waiting, because resuming the run
   * would block the process.
   */
  stateCharacters: number
  /** Maximum number of stored events of one run. The same limit applies to the feed of all runs. */
  eventsOfRun: number
  charactersOfRun: number
  /** Maximum total size of all recordings, in characters. 0 turns recording off. */
  recordingCharacters: number
  /** Whether runs without a journal are also recorded. Their recordings are in memory. */
  recordsInMemory: boolean
}

export const tooLate = 'nobody has decided'
export const noRoom = 'there is no room to store this run until somebody decides'

/** Throws an `HttpProblem` 429 if the caller has too many waiting runs, or if their total size is too large. */
export function checkRoom({ waitingOfCaller, waitingCharactersOfCaller }: RunBounds, own: { runs: number; characters: number }): void {
  if (own.characters >= waitingCharactersOfCaller)
    throw new HttpProblem(429, 'too_many_waiting', 'The waiting runs of this token take too much space: decide on some or cancel them')
  if (own.runs >= waitingOfCaller)
    throw new HttpProblem(
      429,
      'too_many_waiting',
      `This token may have at most ${waitingOfCaller} waiting runs: decide on some or cancel them`,
    )
}

export function roomOf({
  stateCharacters: ofState,
  waitingCharactersOfCaller: ofCaller,
  waitingCharacters: ofAll,
}: RunBounds): WaitingRoom {
  return { ofState, ofCaller, ofAll }
}

/**
 * The place in which runs are stored. `memory`: in memory, without a journal. `sqlite`: in a file in `folder`, together with their journal.
 * `dbos`: in a PostgreSQL database, together with their journal; services on several machines can share the database.
 */
export type RunPlace =
  | { kind: 'memory' }
  | { kind: 'sqlite'; folder: string }
  | { kind: 'dbos'; url: string; schema?: string; connections?: number }
