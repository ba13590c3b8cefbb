import type { SQLOutputValue } from 'node:sqlite'
import type {
  Attempt,
  BegunRun,
  ExpectedRun,
  ListedRun,
  NewShownRun,
  RecordingPart,
  ShownBounds,
  ShownEvent,
  ShownNews,
  ShownOutcome,
  ShownPage,
  ShownProgress,
  ShownQuery,
  ShownRun,
  ShownSession,
  ShownSums,
  WaitingRoom,
} from '../../agent/journal/shown-runs.ts'
import { mostRuns, takenOver } from '../../agent/journal/store.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import { Statement, sql } from '../../sql/statement.ts'
import type { FileClock } from '../../sqlite/file-clock.ts'
import type { FileParts } from '../../sqlite/opened-file.ts'
import { type Row, Statements } from '../../sqlite/statements.ts'
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
} from '../queries/list-shown.ts'
import { listed, mostCharacters, mostCharactersOfEvents, mostEvents } from '../queries/run-row.ts'
import { deleteRecorded, prunedAtOnce } from './delete-recorded.ts'
import { sqlite } from './dialect.ts'
import { packedType, unpackEvents } from './packed-events.ts'

/** About the size of a new run with a long input. */
const triedBytes = 32_768

/** An outcome, and its age. */
interface SettledOutcome extends ShownOutcome {
  settledForMs: number
}

/** Implements `ShownRuns` in SQL. Each call must be made inside a transaction that is rolled back if it throws. */
export class ShownRunsTable {
  readonly #sql: Statements
  readonly #clock: FileClock

  constructor({ database, clock }: Omit<FileParts, 'owner'>) {
    this.#clock = clock
    // SQLite's own `lower` only knows ASCII.
    database.function('folded', { deterministic: true }, (text) => String(text).toLowerCase())
    this.#sql = new Statements(database)
  }

  tryWriting(): void {
    // Replaces the previous row: its pages are written in any case.
    this.#sql.run('INSERT OR REPLACE INTO tried_writes (n, value) VALUES (1, zeroblob(?))', triedBytes)
  }

