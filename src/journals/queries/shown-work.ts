import type {
  Attempt,
  BegunRun,
  ExpectedRun,
  NewShownRun,
  RecordingPart,
  ShownBounds,
  ShownEvent,
  ShownPage,
  ShownProgress,
  ShownQuery,
  ShownRun,
  ShownSession,
  ShownSums,
  WaitingRoom,
} from '../../agent/journal/shown-runs.ts'
import { mostRuns, takenOver } from '../../agent/journal/store.ts'
import { digestOf } from '../../core/digest.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import { firstOf, type Row, rowsOf, Statement, sql, type Work } from '../../sql/statement.ts'
import type { Dialect } from './dialect.ts'
import {
  linesOf,
  listColumns,
  type ShownSelection,
  selectShown,
  sessionOf,
  sessionsOf,
  sumShown,
  sumsOf,
  sumWaiting,
} from './list-shown.ts'
import { listed, mostCharacters, mostCharactersOfEvents, mostEvents } from './run-row.ts'
import { prunedAtOnce, type RunsDialect } from './run-work.ts'
import { type PackedNews, packedType, type SettledOutcome, unpackEvents } from './shown-news.ts'

export interface ShownDialect extends Dialect, Pick<RunsDialect, 'agent' | 'now' | 'hasId' | 'locked' | 'shared'> {
  /** Returns a subquery whose result is a JSON array of the values in the column `value` of `query`. */
  allOf(query: Statement): Statement
  /** Combines statements into as few as possible. The statements must write to different tables and not depend on each other. */
  together(statements: readonly Statement[]): readonly Statement[]
  /**
   * A statement that takes the lock on the limits for waiting runs, which is held until the transaction ends. Absent in a database that
   * runs one transaction at a time.
   */
  readonly lockRoom?: Statement
  /** The tables whose rows must be deleted explicitly when their run is deleted. */
  readonly childTables: readonly string[]
}

/** Maximum number of runs that one call of `giveUp` ends. */
const givenUpAtOnce = 100

/**
 * Implements `ShownRuns`, except `clear`, for both databases. Each call must run in a transaction that is rolled back if the call throws.
 * All calls are safe to repeat: after a lost connection, the caller can't know whether the first attempt succeeded.
 */
export abstract class ShownWork {
  protected readonly in: ShownDialect
  readonly #runs: Statement

  constructor(dialect: ShownDialect) {
    this.in = dialect
    this.#runs = this.table('runs')
  }

  /** Returns the size of the data that the journal stores for a run, in bytes. */
  protected abstract stateSize(runId: string): Work<number>

