import type { PruneOptions, RunPage, RunQuery } from '../../agent/journal/journal.ts'
import type { RecordingPart } from '../../agent/journal/shown-runs.ts'
import {
  type ExecutionOutcome,
  type NamedValue,
  type NewRun,
  type NotTaken,
  type RunNews,
  type StoredRun,
  type Suspension,
  type Taken,
  tagsOf,
  unknownRun,
} from '../../agent/journal/store.ts'
import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'
import { storedText, withoutUndefined } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import { firstOf, given, type Row, rowsOf, type Statement, sql, type Work } from '../../sql/statement.ts'
import type { FileParts } from '../../sqlite/opened-file.ts'
import type { Owner } from '../../sqlite/owner.ts'
import { listOf, ownersOf, pageOf } from '../queries/list-runs.ts'
import { summaryOf } from '../queries/run-row.ts'
import { checksum, RunWork } from '../queries/run-work.ts'
import { keepRecording } from '../queries/shown-work.ts'
import { deleteRecorded } from './delete-recorded.ts'
import { sqlite } from './dialect.ts'

/** The names that the checksums of a run's input and output cover. See `checksum`. */
const [inputName, outputName] = ['input', 'output']

/** Implements `Store` in SQL. Each call must run in a transaction that is rolled back if the call throws. */
export class RunsTable extends RunWork {
  readonly #owner: Owner

  constructor({ database, owner, clock }: FileParts, agent: string) {
    super({
      ...sqlite,
      agent,
      owner: owner.id,
      place: database.location() ?? '',
      now: () => sql`${clock.now()}`,
      hasId: (runId) => {
        // SQLite changes text that is not well-formed, so two different ids could become equal.
        if (!runId.isWellFormed()) throw new InvalidOptionError('runId', 'well-formed Unicode', runId)
        return sql`id = ${runId}`
      },
      locked: sql``,
      shared: sql``,
      isDead: (id) => given(!owner.isAlive(String(id))),
    })
    this.#owner = owner
  }

  *take(runId: string, created?: NewRun): Work<Taken | NotTaken> {
    if ((yield* this.find(runId)) !== undefined) return yield* this.takeAgain(runId)
    if (created === undefined) throw unknownRun(runId)
    const { input, loop, metadata, session } = created
    const now = this.in.now()
    const said = metadata && storedText(metadata)
    const values = sql`${runId}, ${this.in.agent}, 'running', ${this.in.owner}, 1, ${loop}, ${now}, ${now}, ${said}, ${session}`
    const columns = sql`(id, agent, status, owner, epoch, loop, created_at, updated_at, metadata, session)`
    const made = yield* firstOf(sql`INSERT INTO runs ${columns} VALUES (${values}) RETURNING n`)
    for (const tag of tagsOf(metadata)) yield sql`INSERT INTO run_tags (tag, run) VALUES (${tag}, ${made?.n}) ON CONFLICT DO NOTHING`
    yield sql`INSERT INTO inputs (run, value, crc) VALUES (${made?.n}, ${input}, ${checksum(runId, inputName, input)})`
    return { kind: 'taken', epoch: 1, steps: [], decisions: [], tries: 0, hasDied: false }
  }

  *record(runId: string, epoch: number, key: string, value: string): Work<void> {
    const row = sql`SELECT n, ${key}, ${value}, ${checksum(runId, key, value)} FROM runs`
    const owned = sql`id = ${runId} AND owner = ${this.in.owner} AND epoch = ${epoch}`
    const insert = sql`INSERT INTO steps (run, key, value, crc) ${row} WHERE ${owned} ON CONFLICT DO NOTHING RETURNING run`
    if ((yield* firstOf(insert)) !== undefined) return
    const { n } = yield* this.owned(runId, epoch)
    const recorded = yield* firstOf(sql`SELECT value FROM steps WHERE run = ${n} AND key = ${key}`)
    if (recorded?.value !== value) throw new ToolloopError('journal_failed', `Step \`${key}\` of run \`${runId}\` is recorded already`)
  }

  /** The same as `keepRecording` of shown runs. It is also here, so that a recording and a step can be stored in one transaction. */
  *keepRecording(runId: string, attempt: string, parts: readonly RecordingPart[]): Work<boolean> {
    return yield* keepRecording(this.in, runId, attempt, parts)
  }

