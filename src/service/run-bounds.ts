import type { WaitingRoom } from '../agent/journal/shown-runs.ts'
import { HttpProblem } from './http/problem.ts'

/**
 * Limits on stored runs. Running runs are always kept, and waiting ones until they are decided. Of the others, the oldest are deleted
 * first.
 */
export interface RunBounds {
  /** The largest number of finished runs. */
  count: number
  /** The maximum age of these runs, in milliseconds. */
  ageMs: number
  /** The total size of their events and results, in characters. */
  characters: number
  /** How long a run may wait before it is given up, in milliseconds. */
  waitingMs: number
  /** The largest number of waiting runs of one caller, who then can't start another. */
  waitingOfCaller: number
  /** The total size of all waiting runs, and of those of one caller, in characters. A run that doesn't fit can't wait, and ends. */
  waitingCharacters: number
  waitingCharactersOfCaller: number
  /** The largest state of one waiting run, in characters. A larger one ends, because resuming it would block the process. */
  stateCharacters: number
  /** The largest number of stored events of one run, and of the feed of all runs. */
  eventsOfRun: number
  charactersOfRun: number
  /** The total size of all recordings, in characters; 0 disables them. */
  recordingCharacters: number
  /** Whether runs without a journal are recorded too, in memory. */
  recordsInMemory: boolean
}

export const tooLate = 'nobody has decided'
export const noRoom = 'there is no room to store this run until somebody decides'

/** Throws an `HttpProblem` 429 if the caller has too many waiting runs, or if they are too large together. */
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
 * Where runs are stored: in memory, if there is no journal; or with their journal, in a file of a folder, or in a PostgreSQL database that
 * services on several machines share.
 */
export type RunPlace =
  | { kind: 'memory' }
  | { kind: 'sqlite'; folder: string }
  | { kind: 'dbos'; url: string; schema?: string; connections?: number }