  *begin(
    { runId, caller, agent, kind = 'run', thread, request, tags = [], createdAt, title, words = '', head }: NewShownRun,
    { attempt, epoch }: Attempt,
  ): Work<BegunRun> {
    if (epoch !== undefined) {
      const run = yield* firstOf(sql`SELECT epoch FROM ${this.table('runs', '')} WHERE ${this.in.hasId(runId)} ${this.in.shared}`)
      if (Number(run?.epoch ?? 0) > epoch) throw takenOver(runId)
    }
    const { text } = this.in
    const columns = sql`(id, caller, agent, kind, thread, request, status, attempt, created_at, title, head)`
    const named = sql`${runId}, ${text(caller)}, ${text(agent)}, ${kind}, ${thread && text(thread)}, ${request}`
    const values = sql`(${named}, 'running', ${attempt}, ${createdAt}, ${text(title)}, ${head})`
    const taken = sql`status = 'running', attempt = excluded.attempt, finished_at = NULL, settled_at = NULL, waited = ${this.#waitedSoFar()}`
    const again = sql`ON CONFLICT (id) DO UPDATE SET ${taken} WHERE shown_runs.status <> 'ended' RETURNING n, last_event`
    const begun = yield* firstOf(sql`INSERT INTO ${this.#runs} ${columns} VALUES ${values} ${again}`)
    if (begun === undefined) return undefined
    yield this.#wordsNoted(begun, title, words)
    yield* this.#insert(
      'tags',
      ['tag', 'run'],
      tags.map((tag) => [tag, begun.n]),
    )
    return { lastEventId: Number(begun.last_event) }
  }

  *append(runId: string, attempt: string, { packed, last, firstEventId, title, secrets, hidesAll }: PackedNews): Work<boolean> {
    const run = yield* this.#find(runId)
    if (run?.attempt !== attempt) return false
    const { n } = run
    if (packed !== '') yield* this.#insert('events', ['run', 'id', 'type', 'data'], [[n, last, packedType, packed]])
    if (firstEventId > Number(run.first_event)) yield sql`DELETE FROM ${this.table('events')} WHERE run = ${n} AND id < ${firstEventId}`
    // JSON escapes characters that a database can't store as text.
    const values = secrets.map((secret) => JSON.stringify(secret))
    yield* this.#insert(
      'secrets',
      ['run', 'hash', 'value'],
      values.map((value) => [n, digestOf(value), value]),
    )
    const kept = this.in.text(title)
    const newest = Math.max(Number(run.last_event), last)
    const told = sql`first_event = ${firstEventId}, last_event = ${newest}, title = ${kept}, hides_all = ${Number(hidesAll)}`
    yield sql`UPDATE ${this.#runs} SET ${told} WHERE n = ${n}`
    if (kept !== run.title) yield this.#wordsNoted(run, title)
    return true
  }

  *put(
    run: NewShownRun,
    attempt: string,
    news: PackedNews,
    outcome: SettledOutcome,
    room?: WaitingRoom,
  ): Work<'settled' | 'changed' | 'no_room'> {
    const { runId } = run
    // Takes the locks in the same order as `settle`, to avoid deadlocks.
    yield* this.#lockRoom(room)
    if ((yield* this.begin(run, { attempt })) === undefined) return 'changed'
    if (!(yield* this.append(runId, attempt, news))) return 'changed'
    // The messages are no longer needed, because the state of the paused run includes them.
    yield sql`DELETE FROM ${this.table('messages')} WHERE ${this.#isOf(runId)}`
    return yield* this.settle(runId, { status: 'running', attempt }, outcome, room)
  }

  *settle(runId: string, expected: ExpectedRun, outcome: SettledOutcome, room?: WaitingRoom): Work<'settled' | 'changed' | 'no_room'> {
    yield* this.#lockRoom(room)
    const ofEvents = sql`SELECT coalesce(sum(octet_length(data)), 0) FROM ${this.table('events')} WHERE run = n`
    const run = yield* this.#find(runId, sql`, (${ofEvents}) AS size_of_events`)
    if (run === undefined || (expected.attempt !== undefined && run.attempt !== expected.attempt)) return 'changed'
    const { status, stopReason, finishedAt, settledForMs, title, words = '', model, summary, result, state = '' } = outcome
    // An earlier attempt at this call has stored the outcome, but its answer was lost.
    if (run.status === status && Number(run.finished_at) === finishedAt) return 'settled'
    if (run.status !== expected.status) return 'changed'
    const { n } = run
    const stateSize = status === 'waiting' ? state.length + (yield* this.stateSize(runId)) : 0
    const size = stateSize + (result?.length ?? 0) + Number(run.size_of_events)
    if (room !== undefined && !(yield* this.#hasRoom(run, size, stateSize, room))) return 'no_room'
    const { waitedMs = 0, turns, calls, tokens, costUsd, errorCode, tools = [] } = outcome
    const { text } = this.in
    // Uses the clock of the store, because other processes compute from this time how long the run has waited.
    const settledAt = sql`${this.in.now()} - CAST(${settledForMs} AS BIGINT)`
    const came = sql`status = ${status}, stop_reason = ${stopReason}, finished_at = ${finishedAt}, settled_at = ${settledAt}`
    const shown = sql`size = ${size}, title = ${text(title)}, summary = ${summary}, model = ${model && text(model)}`
    const took = sql`waited = ${Math.round(waitedMs)}, turns = ${turns}, calls = ${calls}, tokens = ${tokens}, cost = ${costUsd}`
    const did = sql`error = ${errorCode && text(errorCode)}, tools = ${text(linesOf(tools))}`
    const isOver = status === 'ended'
    const head = isOver ? sql`, head = ''` : sql``
    const replaced = sql`ON CONFLICT (run) DO UPDATE SET value = excluded.value, state = excluded.state`
    const kept = sql`(run, value, state) VALUES (${n}, ${result}, ${isOver ? '' : state})`
    yield* this.#doTogether([
      sql`UPDATE ${this.#runs} SET ${came}, ${shown}, ${took}, ${did} ${head} WHERE n = ${n}`,
      this.#wordsNoted(run, title, words),
      ...(result === undefined ? [] : [sql`INSERT INTO ${this.table('results')} ${kept} ${replaced}`]),
      ...(isOver ? this.#hiding(run, result !== undefined) : []),
    ])
    return 'settled'
  }

  *giveUp(which: { runId: string } | { waitingForMs: number }, error: { code: string; message: string }): Work<string[]> {
    const those =
      'runId' in which ? sql`id = ${which.runId}` : sql`settled_at < ${this.in.now()} - CAST(${which.waitingForMs} AS DOUBLE PRECISION)`
    const waiting = sql`SELECT n, id, summary FROM ${this.#runs} WHERE status = 'waiting' AND ${those}`
    const runs = yield* rowsOf(sql`${waiting} LIMIT ${givenUpAtOnce} ${this.in.locked}`)
    for (const run of runs) {
      const told = JSON.stringify({ ...JSON.parse(String(run.summary ?? '{}')), stopReason: 'aborted', pending: [], error })
      const ended = sql`status = 'ended', stop_reason = 'aborted', finished_at = ${this.in.now()}, settled_at = ${this.in.now()}`
      const came = sql`${ended}, waited = ${this.#waitedSoFar()}, error = ${this.in.text(error.code)}, summary = ${told}, head = ''`
      yield* this.#doTogether([sql`UPDATE ${this.#runs} SET ${came} WHERE n = ${run.n}`, ...this.#hiding(run)])
    }
    return runs.map(({ id }) => String(id))
  }

  *noteDecisions(runId: string, note: string, decisions: readonly string[]): Work<boolean> {
    const run = yield* this.#find(runId)
    if (run === undefined) return false
    const noted = sql`SELECT 1 AS noted FROM ${this.table('decisions')} WHERE run = ${run.n} AND note = ${note} LIMIT 1`
    if ((yield* firstOf(noted)) !== undefined) return true
    const last = yield* this.#lastOf('decisions', run)
    yield* this.#insert(
      'decisions',
      ['run', 'n', 'note', 'value'],
      decisions.map((value, at) => [run.n, last + at + 1, note, value]),
    )
    return true
  }

  *withdrawDecisions(runId: string, note: string): Work<void> {
    yield sql`DELETE FROM ${this.table('decisions')} WHERE ${this.#isOf(runId)} AND note = ${note}`
  }

  *get(runId: string): Work<ShownRun | undefined> {
    const secrets = this.in.allOf(sql`SELECT value FROM ${this.table('secrets')} WHERE run = shown_runs.n`)
    const decisions = this.in.allOf(sql`SELECT value FROM ${this.table('decisions')} AS d WHERE run = shown_runs.n ORDER BY d.n`)
    const tags = this.in.allOf(sql`SELECT tag AS value FROM ${this.table('tags')} WHERE run = shown_runs.n`)
    const lists = sql`${secrets} AS secrets, ${decisions} AS decisions, ${tags} AS tags`
    const age = sql`${this.in.now()} - settled_at AS settled_for`
    const columns = sql`${new Statement(listColumns)}, request, attempt, head, hides_all, ${age}, ${lists}`
    const run = yield* firstOf(sql`SELECT ${columns} FROM ${this.#runs} WHERE id = ${runId}`)
    if (run === undefined) return undefined
    const listOf = (json: unknown): string[] => JSON.parse(String(json))
    return {
      ...listed(run),
      tags: listOf(run.tags),
      request: typeof run.request === 'string' ? run.request : undefined,
      attempt: String(run.attempt),
      head: String(run.head),
      ...(run.settled_for === null ? {} : { settledForMs: Number(run.settled_for) }),
      secrets: listOf(run.secrets).map((secret) => String(JSON.parse(secret))),
      hidesAll: Number(run.hides_all) === 1,
      decisions: listOf(run.decisions),
    }
  }

  *result(runId: string): Work<string> {
    return String((yield* this.#resultOf(runId))?.value ?? '')
  }

  *state(runId: string): Work<string> {
    return String((yield* this.#resultOf(runId))?.state ?? '')
  }

  *events(runId: string, after: number): Work<ShownEvent[]> {
    const run = yield* firstOf(sql`SELECT n, first_event FROM ${this.#runs} WHERE id = ${runId}`)
    if (run === undefined) return []
    const own = sql`run = ${run.n} AND id > ${after}`
    const part = sql`SELECT id, type, data FROM ${this.table('events')} WHERE ${own} ORDER BY id LIMIT ${mostEvents}`
    const events: ShownEvent[] = []
    let characters = 0
    let last = Math.max(after, Number(run.first_event) - 1)
    for (const row of yield* rowsOf(within(mostCharactersOfEvents, part, { column: 'data', order: 'id' }))) {
      const { id, type, data } = { id: Number(row.id), type: String(row.type), data: String(row.data) }
      // A row may repeat events of the previous row, because a process that gets no answer writes its events again.
      for (const event of type === packedType ? unpackEvents(data, last) : [{ id, type, data }]) {
        events.push(event)
        last = event.id
        characters += event.data.length
        if (events.length >= mostEvents || characters >= mostCharactersOfEvents) return events
      }
    }
    return events
  }

  *keepRecording(runId: string, attempt: string, parts: readonly RecordingPart[]): Work<boolean> {
    return yield* keepRecording(this.in, runId, attempt, parts)
  }

  *recording(runId: string, after: string): Work<RecordingPart[]> {
    const own = sql`${this.#isOf(runId)} AND name > ${after}`
    const part = sql`SELECT name, value FROM ${this.table('recordings')} WHERE ${own} ORDER BY name LIMIT ${mostEvents}`
    const rows = yield* rowsOf(within(mostCharactersOfEvents, part, { column: 'value', order: 'name' }))
    return rows.map(({ name, value }) => ({ name: String(name), value: String(value) }))
  }

  *progress(runIds: readonly string[]): Work<ShownProgress[]> {
    const those = new Statement(this.in.isOneOf('id'), [this.in.listOf(runIds)])
    const runs = runIds.length === 0 ? [] : yield* rowsOf(sql`SELECT id, status, last_event FROM ${this.#runs} WHERE ${those}`)
    return runs.map(({ id, status, last_event }) => ({ runId: String(id), status: status as RunStatus, lastEventId: Number(last_event) }))
  }

  /** Sends messages to a run. `by` identifies the call: a retry with the same `by` doesn't store the messages twice. */
  *sendMessages(runId: string, messages: readonly string[], by: string): Work<boolean> {
    const run = yield* this.#find(runId)
    if (run === undefined) return false
    const mine = sql`SELECT 1 AS said FROM ${this.table('messages')} WHERE run = ${run.n} AND said_by = ${by} LIMIT 1`
    if ((yield* firstOf(mine)) !== undefined) return true
    if (run.status === 'ended' || Number(run.listens) !== 1) return false
    const last = yield* this.#lastOf('messages', run)
    yield* this.#insert(
      'messages',
      ['run', 'n', 'value', 'said_by'],
      messages.map((value, at) => [run.n, last + at + 1, value, by]),
    )
    return true
  }

  *messages(runId: string, without: number): Work<string[]> {
    const all = sql`SELECT value FROM ${this.table('messages')} WHERE ${this.#isOf(runId)} AND n > ${without} ORDER BY n`
    return (yield* rowsOf(all)).map(({ value }) => String(value))
  }

  *closeMessages(runId: string, said: number): Work<boolean> {
    const run = yield* this.#find(runId)
    if (run === undefined) return false
    const unheard = sql`SELECT 1 FROM ${this.table('messages')} WHERE run = ${run.n} AND n > CAST(${said} AS BIGINT)`
    const closed = sql`UPDATE ${this.#runs} SET listens = 0 WHERE n = ${run.n} AND NOT EXISTS (${unheard}) RETURNING n`
    return (yield* firstOf(closed)) !== undefined
  }

  *list(query: ShownQuery): Work<ShownPage> {
    const { from, order } = this.#select(query)
    const most = Math.min(query.limit, mostRuns)
    // Selects one run more than requested, to know whether there is a next page.
    const part = sql`SELECT ${new Statement(listColumns)} ${from} ${order} LIMIT ${most + 1} OFFSET ${query.offset ?? 0}`
    const placed = sql`SELECT *, row_number() OVER () AS place, count(*) OVER () AS found FROM (${part}) AS part`
    const rows = yield* rowsOf(sql`${within(mostCharacters, placed, { column: 'summary', order: 'place' })} LIMIT ${most}`)
    return { runs: rows.map(listed), hasMore: Number(rows[0]?.found ?? 0) > rows.length }
  }

  *sum(query: ShownQuery): Work<ShownSums> {
    return sumsOf(yield* firstOf(sumShown(this.#select(query))))
  }

  *sessions(query: ShownQuery): Work<ShownSession[]> {
    return (yield* rowsOf(sessionsOf(this.in, this.#select(query), query))).map(sessionOf)
  }

  #select(query: ShownQuery): ShownSelection {
    return selectShown(this.in, query)
  }

  *unsettled(forMs: number): Work<string[]> {
    const over = sql`r.id IS NULL OR (r.status <> 'running' AND r.updated_at <= ${this.in.now()} - CAST(${forMs} AS BIGINT))`
    const both = sql`${this.#runs} AS s LEFT JOIN ${this.table('runs', '')} AS r ON r.agent = ${this.in.agent} AND r.id = s.id`
    const rows = yield* rowsOf(sql`SELECT s.id FROM ${both} WHERE s.status = 'running' AND (${over})`)
    return rows.map(({ id }) => String(id))
  }

  *waiting(of?: Pick<ShownQuery, 'caller' | 'tags'>): Work<{ runs: number; characters: number }> {
    const { runs, characters } = (yield* firstOf(sumWaiting(this.in, of))) ?? {}
    return { runs: Number(runs), characters: Number(characters) }
  }

  /** Deletes at most `prunedAtOnce` runs, and returns their number. */
  *forget({ runs, ageMs, characters, recordingCharacters }: ShownBounds): Work<number> {
    // The caller with the most runs, or with the largest total size, loses its oldest runs first, so that a busy caller doesn't displace
    // the runs of others.
    const own = sql`OVER (PARTITION BY caller ORDER BY settled_at DESC, n DESC ROWS UNBOUNDED PRECEDING)`
    const ofCaller = sql`SELECT n, settled_at, size, count(*) ${own} AS newer, sum(size) ${own} - size AS size_of_newer FROM ${this.#runs} WHERE status = 'ended'`
    const by = (key: Statement) => sql`OVER (ORDER BY ${key}, settled_at DESC, n DESC ROWS UNBOUNDED PRECEDING)`
    const sums = sql`count(*) ${by(sql`newer`)} AS place, sum(size) ${by(sql`size_of_newer`)} AS total`
    const counted = sql`SELECT n, settled_at, ${sums} FROM (${ofCaller}) AS of_caller`
    const old = sql`settled_at <= ${this.in.now()} - CAST(${ageMs} AS DOUBLE PRECISION)`
    const beyond = sql`place > CAST(${runs} AS DOUBLE PRECISION) OR total > CAST(${characters} AS DOUBLE PRECISION) OR ${old}`
    const doomed = yield* rowsOf(sql`SELECT n FROM (${counted}) AS counted WHERE ${beyond} LIMIT ${prunedAtOnce}`)
    for (const { n } of doomed) {
      for (const table of this.in.childTables) yield sql`DELETE FROM ${this.table(table)} WHERE run = ${n}`
      yield sql`DELETE FROM ${this.#runs} WHERE n = ${n}`
    }
    yield* this.#forgetRecordings(recordingCharacters)
    return doomed.length
  }

  /** Deletes recordings beyond the size limit. Recordings of ended runs are deleted first, the oldest of each caller before newer ones. */
  *#forgetRecordings(characters: number): Work<void> {
    const recordings = this.table('recordings')
    const sizes = sql`SELECT run, sum(size) AS size FROM ${recordings} GROUP BY run`
    const joined = sql`(${sizes}) AS sizes JOIN ${this.#runs} AS runs ON runs.n = run`
    const own = sql`OVER (PARTITION BY caller ORDER BY has_ended, run DESC ROWS UNBOUNDED PRECEDING)`
    const recorded = sql`SELECT run, sizes.size AS size, caller, CASE WHEN status = 'ended' THEN 1 ELSE 0 END AS has_ended FROM ${joined}`
    const ofCaller = sql`SELECT run, size, has_ended, sum(size) ${own} - size AS size_of_newer FROM (${recorded}) AS recorded`
    const order = sql`OVER (ORDER BY has_ended, size_of_newer, run DESC ROWS UNBOUNDED PRECEDING)`
    const totals = sql`SELECT run, sum(size) ${order} AS total FROM (${ofCaller}) AS of_caller`
    const doomed = sql`SELECT run FROM (${totals}) AS totals WHERE total > CAST(${characters} AS DOUBLE PRECISION)`
    yield sql`DELETE FROM ${recordings} WHERE run IN (${doomed})`
  }

  *#doTogether(statements: readonly Statement[]): Work<void> {
    for (const statement of this.in.together(statements)) yield statement
  }

  /** Returns the statement that stores the words by which a run is found. */
  #wordsNoted({ n }: Row, title: string, words?: string): Statement {
    const { text } = this.in
    // The title is converted to lower case here, because case conversion in a database depends on its version or its locale.
    const folded = text(title.toLowerCase())
    const noted = words === undefined ? sql`` : sql`, words = excluded.words`
    const row = sql`(run, title_words, words) VALUES (${n}, ${folded}, ${text(words ?? '')})`
    return sql`INSERT INTO ${this.table('words')} ${row} ON CONFLICT (run) DO UPDATE SET title_words = excluded.title_words ${noted}`
  }

  /**
   * Returns the statements that delete the secrets, messages and state of a finished run. `hasResult`: the result has just been stored,
   * without a state.
   */
  #hiding({ n }: Row, hasResult = false): Statement[] {
    const hidden = ['secrets', 'messages'].map((table) => sql`DELETE FROM ${this.table(table)} WHERE run = ${n}`)
    return hasResult ? hidden : [...hidden, sql`UPDATE ${this.table('results')} SET state = '' WHERE run = ${n} AND state <> ''`]
  }

  *#lockRoom(room: WaitingRoom | undefined): Work<void> {
    if (room !== undefined && this.in.lockRoom !== undefined) yield this.in.lockRoom
  }

  *#hasRoom({ caller }: Row, size: number, state: number, { ofState, ofCaller, ofAll }: WaitingRoom): Work<boolean> {
    if (state > ofState) return false
    const own = yield* this.waiting({ caller: String(caller) })
    return own.characters + size <= ofCaller && (yield* this.waiting()).characters + size <= ofAll
  }

  /** Returns an expression for the total time that a run has waited, in milliseconds. */
  #waitedSoFar(): Statement {
    const since = sql`${this.in.now()} - shown_runs.settled_at`
    return sql`shown_runs.waited + CASE WHEN shown_runs.status = 'waiting' AND ${since} > 0 THEN ${since} ELSE 0 END`
  }

  *#resultOf(runId: string): Work<Row | undefined> {
    return yield* firstOf(sql`SELECT value, state FROM ${this.table('results')} WHERE ${this.#isOf(runId)}`)
  }

  *#lastOf(table: string, { n }: Row): Work<number> {
    return Number((yield* firstOf(sql`SELECT max(n) AS last FROM ${this.table(table)} WHERE run = ${n}`))?.last ?? 0)
  }

  *#insert(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Work<void> {
    const into = sql`INSERT INTO ${this.table(table)} (${new Statement(columns.join(', '))})`
    for (let at = 0; at < rows.length; at += this.in.rowsAtOnce)
      yield sql`${into} VALUES ${valuesOf(rows.slice(at, at + this.in.rowsAtOnce))} ON CONFLICT DO NOTHING`
  }

  /** Returns the run, locked until the transaction ends. `more` adds columns. */
  *#find(runId: string, more: Statement = sql``): Work<Row | undefined> {
    const columns = sql`n, caller, status, attempt, finished_at, first_event, last_event, title, listens ${more}`
    return yield* firstOf(sql`SELECT ${columns} FROM ${this.#runs} WHERE id = ${runId} ${this.in.locked}`)
  }

  #isOf(runId: string): Statement {
    return sql`run = (SELECT n FROM ${this.#runs} WHERE id = ${runId})`
  }

  /** The name of a table of shown runs. With the prefix `''`, of a table of recorded runs. */
  protected table(name: string, prefix: string = 'shown_'): Statement {
    return new Statement(this.in.table(`${prefix}${name}`))
  }
}

