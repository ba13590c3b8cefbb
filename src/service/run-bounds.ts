import type { WaitingRoom } from '../agent/journal/shown-runs.ts'
import { HttpProblem } from './http/problem.ts'

/** What is kept of runs. Running ones are always kept, waiting ones until somebody decides; of the others the oldest go first. */
export interface RunBounds {
  /** Most finished runs that are kept. */
  count: number
  /** How long, in milliseconds. */
  ageMs: number
  /** Most characters of their events and results together. */
  characters: number
  /** How long a run may wait before it is given up, in milliseconds. */
  waitingMs: number
  /** Most waiting runs of one caller: with so many it can't start another. */
  waitingOfCaller: number
  /** Most characters of all waiting runs, and of those of one caller: a run for which there is no room can't wait, and ends. */
  waitingCharacters: number
  waitingCharactersOfCaller: number
  /** Most characters of the state of one waiting run: a larger one can't go on without keeping everybody waiting, and ends. */
  stateCharacters: number
  /** Most events kept of one run, and of the feed of all. */
  eventsOfRun: number
  charactersOfRun: number
  /** Most characters of all recordings; 0: there are none. */
  recordingCharacters: number
  /** Whether runs that are in no journal are recorded too, in memory. */
  recordsInMemory: boolean
}

export const tooLate = 'nobody has decided'
export const noRoom = 'there is no room to keep this run until somebody decides'

/** Throws an `HttpProblem` 429 for a caller whose waiting runs are too many, or too large. */
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

/** How much may wait. */
export function roomOf({
  stateCharacters: ofState,
  waitingCharactersOfCaller: ofCaller,
  waitingCharacters: ofAll,
}: RunBounds): WaitingRoom {
  return { ofState, ofCaller, ofAll }
}

/**
 * Where runs are kept: in memory, where none has a journal; or with their journal, in a file of a folder, or in a PostgreSQL that the services of
 * several machines share.
 */
export type RunPlace =
  | { kind: 'memory' }
  | { kind: 'sqlite'; folder: string }
  | { kind: 'dbos'; url: string; schema?: string; connections?: number }
