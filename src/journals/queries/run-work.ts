import { crc32 } from 'node:zlib'
import { loopVersion, type PruneOptions } from '../../agent/journal/journal.ts'
import {
  decisionRefused,
  endOfTime,
  entryTaken,
  expiredText,
  type KeptText,
  type NamedValue,
  type NotTaken,
  type StoredEntry,
  type Suspension,
  type Taken,
  takenOver,
  unknownRun,
} from '../../agent/journal/store.ts'
import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'
import { firstOf, type Row, rowsOf, Statement, sql, type Work } from '../../sql/statement.ts'
import type { Dialect, Value } from './dialect.ts'
import { timeOf } from './run-row.ts'

/** The parts that each database implements. */
export interface RunsDialect extends Dialect {
  readonly agent: string
  /** The owner of the runs that this process executes. */
  readonly owner: Value
  /** The name of the file or database, for messages. */
  readonly place: string
  /** The current time in milliseconds, by a clock that all processes share. */
  now(): Statement
  hasId(runId: string): Statement
  /** Clauses at the end of a `SELECT` that lock its rows. `locked`: like `FOR UPDATE`. `shared`: like `FOR SHARE`. */
  readonly locked: Statement
  readonly shared: Statement
  isDead(owner: unknown): Work<boolean>
}

/** Maximum number of runs that one call deletes. The number is small, because SQLite can't record a step during the call. */
export const prunedAtOnce = 200
/** The longest wait that can expire, in milliseconds. The end of a longer wait would be after the latest valid time. */
const longestWaitMs = endOfTime / 2

/**
 * Implements the part of `Store` that manages runs. Each database has a subclass. Methods with several statements must run in a transaction
 * that is rolled back if they throw. All methods are safe to repeat: after a lost connection, the caller can't know whether the first
 * attempt succeeded.
 */
export abstract class RunWork {
  protected readonly in: RunsDialect
  readonly #runs: Statement
  readonly #waits: Statement

  constructor(dialect: RunsDialect) {
    this.in = dialect
    this.#runs = this.table('runs')
    this.#waits = this.table('waits')
  }

  protected abstract inputOf(run: Row): Work<string>
  /** Returns the recorded steps of a run, unless DBOS has them. */
  protected abstract stepsOf(run: Row): Work<readonly NamedValue[]>

  /** Makes this owner the owner of an existing run, to execute it. */
  *takeAgain(runId: string): Work<Taken | NotTaken> {
    const run = yield* this.found(runId)
    if (run.status === 'ended') return { kind: 'ended' }
    if (run.status === 'waiting' && !(yield* this.canGoOn(run))) return { kind: 'waiting' }
    const hasDied = run.owner !== null && run.owner !== this.in.owner
    if (hasDied && !(yield* this.in.isDead(run.owner))) return { kind: 'elsewhere' }
    if (run.status === 'waiting') yield* this.takeDecisions(run)
    const taken = sql`status = 'running', owner = ${this.in.owner}, epoch = epoch + 1, problem = NULL, updated_at = ${this.in.now()}`
    yield sql`UPDATE ${this.#runs} SET ${taken} WHERE n = ${run.n}`
    const input = yield* this.inputOf(run)
    return { ...(yield* this.taken({ ...run, epoch: Number(run.epoch) + 1 })), hasDied, input }
  }

  *keep(runId: string, epoch: number, { name, value, bytes }: KeptText, maxBytes: number): Work<boolean> {
    const { n } = yield* this.owned(runId, epoch)
    const [texts, key] = [this.table('kept_texts'), this.in.text(name)]
    const others = yield* firstOf(sql`SELECT coalesce(sum(bytes), 0) AS bytes FROM ${texts} WHERE run = ${n} AND name <> ${key}`)
    if (Number(others?.bytes) + bytes > maxBytes) return false
    const kept = sql`(run, name, bytes, value, crc) VALUES (${n}, ${key}, ${bytes}, ${value}, ${checksum(runId, name, value)})`
    const replaced = sql`bytes = excluded.bytes, value = excluded.value, crc = excluded.crc`
    yield sql`INSERT INTO ${texts} ${kept} ON CONFLICT (run, name) DO UPDATE SET ${replaced}`
    return true
  }

