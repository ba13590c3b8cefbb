import type { WaitingRoom } from '../agent/journal/shown-runs.ts'
import { HttpProblem } from './http/problem.ts'

/**
 * Limits on stored runs. Runs that are still running are always kept. Waiting runs are kept until a decision is made, for at most
 * `waitingMs`. Finished runs are deleted, oldest first, when a limit is exceeded.
 */
export interface RunBounds {
  /** The largest number of finished runs. */
  count: number
  /** The maximum age of a finished run, in milliseconds. */
  ageMs: number
  /** Maximum total size of the events and results of finished runs, in characters. */
  characters: number
  /** How long a run may wait before it is given up, in milliseconds. */
  waitingMs: number
  /** Maximum number of waiting runs per caller. A caller who has reached the limit can't start another run. */
  waitingOfCaller: number
  /**
   * Maximum total size of all waiting runs, in characters; `waitingCharactersOfCaller` is the limit per caller. A run that would exceed a
   * limit ends instead of waiting.
   */
  waitingCharacters: number
  waitingCharactersOfCaller: number
  /**
   * Maximum size of the state of one waiting run, in characters. A run with a larger state ends instead of waiting, because resuming it
   * would block the process.
   */
  stateCharacters: number
  /** Maximum number of stored events of one run. Also the limit for the feed of all runs. */
  eventsOfRun: number
  charactersOfRun: number
  /** Maximum total size of all recordings, in characters. 0 disables recording. */
  recordingCharacters: number
  /** Whether runs without a journal are recorded too, in memory. */
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

/** Returns the room for waiting runs. */
export function roomOf({
  stateCharacters: ofState,
  waitingCharactersOfCaller: ofCaller,
  waitingCharacters: ofAll,
}: RunBounds): WaitingRoom {
  return { ofState, ofCaller, ofAll }
}

/**
 * Where runs are stored. `memory`: in memory, without a journal. `sqlite`: together with their journal, in a file in `folder`. `dbos`:
 * together with their journal, in a PostgreSQL database that services on several machines can share.
 */
export type RunPlace =
  | { kind: 'memory' }
  | { kind: 'sqlite'; folder: string }
  | { kind: 'dbos'; url: string; schema?: string; connections?: number }
