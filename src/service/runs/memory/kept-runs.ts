import type { Logger } from '../../../core/logger.ts'
import type { Caller } from '../../http/auth.ts'
import { HttpProblem } from '../../http/problem.ts'
import { hasTags } from '../../tenants/tenant.ts'
import type { ServiceRun } from '../service-run.ts'
import { abortedWith, type Outcome } from '../stored-run.ts'
import { Shelf } from './shelf.ts'

/** What is kept of runs. Running ones are always kept, paused ones until somebody decides; of the others the oldest go first. */
export interface RunBounds {
  /** Most finished runs that are kept. */
  count: number
  /** How long, in milliseconds. */
  ageMs: number
  /** Most characters of their events and results together. Of paused runs in memory, only the events give way. */
  characters: number
  /** How long a run may be paused before it is given up, in milliseconds. */
  pausedMs: number
  /** Most paused runs of one caller: with so many it can't start another. */
  pausedOfCaller: number
  /** Most characters of all paused runs, and of those of one caller: a run for which there is no room can't wait, and ends. */
  pausedCharacters: number
  pausedCharactersOfCaller: number
  /** Most characters of the state of one paused run: a larger one can't go on without keeping everybody waiting, and ends. */
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

/** Throws an `HttpProblem` 429 for a caller whose paused runs are too many, or too large. */
export function checkRoom({ pausedOfCaller, pausedCharactersOfCaller }: RunBounds, own: { runs: number; characters: number }): void {
  if (own.characters >= pausedCharactersOfCaller)
    throw new HttpProblem(429, 'too_many_paused', 'The paused runs of this token take too much space: decide on some or cancel them')
  if (own.runs >= pausedOfCaller)
    throw new HttpProblem(
      429,
      'too_many_paused',
      `This token may have at most ${pausedOfCaller} paused runs: decide on some or cancel them`,
    )
}

/** Runs in memory that are not running. */
export class KeptRuns {
  bounds: RunBounds
  readonly #logger: Logger
  readonly #forgotten: (run: ServiceRun) => void
  readonly #paused = new Shelf()
  readonly #done = new Shelf()
  /** Characters of those that are about to be among the paused ones. */
  readonly #reserved = new Map<ServiceRun, number>()

  /** `forgotten` is called with each run that is not kept any more. */
  constructor(bounds: RunBounds, logger: Logger, forgotten: (run: ServiceRun) => void) {
    this.bounds = bounds
    this.#logger = logger
    this.#forgotten = forgotten
  }

  /** How many wait that have all of these tags. */
  paused(tags: readonly string[]): number {
    return tags.length === 0 ? this.#paused.size : [...this.#paused.runs()].filter(({ head }) => hasTags(head, tags)).length
  }

  get(id: string): ServiceRun | undefined {
    return this.#paused.get(id) ?? this.#done.get(id)
  }

  *runs(): Iterable<ServiceRun> {
    yield* this.#done.runs()
    yield* this.#paused.runs()
  }

  add(run: ServiceRun): void {
    this.#reserved.delete(run)
    if (run.status === 'paused') this.#paused.add(run)
    else this.#done.add(run)
  }

  /** It goes on: it is not kept here any more. */
  take(run: ServiceRun): void {
    this.#paused.delete(run)
  }

  /** Throws an `HttpProblem` 429. */
  checkRoom({ name }: Caller): void {
    const { pausedOfCaller } = this.bounds
    const few = this.#paused.size < pausedOfCaller
    const runs = few ? 0 : [...this.#paused.runs()].filter(({ head }) => head.caller.name === name).length
    checkRoom(this.bounds, { runs, characters: this.#paused.charactersOf(name) })
  }

  /** Takes room for a run that comes to `outcome`; false: there is none. */
  reserve(run: ServiceRun, { status, result, state = '' }: Outcome): boolean {
    if (status !== 'paused') return true
    const { pausedCharacters, pausedCharactersOfCaller, stateCharacters } = this.bounds
    if (state.length > stateCharacters) return false
    const { name } = run.head.caller
    const size = run.log.characters + result.length + state.length
    let [all, own] = [this.#paused.characters + size, this.#paused.charactersOf(name) + size]
    for (const [other, characters] of this.#reserved) {
      all += characters
      if (other.head.caller.name === name) own += characters
    }
    if (all > pausedCharacters || own > pausedCharactersOfCaller) return false
    this.#reserved.set(run, size)
    return true
  }

  giveUp(run: ServiceRun, reason: string): void {
    this.#paused.delete(run)
    run.settle(abortedWith(reason, run.outcome))
    this.#done.add(run)
  }

  forgetOld(): void {
    const { count, ageMs, characters, pausedMs } = this.bounds
    for (const run of this.#done.runs()) {
      if (this.#done.ageOf(run) < ageMs && this.#done.size <= count && this.#done.characters <= characters) break
      this.#done.delete(run)
      this.#forgotten(run)
    }
    for (const run of this.#paused.runs()) {
      if (this.#paused.ageOf(run) > pausedMs) this.giveUp(run, tooLate)
      else if (this.#paused.characters > characters) this.#paused.clearLog(run)
      else break
    }
  }

  close(): void {
    if (this.#paused.size > 0)
      this.#logger.warn({ paused: this.#paused.size }, 'paused runs are lost: `service.keepRuns.folder` names no folder to keep them in')
  }
}
