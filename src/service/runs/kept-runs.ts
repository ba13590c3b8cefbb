import type { Logger } from '../../core/logger.ts'
import { Pauses } from '../../tools/yield-to-event-loop.ts'
import type { Caller } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import type { ServiceRun } from './service-run.ts'
import { endOf, Shelf } from './shelf.ts'
import { RunFiles } from './stored/run-files.ts'
import { abortedWith, type Outcome, type OutcomeSummary, type StoredHead, type StoredRun } from './stored/stored-run.ts'

/** What is kept of runs. Running ones are always kept, paused ones until somebody decides; of the others the oldest go first. */
export interface RunBounds {
  /** Most finished runs that are kept. */
  count: number
  /** How long, in milliseconds. */
  ageMs: number
  /** Most characters of their events and results together. Of paused runs, only the events give way. */
  characters: number
  /** How long a run may be paused before it is given up, in milliseconds. */
  pausedMs: number
  /** Most paused runs of one caller: with so many it can't start another. */
  pausedOfCaller: number
  /** Most characters of all paused runs, and of those of one caller: a run for which there is no room can't wait, and ends. */
  pausedCharacters: number
  pausedCharactersOfCaller: number
  /** Most events kept of one run, and of the feed of all. */
  eventsOfRun: number
  charactersOfRun: number
}

const tooLate = 'nobody has decided'

/** A paused run that is larger can't go on without keeping everybody waiting, and ends. */
const longestState = 8_000_000

/** Runs that are not running: on the disk, where there is a folder, with as much of them in memory as a list needs; else in memory. */
export class KeptRuns {
  bounds: RunBounds
  readonly #logger: Logger
  readonly #paused = new Shelf()
  readonly #done = new Shelf()
  /** Characters of those that are about to be among the paused ones. */
  readonly #reserved = new Map<ServiceRun, number>()
  /** Undefined: what is not in memory is gone. */
  #files: RunFiles | undefined
  /** Why runs were given up that still wait on the disk. */
  readonly #givenUp = new Map<ServiceRun, string>()
  /** Those of them that nobody has decided on in time, to be written down one after the other. */
  readonly #expired: ServiceRun[] = []
  #writing: Promise<void> | undefined
  #isClosed = false

  constructor(bounds: RunBounds, logger: Logger) {
    this.bounds = bounds
    this.#logger = logger
  }

  get paused(): number {
    return this.#paused.size
  }

