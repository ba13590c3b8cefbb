import { setTimeout as pause } from 'node:timers/promises'
import { OrderFailed, Worker } from './crew.ts'
import type { DatabaseProxy } from './database-proxy.ts'
import { type FaultName, faults } from './faults.ts'
import { type Evidence, violationsIn } from './invariants.ts'
import { Ledger } from './ledger.ts'
import type { Place } from './place.ts'
import { type Random, randomOf } from './random.ts'
import type { Done, RunSpec } from './worker.ts'

export interface Scenario {
  seed: number
  /** In this order. */
  faults: readonly FaultName[]
}

export interface Report {
  violations: string[]
  /** The workers' log. */
  log: string[]
  done: { faults: number; runs: number; entries: number }
}

/** Concurrent customers. */
const customers = 6
/** How long everything may take to end after the last fault, in milliseconds. */
const endsWithinMs = 60_000
/** How long a worker may take to end after it was told to, in addition to draining, in milliseconds. */
const closesWithinMs = 15_000
const retryMs = 50
/** Errors after which a customer asks another worker again. */
const passing = new Set([
  'gone',
  'journal_failed',
  'run_taken_over',
  'runner_closed',
  'session_busy',
  'session_failed',
  'session_waiting',
  'aborted',
])

/** The stage of a scenario: workers, customers who have runs executed by them, and what is known from outside. */
export class Stage {
  readonly random: Random
  readonly place: Place
  readonly ledger: Ledger
  readonly log: string[] = []
  readonly evidence: Evidence
  #workers: { worker: Worker; proxy?: DatabaseProxy }[] = []
  /** Items whose decision a worker has confirmed. */
  readonly #confirmed = new Set<string>()
  readonly #ending: Promise<unknown>[] = []
  #isOver = false

  constructor(random: Random, place: Place, ledger: Ledger) {
    this.random = random
    this.place = place
    this.ledger = ledger
    this.evidence = {
      specs: [],
      entries: ledger.entries,
      asked: new Map(),
      verdictOf,
      ends: new Map(),
      last: new Map(),
      sessions: new Map(),
      seen: [],
    }
  }

  async addWorker({ clockMs = 0 }: { clockMs?: number } = {}): Promise<Worker> {
    const { store, proxy } = await this.place.store()
    const drainMs = this.random.pick([0, 100, 5_000])
    const log = (line: string) => void this.log.push(line)
    const worker = await Worker.start({ store, ledgerUrl: this.ledger.url, drainMs }, { clockMs, log })
    this.#workers.push(proxy === undefined ? { worker } : { worker, proxy })
    void worker.ended.then(({ code, signal }) => {
      this.#workers = this.#workers.filter((one) => one.worker !== worker)
      if (signal !== 'SIGKILL' && code !== 0) this.evidence.seen.push(`worker ${worker.pid} ended with ${signal ?? code}`)
    })
    return worker
  }

  /** The worker that has just reported to the ledger, if it can be broken. */
  workerOf(pid: number): { worker: Worker; proxy?: DatabaseProxy } | undefined {
    return this.#workers.find(({ worker }) => worker.pid === pid && !worker.isLeaving)
  }

  /** Ends a worker as a deploy does. It must end by itself. */
  deploy(worker: Worker): Promise<void> {
    worker.isLeaving = true
    worker.signal('SIGTERM')
    const ending = Promise.race([worker.ended, pause(closesWithinMs + 5_000, 'late' as const, { ref: false })]).then(async (end) => {
      if (end !== 'late') return
      this.evidence.seen.push(`worker ${worker.pid} did not end by itself after SIGTERM`)
      await worker.kill()
    })
    this.#ending.push(ending)
    return ending
  }

  /** Has runs executed, one after another for each customer, until `isOver`. Resolves when they have ended. */
  async serveUntil(isOver: () => boolean): Promise<void> {
    const { specs } = this.evidence
    const serve = async () => {
      while (!isOver()) {
        const spec = specOf(specs.length, this.random)
        specs.push(spec)
        await this.#serve(spec)
      }
    }
    await Promise.all(Array.from({ length: customers }, serve))
  }