  *finish(runId: string, epoch: number, output: string, outcome: ExecutionOutcome): Work<void> {
    const run = yield* this.owned(runId, epoch)
    // The steps are no longer needed, because the result includes all their data.
    for (const table of ['steps', 'kept_texts', 'call_records']) yield sql`DELETE FROM ${this.table(table)} WHERE run = ${run.n}`
    yield* this.#leave(run, 'ended', outcome, output)
  }

  *suspend(runId: string, epoch: number, { output, model, waits, forget }: Suspension): Work<Taken | undefined> {
    const run = yield* this.owned(runId, epoch)
    for (const key of forget) yield sql`DELETE FROM steps WHERE run = ${run.n} AND key = ${key}`
    yield* this.addWaits(run, waits)
    if (yield* this.canGoOn(run)) {
      yield* this.takeDecisions(run)
      return yield* this.taken(run)
    }
    yield* this.#leave(run, 'waiting', { stopReason: 'paused', ...withoutUndefined({ model }) }, output)
    return undefined
  }

  *get(runId: string): Work<StoredRun | undefined> {
    const run = yield* this.find(runId)
    if (run === undefined || run.agent !== this.in.agent) return undefined
    const isDead = run.owner !== null && !this.#owner.isAlive(String(run.owner))
    const output = yield* firstOf(sql`SELECT value, crc FROM outputs WHERE run = ${run.n}`)
    const open = sql`SELECT name FROM waits WHERE run = ${run.n} AND value IS NULL`
    const waits = run.status === 'ended' ? [] : yield* rowsOf(open)
    return {
      ...summaryOf(run, new Set(isDead ? [run.owner] : [])),
      input: yield* this.inputOf(run),
      waits: waits.map(({ name }) => String(name)),
      ...withoutUndefined({ output: output && this.whole(output, runId, outputName) }),
    }
  }

  *news(runId: string, known: readonly string[]): Work<RunNews | undefined> {
    const run = yield* this.find(runId)
    if (run === undefined || run.agent !== this.in.agent) return undefined
    const isNew = sql`AND key NOT IN (SELECT value FROM json_each(${JSON.stringify(known)}))`
    return { status: run.status as RunStatus, steps: yield* this.#steps(run, isNew) }
  }

  *list(query: RunQuery): Work<RunPage> {
    const dead = new Set(yield* this.#deadOwners())
    return pageOf(yield* rowsOf(listOf(sqlite, this.in.agent, query, dead)), query, dead)
  }

  *pending(): Work<string[]> {
    return yield* this.pendingBut(yield* this.#deadOwners())
  }

  /** Deletes at most `prunedAtOnce` runs, and returns their number. */
  *prune(which: PruneOptions): Work<number> {
    const doomed = yield* this.doomed(which)
    for (const { n } of doomed) yield* deleteRecorded(n)
    return doomed.length
  }

  *#deadOwners(): Work<string[]> {
    const owners = yield* rowsOf(ownersOf(sqlite, this.in.agent))
    return owners.map(({ owner }) => String(owner)).filter((owner) => !this.#owner.isAlive(owner))
  }

  *#steps({ n, id }: Row, which: Statement): Work<NamedValue[]> {
    const rows = yield* rowsOf(sql`SELECT key AS name, value, crc FROM steps WHERE run = ${n} ${which}`)
    return rows.map((row) => ({ name: String(row.name), value: this.whole(row, String(id), String(row.name)) }))
  }

  protected override stepsOf(run: Row): Work<readonly NamedValue[]> {
    return this.#steps(run, sql``)
  }

  protected override *inputOf({ n, id }: Row): Work<string> {
    return this.whole((yield* firstOf(sql`SELECT value, crc FROM inputs WHERE run = ${n}`)) ?? {}, String(id), inputName)
  }

  *#leave({ n, id }: Row, status: RunStatus, { stopReason, model }: ExecutionOutcome, output: string): Work<void> {
    const left = sql`status = ${status}, stop_reason = ${stopReason}, model = ${model}, owner = NULL, problem = NULL`
    yield sql`UPDATE runs SET ${left}, updated_at = ${this.in.now()} WHERE n = ${n}`
    const kept = sql`(run, value, crc) VALUES (${n}, ${output}, ${checksum(String(id), outputName, output)})`
    yield sql`INSERT INTO outputs ${kept} ON CONFLICT (run) DO UPDATE SET value = excluded.value, crc = excluded.crc`
  }
}
