import type { Journal, PruneOptions, RunPage, RunQuery, RunSummary } from '../agent/journal/journal.ts'
import {
  cursorOf,
  decisionRefused,
  type ExecutionOutcome,
  entryTaken,
  expiredText,
  type KeptText,
  type NamedValue,
  type NewRun,
  type NotTaken,
  type RunNews,
  type Store,
  type StoredEntry,
  type StoredRun,
  type Suspension,
  type Taken,
  tagsOf,
  takenOver,
  unknownRun,
} from '../agent/journal/store.ts'
import { storeJournal } from '../agent/journal/store-journal.ts'
import { ToolloopError } from '../core/errors.ts'
import { type JsonObject, withoutUndefined } from '../core/messages.ts'
import type { RunStatus } from '../core/runs/run-states.ts'

interface Wait {
  name: string
  deadline: number
  value?: string
  taken: boolean
}

interface Run {
  /** The run's serial number, which list cursors contain. */
  n: number
  id: string
  status: RunStatus
  owner: object | undefined
  epoch: number
  input: string
  metadata: JsonObject | undefined
  session: string | undefined
  model?: string | undefined
  output?: string
  stopReason?: string
  problem?: string
  cancelReason?: string
  createdAt: number
  updatedAt: number
  steps: Map<string, string>
  waits: Map<string, Wait>
  kept: Map<string, KeptText>
  records: Map<string, StoredEntry[]>
  tries: number
}

let created = 0

/** Storage for journals in memory. Data remains when a journal is closed, as on a disk when a process ends. */
export class MemoryRuns {
  /** @internal */
  readonly runs: Map<string, Run> = new Map()
  /** @internal */
  readonly alive: Set<object> = new Set()
}

/**
 * Creates a journal in memory, to test what happens to runs if a process dies. For each simulated process, create a journal with the same
 * `kept`; close the journal to simulate the death of that process. The journal behaves like a journal on a disk, except that its runs are
 * lost when the real process ends.
 */
export function memoryJournal(kept: MemoryRuns = new MemoryRuns()): Journal & { close(): Promise<void> } {
  return storeJournal(new MemoryStore(kept))
}

class MemoryStore implements Store {
  readonly #kept: MemoryRuns
  readonly #owner = {}