  *kept(runId: string, name: string): Work<string | undefined> {
    const own = sql`run = (SELECT n FROM ${this.#runs} WHERE ${this.in.hasId(runId)}) AND name = ${this.in.text(name)}`
    const text = yield* firstOf(sql`SELECT value, crc FROM ${this.table('kept_texts')} WHERE ${own}`)
    return text && this.whole(text, runId, name)
  }

  *append(runId: string, epoch: number, record: string, entry: StoredEntry): Work<void> {
    const { position, fingerprint, value } = entry
    const records = this.table('call_records')
    const crc = checksum(runId, entryName(record, position, fingerprint), value)
    const given = sql`CAST(${this.in.text(record)} AS TEXT), CAST(${position} AS INTEGER), CAST(${this.in.text(fingerprint)} AS TEXT)`
    const row = sql`SELECT n, ${given}, CAST(${value} AS TEXT), CAST(${crc} AS BIGINT)`
    const owned = sql`(SELECT n FROM ${this.#runs} WHERE ${this.isOwned(runId, epoch)} ${this.in.shared}) AS owned`
    // If an identical entry exists, an earlier attempt at this call has succeeded.
    const same = sql`${records}.fingerprint = excluded.fingerprint AND ${records}.value = excluded.value`
    const added = yield* firstOf(
      sql`INSERT INTO ${records} (run, record, position, fingerprint, value, crc) ${row} FROM ${owned} WHERE n IS NOT NULL
          ON CONFLICT (run, record, position) DO UPDATE SET value = excluded.value WHERE ${same} RETURNING run`,
    )
    if (added !== undefined) return
    yield* this.owned(runId, epoch)
    throw entryTaken(runId, record, entry)
  }

  *entries(runId: string, record: string): Work<StoredEntry[]> {
    const own = sql`run = (SELECT n FROM ${this.#runs} WHERE ${this.in.hasId(runId)}) AND record = ${this.in.text(record)}`
    const all = sql`SELECT position, fingerprint, value, crc FROM ${this.table('call_records')} WHERE ${own} ORDER BY position`
    return (yield* rowsOf(all)).map((row): StoredEntry => {
      const [position, fingerprint] = [Number(row.position), String(row.fingerprint)]
      return { position, fingerprint, value: this.whole(row, runId, entryName(record, position, fingerprint)) }
    })
  }

  *noteTries(runId: string, epoch: number, tries: number): Work<void> {
    const noted = sql`UPDATE ${this.#runs} SET tries = ${tries} WHERE ${this.isOwned(runId, epoch)} RETURNING n`
    if ((yield* firstOf(noted)) === undefined) throw takenOver(runId)
  }

  *release(runId: string, epoch: number, problem?: string, tries?: number): Work<void> {
    const left = sql`owner = NULL, problem = ${problem && this.in.text(problem)}, tries = coalesce(CAST(${tries} AS INTEGER), tries)`
    yield sql`UPDATE ${this.#runs} SET ${left}, updated_at = ${this.in.now()} WHERE ${this.isOwned(runId, epoch)}`
  }

  /**
   * Delivers decisions to a run. `by` identifies this delivery: a retry with the same `by` succeeds even if its first attempt has already
   * stored the decisions.
   */
  *deliver(runId: string, decisions: readonly NamedValue[], by: string): Work<void> {
    const run = yield* this.found(runId)
    for (const { name, value } of decisions) {
      const isLate = sql`deadline <= ${this.in.now()} AS late`
      const own = sql`run = ${run.n} AND name = ${name}`
      const wait = yield* firstOf(sql`SELECT value, decided_at, decided_by, deadline, ${isLate} FROM ${this.#waits} WHERE ${own}`)
      if (wait === undefined) throw decisionRefused(runId, name, 'nothing waits for it')
      if (wait.decided_by === by) continue
      if (run.status === 'ended') throw decisionRefused(runId, name, 'the run has ended')
      if (wait.value !== null) throw decisionRefused(runId, name, `it was decided at ${timeOf(wait.decided_at)}`)
      if (wait.late) throw decisionRefused(runId, name, `it was waited for until ${timeOf(wait.deadline)}`)
      const decided = sql`value = ${value}, crc = ${checksum(runId, name, value)}, decided_at = ${this.in.now()}, decided_by = ${by}`
      yield sql`UPDATE ${this.#waits} SET ${decided} WHERE ${own}`
    }
  }