  /** Keeps runs in a folder from now on; gives those that are in it. `option` is what named it. Rejects with `invalid_option`. */
  async *open(folder: string, option: string): AsyncIterable<StoredHead | StoredRun> {
    this.#files = await RunFiles.open(folder, option, this.#logger)
    yield* this.#files.load()
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

  /** Throws an `HttpProblem` 429 for a caller whose paused runs are too many, or too large. */
  checkRoom({ name }: Caller): void {
    const { pausedOfCaller, pausedCharactersOfCaller } = this.bounds
    if (this.#paused.charactersOf(name) >= pausedCharactersOfCaller)
      throw new HttpProblem(429, 'too_many_paused', 'The paused runs of this token take too much space: decide on some or cancel them')
    if (this.#paused.size < pausedOfCaller) return
    const paused = [...this.#paused.runs()].filter(({ head }) => head.caller.name === name)
    if (paused.length < pausedOfCaller) return
    throw new HttpProblem(
      429,
      'too_many_paused',
      `This token may have at most ${pausedOfCaller} paused runs: decide on some or cancel them`,
    )
  }

  /** Takes room for a run that comes to `outcome`; false: there is none. */
  reserve(run: ServiceRun, { status, result, state = '' }: Outcome): boolean {
    if (status !== 'paused') return true
    if (state.length > longestState) return false
    const { pausedCharacters, pausedCharactersOfCaller } = this.bounds
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

  /** Reads one from the disk, but for its state; it is in memory until the event loop's next turn. Rejects with an `HttpProblem` 503. */
  async load(run: ServiceRun): Promise<void> {
    if (run.isLoaded) return
    do {
      const { outcome } = run
      const stored = await this.#read(run, (files) => files.read(run.id))
      if (stored === undefined) break
      // What it came to while it was read is not in what was read.
      if (run.outcome === outcome) run.load(this.#asGivenUp(run, stored))
    } while (!run.isLoaded)
    if (!this.#givenUp.has(run)) this.unloadSoon(run)
  }

  #asGivenUp(run: ServiceRun, stored: StoredRun): StoredRun {
    const reason = this.#givenUp.get(run)
    return reason === undefined ? stored : { ...stored, outcome: abortedWith(reason, stored.outcome) }
  }

  /** What a paused run goes on from, as JSON; undefined: it does not wait. Rejects with an `HttpProblem` 503. */
  async stateOf(run: ServiceRun): Promise<string | undefined> {
    const { outcome } = run
    if (outcome?.status !== 'paused') return undefined
    return outcome.state ?? this.#read(run, (files) => files.readState(run.id))
  }

  /** The summary of one, whole, as JSON. Rejects with an `HttpProblem` 503. */
  async summaryOf(run: ServiceRun): Promise<string> {
    const summary = await this.#cutSummaryOf(run)
    await new Pauses().take()
    return run.isSummaryCut ? JSON.stringify(run.summary(summary)) : run.summaryJson
  }

  /** What it waits for. Rejects with an `HttpProblem` 503. */
  async pendingOf(run: ServiceRun): Promise<readonly unknown[]> {
    const summary = await this.#cutSummaryOf(run)
    const { pending } = (run.isSummaryCut ? summary : run.outcome?.summary) ?? { pending: [] }
    return pending
  }

  async #cutSummaryOf(run: ServiceRun): Promise<OutcomeSummary | undefined> {
    return run.isSummaryCut ? this.#read(run, (files) => files.readSummary(run.id)) : undefined
  }

  /** Undefined: it has changed in the meantime, and is in memory. */
  async #read<T>(run: ServiceRun, read: (files: RunFiles) => Promise<T>): Promise<T | undefined> {
    const { outcome } = run
    try {
      return this.#files === undefined ? undefined : await read(this.#files)
    } catch (cause) {
      if (run.isLoaded || run.outcome !== outcome || this.get(run.id) !== run) return undefined
      this.#logger.error({ runId: run.id, error: cause }, 'a stored run is not readable')
      throw new HttpProblem(503, 'not_readable', `Run ${run.id} can't be read from the disk`, { cause })
    }
  }

  /** One that is on the disk as it is. Whoever waits for it, or has just asked for it, has it first. */
  unloadSoon(run: ServiceRun): void {
    const { outcome } = run
    setImmediate(() => this.get(run.id) === run && run.outcome === outcome && run.unload())
  }

  async giveUp(run: ServiceRun, reason: string): Promise<void> {
    this.#end(run, reason)
    await this.#writeEnd(run)
  }

  /** It waits no longer, though on the disk it still does. */
  #end(run: ServiceRun, reason: string): void {
    this.#paused.delete(run)
    run.settle(abortedWith(reason, run.outcome))
    this.#givenUp.set(run, reason)
    this.#done.add(run)
  }

  async #writeEnd(run: ServiceRun): Promise<void> {
    // It may give way to later ones in the meantime, and is not on the disk any more then.
    const isKept = () => this.#done.get(run.id) === run
    try {
      // What it had come to is on the disk.
      const stored = run.isLoaded || !isKept() ? undefined : await this.#files?.read(run.id)
      if (stored !== undefined) run.load(this.#asGivenUp(run, stored))
    } catch (error) {
      this.#logger.error({ runId: run.id, error }, 'a stored run is not readable')
    }
    if (isKept()) this.#done.add(run)
    const isStored = isKept() && (await this.save(run, run.outcome))
    this.#givenUp.delete(run)
    if (isStored) this.unloadSoon(run)
  }

  /** One after the other: each is read and written as a whole, and there may be very many. */
  async #writeExpired(): Promise<void> {
    for (let run = this.#expired.shift(); run !== undefined && !this.#isClosed; run = this.#expired.shift()) {
      await this.#writeEnd(run)
      this.forgetOld()
    }
    this.#writing = undefined
  }

  /** Whether it is on the disk now. Never rejects: what can't be written is still in memory. */
  async save(run: ServiceRun, outcome?: Outcome): Promise<boolean> {
    try {
      await this.store(run, outcome)
      return this.#files !== undefined && isStorable(run)
    } catch (error) {
      this.#logger.error({ runId: run.id, error }, 'a run could not be stored: it is in memory only')
      return false
    }
  }

  async #remove(run: ServiceRun): Promise<void> {
    try {
      if (isStorable(run)) await this.#files?.remove(run.id)
    } catch (error) {
      this.#logger.error({ runId: run.id, error }, 'a stored run could not be removed')
    }
  }

  async store(run: ServiceRun, outcome?: Outcome): Promise<void> {
    if (isStorable(run)) await this.#files?.save(run.stored(outcome), run.toHead(outcome))
  }

  forgetOld(): void {
    const { count, ageMs, characters, pausedMs } = this.bounds
    for (const run of this.#done.runs()) {
      if (endOf(run) > Date.now() - ageMs && this.#done.size <= count && this.#done.characters <= characters) break
      this.#done.delete(run)
      void this.#remove(run)
    }
    for (const run of this.#paused.runs()) {
      if (endOf(run) < Date.now() - pausedMs) {
        this.#end(run, tooLate)
        this.#expired.push(run)
      } else if (this.#files === undefined && this.#paused.characters > characters) this.#paused.clearLog(run)
      else break
    }
    if (this.#expired.length > 0) this.#writing ??= this.#writeExpired()
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    // What still waits on the disk is given up at the next start.
    this.#isClosed = true
    await this.#writing
    if (this.#files !== undefined) await this.#files.close()
    else if (this.paused > 0)
      this.#logger.warn({ paused: this.paused }, 'paused runs are lost: `service.keepRuns.folder` names no folder to keep them in')
  }
}

/** A chat is over when its client is. */
function isStorable({ head }: ServiceRun): boolean {
  return head.kind === 'run'
}