  constructor(kept: MemoryRuns) {
    this.#kept = kept
    kept.alive.add(this.#owner)
  }

  async take(runId: string, created?: NewRun): Promise<Taken | NotTaken> {
    this.#checkOpen()
    const run = this.#kept.runs.get(runId)
    if (run === undefined) {
      if (created === undefined) throw unknownRun(runId)
      return this.#create(runId, created)
    }
    if (run.status === 'ended') return { kind: 'ended' }
    if (run.status === 'waiting' && !canGoOn(run)) return { kind: 'waiting' }
    if (run.owner !== undefined && run.owner !== this.#owner && this.#kept.alive.has(run.owner)) return { kind: 'elsewhere' }
    if (run.status === 'waiting') takeDecisions(run)
    const hasDied = run.owner !== undefined && run.owner !== this.#owner
    change(run, { status: 'running', owner: this.#owner, epoch: run.epoch + 1 })
    delete run.problem
    return { ...takenOf(run), hasDied, input: run.input }
  }

  async record(runId: string, epoch: number, key: string, value: string): Promise<void> {
    const { steps } = this.#owned(runId, epoch)
    if (steps.has(key)) throw new ToolloopError('journal_failed', `Step \`${key}\` of run \`${runId}\` is recorded already`)
    steps.set(key, value)
  }

  async keep(runId: string, epoch: number, text: KeptText, maxBytes: number): Promise<boolean> {
    const { kept } = this.#owned(runId, epoch)
    const others = [...kept.values()].filter(({ name }) => name !== text.name)
    if (others.reduce((sum, { bytes }) => sum + bytes, text.bytes) > maxBytes) return false
    kept.set(text.name, text)
    return true
  }

  async append(runId: string, epoch: number, record: string, entry: StoredEntry): Promise<void> {
    const { records } = this.#owned(runId, epoch)
    const entries = records.get(record) ?? []
    if (entries.some(({ position }) => position === entry.position)) throw entryTaken(runId, record, entry)
    records.set(record, [...entries, entry])
  }

  async entries(runId: string, record: string): Promise<StoredEntry[]> {
    const entries = this.#found(runId).records.get(record) ?? []
    return entries.toSorted((a, b) => a.position - b.position)
  }

  async noteTries(runId: string, epoch: number, tries: number): Promise<void> {
    this.#owned(runId, epoch).tries = tries
  }

  async kept(runId: string, name: string): Promise<string | undefined> {
    return this.#found(runId).kept.get(name)?.value
  }

  async finish(runId: string, epoch: number, output: string, { stopReason, model }: ExecutionOutcome): Promise<void> {
    const run = this.#owned(runId, epoch)
    change(run, { status: 'ended', owner: undefined, output, stopReason, model })
    run.steps.clear()
    run.kept.clear()
    run.records.clear()
  }

  async suspend(runId: string, epoch: number, { output, model, waits, forget }: Suspension): Promise<Taken | undefined> {
    const run = this.#owned(runId, epoch)
    for (const key of forget) run.steps.delete(key)
    for (const { name, timeoutMs = Number.POSITIVE_INFINITY } of waits) {
      if (!run.waits.has(name)) run.waits.set(name, { name, deadline: Date.now() + timeoutMs, taken: false })
    }
    if (canGoOn(run)) {
      takeDecisions(run)
      return takenOf(run)
    }
    change(run, { status: 'waiting', owner: undefined, output, model, stopReason: 'paused' })
    return undefined
  }

  async release(runId: string, epoch: number, problem?: string, tries?: number): Promise<void> {
    const run = this.#kept.runs.get(runId)
    if (run?.owner !== this.#owner || run.epoch !== epoch) return
    change(run, { owner: undefined, tries: tries ?? run.tries, ...withoutUndefined({ problem }) })
  }

  async deliver(runId: string, decisions: readonly NamedValue[]): Promise<void> {
    const run = this.#found(runId)
    const decided = decisions.map(({ name, value }) => {
      const wait = run.waits.get(name)
      if (wait === undefined) throw decisionRefused(runId, name, 'nothing waits for it')
      if (run.status === 'ended') throw decisionRefused(runId, name, 'the run has ended')
      if (wait.value !== undefined) throw decisionRefused(runId, name, 'it was decided already')
      if (wait.deadline <= Date.now()) throw decisionRefused(runId, name, 'its time is over')
      return { wait, value }
    })
    for (const { wait, value } of decided) wait.value = value
  }

  async cancel(runId: string, reason: string): Promise<void> {
    const run = this.#found(runId)
    if (run.status !== 'ended') run.cancelReason ??= reason
  }

  async cancelled(): Promise<{ runId: string; reason: string }[]> {
    const mine = [...this.#kept.runs.values()].filter(({ owner, status }) => owner === this.#owner && status === 'running')
    return mine.flatMap(({ id, cancelReason }) => (cancelReason === undefined ? [] : [{ runId: id, reason: cancelReason }]))
  }

  async get(runId: string): Promise<StoredRun | undefined> {
    this.#checkOpen()
    const run = this.#kept.runs.get(runId)
    if (run === undefined) return undefined
    const { input, output, status } = run
    const open = [...run.waits.values()].filter(({ value }) => value === undefined && status !== 'ended')
    return { ...this.#summaryOf(run), input, waits: open.map(({ name }) => name), ...withoutUndefined({ output }) }
  }

  async news(runId: string, known: readonly string[]): Promise<RunNews | undefined> {
    this.#checkOpen()
    const run = this.#kept.runs.get(runId)
    const steps = [...(run?.steps ?? [])].filter(([name]) => !known.includes(name)).map(([name, value]) => ({ name, value }))
    return run && { status: run.status, steps }
  }

  async list({ createdAfter, createdBefore, metadata, limit = 50, cursor, ...asked }: RunQuery): Promise<RunPage> {
    this.#checkOpen()
    const tags = tagsOf(metadata)
    const newest = [...this.#kept.runs.values()].reverse()
    const before = cursor === undefined ? Number.POSITIVE_INFINITY : cursorOf(cursor)
    const found = newest.filter((run) => {
      const isIn = run.createdAt > (createdAfter ?? Number.NEGATIVE_INFINITY) && run.createdAt < (createdBefore ?? Number.POSITIVE_INFINITY)
      const own = tagsOf(run.metadata)
      const shown = this.#summaryOf(run)
      const isAsked = (['status', 'session', 'stopReason', 'model', 'process'] as const).every(
        (name) => asked[name] === undefined || shown[name] === asked[name],
      )
      return isIn && isAsked && run.n < before && tags.every((tag) => own.includes(tag))
    })
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    return {
      runs: shown.map((run) => this.#summaryOf(run)),
      ...(found.length > limit && last !== undefined ? { next: String(last.n) } : {}),
    }
  }

  async pending(): Promise<string[]> {
    this.#checkOpen()
    const isOpen = (run: Run): boolean => {
      if (run.status === 'waiting') return canGoOn(run)
      const { owner } = run
      return run.status === 'running' && (owner === undefined || owner === this.#owner || !this.#kept.alive.has(owner))
    }
    return [...this.#kept.runs.values()].filter(isOpen).map(({ id }) => id)
  }

  async prune({ olderThanMs = Number.POSITIVE_INFINITY, keep = Number.POSITIVE_INFINITY }: PruneOptions): Promise<number> {
    const ended = [...this.#kept.runs.values()].filter(({ status }) => status === 'ended').toSorted((a, b) => b.updatedAt - a.updatedAt)
    const doomed = ended.filter(({ updatedAt }, at) => at >= keep || updatedAt <= Date.now() - olderThanMs)
    for (const { id } of doomed) this.#kept.runs.delete(id)
    return doomed.length
  }

  /** Simulates the death of the process. After this, nothing is stored. */
  async close(): Promise<void> {
    this.#kept.alive.delete(this.#owner)
  }

  #create(id: string, { input, metadata, session }: NewRun): Taken {
    const now = Date.now()
    const made = {
      n: ++created,
      id,
      input,
      metadata,
      session,
      owner: this.#owner,
      epoch: 1,
      createdAt: now,
      updatedAt: now,
      steps: new Map(),
      waits: new Map(),
      kept: new Map(),
      records: new Map(),
      tries: 0,
    }
    this.#kept.runs.set(id, { ...made, status: 'running' })
    return { kind: 'taken', epoch: 1, steps: [], decisions: [], tries: 0, hasDied: false }
  }

  #owned(runId: string, epoch: number): Run {
    const run = this.#found(runId)
    if (run.owner !== this.#owner || run.epoch !== epoch) throw takenOver(runId)
    return run
  }

  #summaryOf({ id, status, stopReason, model, owner, createdAt, updatedAt, problem, metadata, session }: Run): RunSummary {
    const isRunning = status === 'running'
    const isAlive = owner !== undefined && this.#kept.alive.has(owner)
    return {
      runId: id,
      status,
      createdAt,
      updatedAt,
      ...(isRunning ? { process: isAlive ? 'alive' : 'gone' } : {}),
      ...(stopReason === undefined || isRunning ? {} : { stopReason: stopReason as never }),
      ...withoutUndefined({ problem }),
      ...withoutUndefined({ metadata }),
      ...withoutUndefined({ session }),
      ...(model === undefined || isRunning ? {} : { model }),
    }
  }

  #found(runId: string): Run {
    this.#checkOpen()
    const run = this.#kept.runs.get(runId)
    if (run === undefined) throw unknownRun(runId)
    return run
  }

  #checkOpen(): void {
    if (!this.#kept.alive.has(this.#owner)) throw new ToolloopError('journal_failed', 'The journal can’t be used: it was closed')
  }
}

function canGoOn({ waits, cancelReason }: Run): boolean {
  const isDue = ({ taken, value, deadline }: Wait) => !taken && (value !== undefined || deadline <= Date.now())
  return cancelReason !== undefined || [...waits.values()].some(isDue)
}

function takeDecisions({ waits }: Run): void {
  for (const wait of waits.values()) {
    if (wait.value === undefined && wait.deadline <= Date.now()) wait.value = expiredText
    wait.taken = wait.value !== undefined
  }
}

function takenOf({ epoch, steps, waits, cancelReason, tries }: Run): Taken {
  const decided = [...waits.values()].flatMap(({ name, value, taken }) => (taken && value !== undefined ? [{ name, value }] : []))
  const recorded = [...steps].map(([name, value]) => ({ name, value }))
  return {
    kind: 'taken',
    epoch,
    steps: recorded,
    decisions: decided,
    tries,
    hasDied: false,
    ...withoutUndefined({ cancelled: cancelReason }),
  }
}

function change(run: Run, fields: Partial<Run>): void {
  Object.assign(run, fields, { updatedAt: Date.now() })
}