  *cancel(runId: string, reason: string): Work<void> {
    const { n } = yield* this.found(runId)
    const cancelled = sql`cancel_reason = coalesce(cancel_reason, ${this.in.text(reason)})`
    yield sql`UPDATE ${this.#runs} SET ${cancelled} WHERE n = ${n} AND status <> 'ended'`
  }

  *cancelled(): Work<{ runId: string; reason: string }[]> {
    const mine = sql`agent = ${this.in.agent} AND status = 'running' AND owner = ${this.in.owner} AND cancel_reason IS NOT NULL`
    const rows = yield* rowsOf(sql`SELECT id, cancel_reason FROM ${this.#runs} WHERE ${mine}`)
    return rows.map(({ id, cancel_reason }) => ({ runId: String(id), reason: String(cancel_reason) }))
  }

  /** Returns the runs that this process can resume. `dead`: the owners that have died. */
  *pendingBut(dead: readonly Value[]): Work<string[]> {
    const waits = sql`SELECT run FROM ${this.#waits} WHERE taken = 0`
    const isDue = sql`n IN (${waits} AND value IS NOT NULL) OR n IN (${waits} AND value IS NULL AND deadline <= ${this.in.now()})`
    const isLeft = sql`owner IS NULL OR ${new Statement(this.in.isOneOf('owner'), [this.in.listOf([this.in.owner, ...dead])])}`
    // Repeats the condition of SQLite's index of open runs literally, so that SQLite uses the index.
    const isOpen = sql`agent = ${this.in.agent} AND status <> 'ended'`
    const continues = sql`(status = 'running' AND (${isLeft})) OR (status = 'waiting' AND (cancel_reason IS NOT NULL OR ${isDue}))`
    const rows = yield* rowsOf(sql`SELECT id FROM ${this.#runs} WHERE ${isOpen} AND (${continues}) ORDER BY n`)
    return rows.map(({ id }) => String(id))
  }

  /** Returns some of the runs to delete. If it returns fewer than `prunedAtOnce` runs, no others are left. */
  *doomed({ olderThanMs, keep }: PruneOptions): Work<readonly Row[]> {
    const ended = sql`SELECT n, id, epoch FROM ${this.#runs} WHERE agent = ${this.in.agent} AND status = 'ended'`
    const age = sql`${this.in.now()} - CAST(${Math.ceil(Math.min(olderThanMs ?? 0, endOfTime))} AS BIGINT)`
    const old = sql`${ended} AND updated_at <= ${age} LIMIT ${prunedAtOnce}`
    const many = sql`${ended} ORDER BY updated_at DESC, n DESC LIMIT ${prunedAtOnce} OFFSET ${keep}`
    const found = new Map<unknown, Row>()
    if (olderThanMs !== undefined) for (const row of yield* rowsOf(old)) found.set(row.n, row)
    if (keep !== undefined) for (const row of yield* rowsOf(many)) found.set(row.n, row)
    return [...found.values()]
  }

  protected *addWaits({ n }: Row, waits: Suspension['waits']): Work<void> {
    for (const { name, timeoutMs } of waits) {
      const isForEver = timeoutMs === undefined || timeoutMs > longestWaitMs
      const deadline = isForEver ? sql`NULL` : sql`${this.in.now()} + CAST(${Math.ceil(timeoutMs)} AS BIGINT)`
      yield sql`INSERT INTO ${this.#waits} (run, name, deadline) VALUES (${n}, ${name}, ${deadline}) ON CONFLICT DO NOTHING`
    }
  }

  /** Whether a waiting run can continue: it was cancelled, a decision has arrived, or a wait has expired. */
  protected *canGoOn({ n, cancel_reason }: Row): Work<boolean> {
    const isDue = sql`taken = 0 AND (value IS NOT NULL OR deadline <= ${this.in.now()})`
    return (
      cancel_reason !== null ||
      (yield* firstOf(sql`SELECT 1 AS due FROM ${this.#waits} WHERE run = ${n} AND ${isDue} LIMIT 1`)) !== undefined
    )
  }