  begin(
    { runId, caller, agent, kind = 'run', thread, request, tags = [], createdAt, title, words = '', head }: NewShownRun,
    { attempt, epoch }: Attempt,
  ): BegunRun {
    const later = 'SELECT 1 FROM runs WHERE id = ? AND epoch > ?'
    if (epoch !== undefined && this.#sql.one(later, runId, epoch) !== undefined) throw takenOver(runId)
    const columns = '(id, caller, agent, kind, thread, request, status, attempt, created_at, title, head)'
    const waited = "waited = waited + CASE WHEN status = 'waiting' THEN max(0, ? - settled_at) ELSE 0 END"
    const taken = `status = 'running', attempt = excluded.attempt, finished_at = NULL, settled_at = NULL, ${waited}`
    const again = `ON CONFLICT (id) DO UPDATE SET ${taken} WHERE status <> 'ended' RETURNING n, last_event`
    const insert = `INSERT INTO shown_runs ${columns} VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?) ${again}`
    const values = [runId, caller, agent, kind, thread, request, attempt, createdAt, title, head]
    const begun = this.#sql.one(insert, ...values, this.#clock.now())
    if (begun === undefined) return undefined
    this.#noteWords(begun.n, words)
    for (const tag of tags) this.#sql.run('INSERT INTO shown_tags (tag, run) VALUES (?, ?) ON CONFLICT DO NOTHING', tag, begun.n)
    return { lastEventId: Number(begun.last_event) }
  }

  append(runId: string, attempt: string, { events, firstEventId, title, secrets, hidesAll }: ShownNews): boolean {
    const run = this.#sql.one('SELECT n, first_event, last_event FROM shown_runs WHERE id = ? AND attempt = ?', runId, attempt)
    if (run === undefined) return false
    for (const { id, type, data } of events) {
      this.#sql.run('INSERT INTO shown_events (run, id, type, data) VALUES (?, ?, ?, ?)', run.n, id, type, data)
    }
    if (firstEventId > Number(run.first_event)) this.#sql.run('DELETE FROM shown_events WHERE run = ? AND id < ?', run.n, firstEventId)
    // Stored as JSON, because a secret may contain characters that SQLite can't store as text.
    const kept = 'INSERT INTO shown_secrets VALUES (?, ?) ON CONFLICT DO NOTHING'
    for (const secret of secrets) this.#sql.run(kept, run.n, JSON.stringify(secret))
    const last = events.at(-1)?.id ?? run.last_event
    const told = 'UPDATE shown_runs SET first_event = ?, last_event = ?, title = ?, hides_all = ? WHERE n = ?'
    this.#sql.run(told, firstEventId, last, title, Number(hidesAll), run.n)
    return true
  }

  /** `packed`: the events from `packEvents`; `last`: the number of the newest. They share one row, which takes a fraction of the time. */
  put(
    run: NewShownRun,
    attempt: string,
    { packed, last, ...news }: Omit<ShownNews, 'events'> & { packed: string; last: number },
    outcome: SettledOutcome,
    room?: WaitingRoom,
  ): 'settled' | 'changed' | 'no_room' {
    const events = packed === '' ? [] : [{ id: last, type: packedType, data: packed }]
    if (this.begin(run, { attempt }) === undefined || !this.append(run.runId, attempt, { ...news, events })) return 'changed'
    // The state already includes earlier messages.
    this.#sql.run('DELETE FROM shown_messages WHERE run = (SELECT n FROM shown_runs WHERE id = ?)', run.runId)
    return this.settle(run.runId, { status: 'running', attempt }, outcome, room)
  }

  settle(runId: string, expected: ExpectedRun, outcome: SettledOutcome, room?: WaitingRoom): 'settled' | 'changed' | 'no_room' {
    const run = this.#sql.one('SELECT n, caller, status, attempt FROM shown_runs WHERE id = ?', runId)
    if (run === undefined || !isAsExpected(run, expected)) return 'changed'
    const { status, stopReason, finishedAt, settledForMs, title, words = '', model, summary, result, state = '' } = outcome
    const stateSize = status === 'waiting' ? state.length + this.#stateSize(runId) : 0
    const size = stateSize + (result?.length ?? 0) + this.#eventsSize(run)
    if (room !== undefined && !this.#hasRoom(run, size, stateSize, room)) return 'no_room'
    const { waitedMs = 0, turns, calls, tokens, costUsd, errorCode, tools = [] } = outcome
    const came = 'status = ?, stop_reason = ?, finished_at = ?, settled_at = ?, size = ?, title = ?, summary = ?, model = ?'
    const did = 'waited = ?, turns = ?, calls = ?, tokens = ?, cost = ?, error = ?, tools = ?'
    const values = [status, stopReason, finishedAt, this.#clock.now() - settledForMs, size, title, summary, model]
    const numbers = [waitedMs, turns, calls, tokens, costUsd, errorCode, linesOf(tools)]
    this.#sql.run(`UPDATE shown_runs SET ${came}, ${did} WHERE n = ?`, ...values, ...numbers, run.n)
    this.#noteWords(run.n, words)
    const replaced = 'ON CONFLICT (run) DO UPDATE SET value = excluded.value, state = excluded.state'
    if (result !== undefined) this.#sql.run(`INSERT INTO shown_results VALUES (?, ?, ?) ${replaced}`, run.n, result, state)
    if (status === 'ended') this.#hide(run.n)
    return 'settled'
  }

  giveUp(which: { runId: string } | { waitingForMs: number }, error: { code: string; message: string }): string[] {
    const now = this.#clock.now()
    const [those, value] = 'runId' in which ? ['id = ?', which.runId] : ['settled_at < ? LIMIT 100', now - which.waitingForMs]
    const waiting = `SELECT n FROM shown_runs WHERE status = 'waiting' AND ${those}`
    const told = "json_set(coalesce(summary, '{}'), '$.stopReason', 'aborted', '$.pending', json('[]'), '$.error', json(?))"
    const ended = "status = 'ended', stop_reason = 'aborted', finished_at = ?, settled_at = ?, waited = waited + max(0, ? - settled_at)"
    const given = `UPDATE shown_runs SET ${ended}, error = ?, summary = ${told} WHERE n IN (${waiting}) RETURNING n, id`
    const runs = this.#sql.all(given, now, now, now, error.code, JSON.stringify(error), value)
    for (const { n } of runs) this.#hide(n)
    return runs.map(({ id }) => String(id))
  }

  noteDecisions(runId: string, note: string, decisions: readonly string[]): boolean {
    const run = this.#sql.one('SELECT n FROM shown_runs WHERE id = ?', runId)
    if (run === undefined) return false
    if (this.#sql.one('SELECT 1 FROM shown_decisions WHERE run = ? AND note = ?', run.n, note) !== undefined) return true
    const next = '(SELECT coalesce(max(n), 0) + 1 FROM shown_decisions WHERE run = ?)'
    for (const one of decisions) this.#sql.run(`INSERT INTO shown_decisions VALUES (?, ${next}, ?, ?)`, run.n, run.n, note, one)
    return true
  }

  withdrawDecisions(runId: string, note: string): void {
    this.#sql.run('DELETE FROM shown_decisions WHERE run = (SELECT n FROM shown_runs WHERE id = ?) AND note = ?', runId, note)
  }

  get(runId: string): ShownRun | undefined {
    const run = this.#sql.one('SELECT * FROM shown_runs WHERE id = ?', runId)
    if (run === undefined) return undefined
    const secrets = this.#sql.all('SELECT value FROM shown_secrets WHERE run = ?', run.n)
    const decisions = this.#sql.all('SELECT value FROM shown_decisions WHERE run = ? ORDER BY n', run.n)
    const tags = this.#sql.all('SELECT tag FROM shown_tags WHERE run = ?', run.n)
    return {
      ...listed(run),
      tags: tags.map(({ tag }) => String(tag)),
      request: typeof run.request === 'string' ? run.request : undefined,
      attempt: String(run.attempt),
      head: String(run.head),
      ...(run.settled_at === null ? {} : { settledForMs: this.#clock.now() - Number(run.settled_at) }),
      secrets: secrets.map(({ value }) => String(JSON.parse(String(value)))),
      hidesAll: run.hides_all === 1,
      decisions: decisions.map(({ value }) => String(value)),
    }
  }

  result(runId: string): string {
    const found = this.#sql.one('SELECT value FROM shown_results JOIN shown_runs ON run = n WHERE id = ?', runId)
    return found === undefined ? '' : String(found.value)
  }

  state(runId: string): string {
    const found = this.#sql.one('SELECT state FROM shown_results JOIN shown_runs ON run = n WHERE id = ?', runId)
    return found === undefined ? '' : String(found.state)
  }

  events(runId: string, after: number): ShownEvent[] {
    const events: ShownEvent[] = []
    let characters = 0
    const all = 'SELECT e.id, type, data FROM shown_events e JOIN shown_runs r ON run = n WHERE r.id = ? AND e.id > ? ORDER BY e.id'
    for (const { id, type, data } of this.#sql.each(all, runId, after)) {
      const row = { id: Number(id), type: String(type), data: String(data) }
      for (const event of type === packedType ? unpackEvents(row.data, after) : [row]) {
        events.push(event)
        characters += event.data.length
        if (events.length >= mostEvents || characters >= mostCharactersOfEvents) return events
      }
    }
    return events
  }

  recording(runId: string, after: string): RecordingPart[] {
    const parts: RecordingPart[] = []
    let characters = 0
    const all = 'SELECT name, value FROM shown_recordings JOIN shown_runs ON run = n WHERE id = ? AND name > ? ORDER BY name'
    for (const { name, value } of this.#sql.each(all, runId, after)) {
      parts.push({ name: String(name), value: String(value) })
      characters += String(value).length
      if (parts.length >= mostEvents || characters >= mostCharactersOfEvents) break
    }
    return parts
  }

  progress(runIds: readonly string[]): ShownProgress[] {
    const those = 'SELECT id, status, last_event FROM shown_runs WHERE id IN (SELECT value FROM json_each(?))'
    const runs = this.#sql.all(those, JSON.stringify(runIds))
    return runs.map(({ id, status, last_event }) => ({ runId: String(id), status: status as RunStatus, lastEventId: Number(last_event) }))
  }

  say(runId: string, messages: readonly string[]): boolean {
    const run = this.#sql.one("SELECT n FROM shown_runs WHERE id = ? AND status <> 'ended' AND listens = 1", runId)
    if (run === undefined) return false
    const next = '(SELECT coalesce(max(n), 0) + 1 FROM shown_messages WHERE run = ?)'
    for (const message of messages) this.#sql.run(`INSERT INTO shown_messages VALUES (?, ${next}, ?)`, run.n, run.n, message)
    return true
  }

  said(runId: string, without: number): string[] {
    const all = 'SELECT m.value FROM shown_messages m JOIN shown_runs r ON run = r.n WHERE r.id = ? AND m.n > ? ORDER BY m.n'
    return this.#sql.all(all, runId, without).map(({ value }) => String(value))
  }

  hush(runId: string, said: number): boolean {
    const heard = 'NOT EXISTS (SELECT 1 FROM shown_messages WHERE run = shown_runs.n AND shown_messages.n > ?)'
    return this.#sql.run(`UPDATE shown_runs SET listens = 0 WHERE id = ? AND ${heard}`, runId, said).changes > 0
  }

  list(query: ShownQuery): ShownPage {
    const { limit, offset = 0 } = query
    const { from, order } = this.#select(query)
    const runs: ListedRun[] = []
    let characters = 0
    const most = Math.min(limit, mostRuns)
    for (const run of this.#sql.eachOf(sql`SELECT ${new Statement(listColumns)} ${from} ${order} LIMIT ${most + 1} OFFSET ${offset}`)) {
      if (runs.length >= most || characters >= mostCharacters) return { runs, hasMore: true }
      runs.push(listed(run))
      characters += String(run.summary).length
    }
    return { runs, hasMore: false }
  }

  sum(query: ShownQuery): ShownSums {
    return sumsOf(this.#sql.rowsOf(sumShown(this.#select(query)))[0])
  }

  sessions(query: ShownQuery): ShownSession[] {
    return this.#sql.rowsOf(sessionsOf(sqlite, this.#select(query), query)).map(sessionOf)
  }

  #select(query: ShownQuery): ShownSelection {
    return selectShown(sqlite, query, { text: 'folded(title) || char(10) || value', table: 'shown_words' })
  }

  unsettled(forMs: number): string[] {
    const over = "runs.id IS NULL OR (runs.status <> 'running' AND runs.updated_at <= ?)"
    const unsettled = `SELECT id FROM shown_runs LEFT JOIN runs USING (id) WHERE shown_runs.status = 'running' AND (${over})`
    return this.#sql.all(unsettled, this.#clock.now() - forMs).map(({ id }) => String(id))
  }

  waiting(of?: Pick<ShownQuery, 'caller' | 'tags'>): { runs: number; characters: number } {
    const { runs, characters } = this.#sql.rowsOf(sumWaiting(sqlite, of))[0] ?? {}
    return { runs: Number(runs), characters: Number(characters) }
  }

  clear(runId?: string): void {
    const [one, ...values] = runId === undefined ? [''] : ['AND id = ?', runId]
    const over = `runs.status <> 'running' AND shown_runs.status = 'ended' ${one}`
    const runs = this.#sql.all(`SELECT runs.n FROM runs JOIN shown_runs USING (id) WHERE ${over} LIMIT ${prunedAtOnce}`, ...values)
    for (const { n } of runs) deleteRecorded(this.#sql, n)
  }

  /** Deletes some of the runs, and returns how many. Fewer than `prunedAtOnce` means that all are deleted. */
  forget({ runs, ageMs, characters, recordingCharacters }: ShownBounds): number {
    const doomed: SQLOutputValue[] = []
    const young = this.#clock.now() - ageMs
    let [count, size] = [0, 0]
    for (const run of this.#sql.each(
      "SELECT n, settled_at, size FROM shown_runs WHERE status = 'ended' ORDER BY settled_at DESC, n DESC",
    )) {
      count++
      size += Number(run.size)
      if (count > runs || size > characters || Number(run.settled_at) <= young) doomed.push(run.n ?? null)
      if (doomed.length === prunedAtOnce) break
    }
    for (const n of doomed) {
      for (const table of ['results', 'events', 'recordings', 'secrets', 'messages', 'words', 'decisions', 'tags'])
        this.#sql.run(`DELETE FROM shown_${table} WHERE run = ?`, n)
      this.#sql.run('DELETE FROM shown_runs WHERE n = ?', n)
    }
    this.#forgetRecordings(recordingCharacters)
    return doomed.length
  }

  /** Recordings of running and waiting runs are kept longest; among equals, the newest. */
  #forgetRecordings(characters: number): void {
    const sizes = 'SELECT run, sum(size) AS size FROM shown_recordings GROUP BY run'
    let left = characters
    for (const { run, size } of this.#sql.all(`${sizes} ORDER BY run IN (SELECT n FROM shown_runs WHERE status = 'ended'), run DESC`)) {
      left -= Number(size)
      if (left < 0) this.#sql.run('DELETE FROM shown_recordings WHERE run = ?', run)
    }
  }

  #noteWords(n: SQLOutputValue | undefined, words: string): void {
    this.#sql.run('INSERT INTO shown_words VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET value = excluded.value', n, words)
  }

  /** Deletes everything about a finished run except what is shown. */
  #hide(n: SQLOutputValue | undefined): void {
    for (const table of ['secrets', 'messages']) this.#sql.run(`DELETE FROM shown_${table} WHERE run = ?`, n)
    this.#sql.run("UPDATE shown_runs SET head = '' WHERE n = ?", n)
    this.#sql.run("UPDATE shown_results SET state = '' WHERE run = ? AND state <> ''", n)
  }

  /** The size of what the journal stores of a run. */
  #stateSize(runId: string): number {
    const sums = ['inputs', 'steps'].map((table) => `(SELECT coalesce(sum(octet_length(value)), 0) FROM ${table} WHERE run = n)`)
    return Number(this.#sql.one(`SELECT ${sums.join(' + ')} AS size FROM runs WHERE id = ?`, runId)?.size ?? 0)
  }

  #eventsSize({ n }: Row): number {
    return Number(this.#sql.one('SELECT coalesce(sum(octet_length(data)), 0) AS size FROM shown_events WHERE run = ?', n)?.size ?? 0)
  }

  #hasRoom({ caller }: Row, size: number, state: number, { ofState, ofCaller, ofAll }: WaitingRoom): boolean {
    const own = this.waiting({ caller: String(caller) }).characters + size
    return state <= ofState && own <= ofCaller && this.waiting().characters + size <= ofAll
  }
}

function isAsExpected({ status, attempt }: Row, expected: ExpectedRun): boolean {
  return status === expected.status && (expected.attempt === undefined || attempt === expected.attempt)
}