  /** Every worker resumes what it finds. Runs that are waited for have not ended yet. */
  recoverAll(): void {
    for (const { worker } of this.#workers)
      if (!worker.isLeaving) worker.ask({ do: 'recover' }).catch((error) => this.#noteFailure('recover', error))
  }

  /** The customers give up. The log then has what is still in progress. */
  async giveUp(): Promise<void> {
    this.#isOver = true
    for (const { worker } of this.#workers) {
      if (worker.isLeaving) continue
      const { messages = [] } = await worker.ask({ do: 'active' })
      this.log.push(`worker ${worker.pid} goes on with ${messages.join(', ')}`)
    }
  }

  /** Collects the final state as a living worker sees it. Then all workers end. */
  async close(): Promise<void> {
    const { specs, last, sessions } = this.evidence
    const worker = await this.#anyWorker()
    for (const { runId } of specs) last.set(runId, await this.#look(worker, runId))
    for (const session of new Set(specs.map((spec) => spec.session)))
      sessions.set(session, (await worker.ask({ do: 'read', session })).messages ?? [])
    for (const { worker: one } of this.#workers) if (!one.isLeaving) void this.deploy(one)
    await Promise.all(this.#ending)
    for (const name of this.place.leftovers()) this.evidence.seen.push(`${name} is left of an owner`)
  }

  async kill(): Promise<void> {
    await Promise.all(this.#workers.map(({ worker }) => worker.kill()))
  }

  async #anyWorker(): Promise<Worker> {
    for (;;) {
      const there = this.#workers.filter(({ worker }) => !worker.isLeaving)
      if (there.length > 0) return this.random.pick(there).worker
      await pause(retryMs)
    }
  }

  /** A customer who asks for the run until it has ended. A customer who has left asks once; after that, the run is only observed. */
  async #serve(spec: RunSpec): Promise<void> {
    const { runId } = spec
    const hasLeft = this.random.chance(0.4)
    const asksTwice = !hasLeft && this.random.chance(0.3)
    for (let isKnown = false; !this.#isOver; await pause(retryMs)) {
      const before = new Set(this.#confirmed)
      try {
        const asked: Done[] = []
        if (hasLeft && isKnown) asked.push(await this.#look(await this.#anyWorker(), runId))
        else {
          isKnown = this.evidence.entries.some(({ run }) => run === runId)
          if (hasLeft && isKnown) continue
          const ask = async () => (await this.#anyWorker()).ask({ do: 'run', spec })
          asked.push(...(asksTwice ? await Promise.all([ask(), ask()]) : [await ask()]))
        }
        for (const done of asked) {
          if (done.status === 'running' || done.stopReason === undefined) continue
          if (done.stopReason !== 'paused') return this.#noteEnd(runId, done)
          await this.#decide(runId, done, before)
        }
      } catch (error) {
        this.#noteFailure(runId, error)
      }
    }
  }

  async #look(worker: Worker, runId: string): Promise<Done> {
    return worker.ask({ do: 'look', runId })
  }

  async #decide(runId: string, { pending = [] }: Done, confirmedBefore: ReadonlySet<string>): Promise<void> {
    const { asked, seen } = this.evidence
    for (const { toolCallId } of pending) {
      const item = `${runId} ${toolCallId}`
      if (confirmedBefore.has(item)) seen.push(`${item} is asked again`)
    }
    for (const { toolCallId, tool } of pending) asked.set(`${runId} ${toolCallId}`, { runId, tool, approved: verdictOf(runId) })
    // Some take time to decide.
    if (this.random.chance(0.3)) await pause(this.random.below(1_500))
    const decisions = pending.map((item) => ({ ...item, approved: verdictOf(runId) }))
    if (decisions.length === 0) return
    try {
      const done = await (await this.#anyWorker()).ask({ do: 'resume', runId, decisions })
      for (const { toolCallId } of pending) this.#confirmed.add(`${runId} ${toolCallId}`)
      if (done.stopReason !== undefined && done.stopReason !== 'paused') this.#noteEnd(runId, done)
    } catch (error) {
      // Another worker was told the same, or an answer was lost.
      if (!(error instanceof OrderFailed) || error.code !== 'decision_refused') throw error
    }
  }

  #noteEnd(runId: string, { stopReason, digest }: Done): void {
    const { ends } = this.evidence
    ends.set(runId, [...(ends.get(runId) ?? []), `${stopReason} ${digest}`])
  }

  #noteFailure(runId: string, error: unknown): void {
    const code = error instanceof OrderFailed ? error.code : undefined
    if (code !== 'session_waiting') this.log.push(`client of ${runId}: ${error}`)
    if (code === undefined || !passing.has(code)) this.evidence.seen.push(`${runId} failed: ${code} ${error}`)
  }
}

/** The decision on everything that a run asks. */
function verdictOf(runId: string): boolean {
  return Number(runId.split('-').at(-1)) % 3 !== 0
}

const turns = [
  'look',
  'refund',
  'notify',
  'charge',
  'refund+notify',
  'look+charge',
  'refund+refund+erase',
  'erase',
  'ship',
  'ship+refund',
  'agent',
  'agent+notify',
]

function specOf(at: number, random: Random): RunSpec {
  const plan = Array.from({ length: 2 + random.below(4) }, () => random.pick(turns)).join(' ')
  return { runId: `run-${at}`, session: `session-${random.below(customers)}`, shop: `shop-${at}`, plan }
}

/** Plays a scenario. The report contains violations of invariants. */
export async function play({ seed, faults: names }: Scenario, place: Place): Promise<Report> {
  const random = randomOf(seed)
  await using ledger = await Ledger.open()
  const stage = new Stage(random, place, ledger)
  try {
    await Promise.all([stage.addWorker(), stage.addWorker()])
    let left = names.length
    const serving = stage.serveUntil(() => left === 0)
    for (const name of names) {
      const held = await ledger.hold(random.below(8), random.chance(0.7) ? 'call' : 'model')
      stage.log.push(`fault ${name} at entry ${JSON.stringify(held.entry)}`)
      await faults[name](stage, held)
      held.answer()
      left--
    }
    const inTime = serving.then(() => true)
    if (!(await Promise.race([inTime, pause(endsWithinMs, false, { ref: false })]))) await stage.giveUp()
    await stage.close()
  } finally {
    await stage.kill()
  }
  const { length: runs } = stage.evidence.specs
  return { violations: violationsIn(stage.evidence), log: stage.log, done: { faults: names.length, runs, entries: ledger.entries.length } }
}