/** Implements `ShownRuns.keepRecording`. */
export function* keepRecording(
  { table, locked, rowsAtOnce }: Pick<RunsDialect, 'table' | 'locked' | 'rowsAtOnce'>,
  runId: string,
  attempt: string,
  parts: readonly RecordingPart[],
): Work<boolean> {
  const [runs, recordings] = [new Statement(table('shown_runs')), new Statement(table('shown_recordings'))]
  const run = yield* firstOf(sql`SELECT n, attempt FROM ${runs} WHERE id = ${runId} ${locked}`)
  if (run?.attempt !== attempt) return false
  const rows = parts.map(({ name, value }) => [run.n, name, value.length, value])
  const replaced = sql`ON CONFLICT (run, name) DO UPDATE SET size = excluded.size, value = excluded.value`
  for (let at = 0; at < rows.length; at += rowsAtOnce)
    yield sql`INSERT INTO ${recordings} (run, name, size, value) VALUES ${valuesOf(rows.slice(at, at + rowsAtOnce))} ${replaced}`
  return true
}

function valuesOf(rows: readonly (readonly unknown[])[]): Statement {
  const places = rows.map((row) => `(${row.map(() => '?').join(', ')})`)
  return new Statement(places.join(', '), rows.flat())
}

/** Limits a query to the first rows whose total size of `column` is about `characters`. At least the first row is selected. */
function within(characters: number, query: Statement, { column, order }: { column: string; order: string }): Statement {
  const earlier = `OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`
  const before = new Statement(`coalesce(sum(octet_length(${column})) ${earlier}, 0) AS before`)
  const counted = sql`SELECT *, ${before} FROM (${query}) AS given`
  return sql`SELECT * FROM (${counted}) AS counted WHERE before < ${new Statement(String(characters))} ORDER BY ${new Statement(order)}`
}