  /** Makes the next execution of the run take the decisions that have arrived. */
  protected *takeDecisions({ n, id }: Row): Work<void> {
    const isLate = sql`value IS NULL AND deadline <= ${this.in.now()}`
    // A wait that has expired without a decision gets a value that means "expired".
    for (const { name } of yield* rowsOf(sql`SELECT name FROM ${this.#waits} WHERE run = ${n} AND ${isLate}`)) {
      const expired = sql`value = ${expiredText}, crc = ${checksum(String(id), String(name), expiredText)}, decided_at = ${this.in.now()}`
      yield sql`UPDATE ${this.#waits} SET ${expired} WHERE run = ${n} AND name = ${name}`
    }
    yield sql`UPDATE ${this.#waits} SET taken = 1 WHERE run = ${n} AND value IS NOT NULL`
  }

  protected *taken(run: Row): Work<Taken> {
    const decided = yield* rowsOf(sql`SELECT name, value, crc FROM ${this.#waits} WHERE run = ${run.n} AND taken = 1`)
    return {
      kind: 'taken',
      epoch: Number(run.epoch),
      tries: Number(run.tries),
      hasDied: false,
      steps: yield* this.stepsOf(run),
      decisions: decided.map((row) => ({ name: String(row.name), value: this.whole(row, String(run.id), String(row.name)) })),
      ...(typeof run.cancel_reason === 'string' ? { cancelled: run.cancel_reason } : {}),
    }
  }

  protected table(name: string): Statement {
    return new Statement(this.in.table(name))
  }

  protected *find(runId: string): Work<Row | undefined> {
    return yield* firstOf(sql`SELECT * FROM ${this.#runs} WHERE ${this.in.hasId(runId)} ${this.in.locked}`)
  }

  /** Returns the run, locked until the transaction ends. */
  protected *found(runId: string): Work<Row> {
    const run = yield* this.find(runId)
    if (run === undefined) throw unknownRun(runId)
    const { agent, loop } = run
    if (agent !== this.in.agent) throw new InvalidOptionError('agent', `\`${agent}\`, the agent of run \`${runId}\``, this.in.agent)
    if (Number(loop) <= loopVersion) return run
    const message = `Expected run \`${runId}\` to be recorded by loop version ${loopVersion} or older, got ${loop}: a newer toolloop has written it`
    throw new ToolloopError('journal_failed', message)
  }

  protected *owned(runId: string, epoch: number): Work<Row> {
    const run = yield* firstOf(sql`SELECT * FROM ${this.#runs} WHERE ${this.isOwned(runId, epoch)} ${this.in.locked}`)
    if (run === undefined) throw takenOver(runId)
    return run
  }

  protected isOwned(runId: string, epoch: number): Statement {
    return sql`${this.in.hasId(runId)} AND owner = ${this.in.owner} AND epoch = ${epoch}`
  }

  /** Returns a recorded text. Throws if the text doesn't match its checksum. */
  protected whole({ value, crc }: Row, runId: string, name: string): string {
    const text = String(value)
    if (Number(crc) === checksum(runId, name, text)) return text
    const damaged = `Run \`${runId}\` of the journal \`${this.in.place}\` can’t be read: \`${name}\` is not what was recorded. Restore a backup`
    throw new ToolloopError('journal_failed', damaged)
  }
}

/**
 * Returns a checksum that detects corruption by the disk. The checksum also covers the names, so that a text stored under a wrong name is
 * detected.
 */
export function checksum(runId: string, name: string, text: string): number {
  return crc32(text, crc32(`${runId}\n${name}`))
}

function entryName(record: string, position: number, fingerprint: string): string {
  return `${record}, ${position}: ${fingerprint}`
}

/** Deletes in batches of `prunedAtOnce`, until nothing is left to delete. Returns the total. */
export async function inParts(deleteSome: () => Promise<number>): Promise<number> {
  for (let deleted = 0; ; ) {
    const more = await deleteSome()
    deleted += more
    // A batch that is not full is the last one. Continuing until a batch is empty could take forever, because more runs end in the
    // meantime.
    if (more < prunedAtOnce) return deleted
  }
}
