import type {
  Attempt,
  BegunRun,
  ExpectedRun,
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
  ShownRuns,
  ShownSession,
  ShownSums,
  WaitingRoom,
} from '../../../agent/journal/shown-runs.ts'
import { mostRuns, takenOver } from '../../../agent/journal/store.ts'
import type { RunStatus } from '../../../core/runs/run-states.ts'
import { numbered, Statement, sql } from '../../../sql/statement.ts'
import {
  linesOf,
  listColumns,
  type ShownSelection,
  selectShown,
  sessionOf,
  sessionsOf,
  sumShown,
  sumsOf,
} from '../../queries/list-shown.ts'
import { listed, mostCharacters, mostCharactersOfEvents, mostEvents } from '../../queries/run-row.ts'
import { prunedAtOnce } from '../../queries/run-work.ts'
import type { Database, Query, Row } from '../database.ts'
import { dialectOf } from '../dialect.ts'
import { now, plain } from '../values.ts'
import { WaitingRuns } from './waiting-room.ts'

/** The number of runs given up at once. */
const givenUpAtOnce = 100

/** Implements `ShownRuns` in PostgreSQL, except `clear`. Like those of `RecordedRuns`, each call can be repeated. */
export class ShownRunsTable implements Omit<ShownRuns, 'clear' | 'writesInOrder'> {
  readonly #database: Database
  readonly #agent: string
  readonly #waiting: WaitingRuns
  /** The schema, quoted. */
  readonly #in: string

  constructor(database: Database, { agent, schema }: { agent: string; schema: string }) {
    this.#database = database
    this.#agent = agent
    this.#in = schema
    this.#waiting = new WaitingRuns({ agent, schema })
  }

  begin(
    { runId, caller, agent, kind = 'run', thread, request, tags = [], createdAt, title, words = '', head }: NewShownRun,
    { attempt, epoch }: Attempt,
  ): Promise<BegunRun> {
    const columns = '(id, caller, agent, thread, status, attempt, created_at, title, head, words, folded_title, kind, request)'
    const sinceThen = `greatest(0, ${now} - shown_runs.settled_at)`
    const waited = `waited = shown_runs.waited + CASE WHEN shown_runs.status = 'waiting' THEN ${sinceThen} ELSE 0 END`
    const taken = `status = 'running', attempt = excluded.attempt, finished_at = NULL, settled_at = NULL, words = excluded.words, ${waited}`
    const again = `UPDATE SET ${taken} WHERE shown_runs.status <> 'ended'`
    const insert = `INSERT INTO ${this.#in}.shown_runs ${columns} VALUES ($1, $2, $3, $8, 'running', $4, $5, $6, $7, $9, $10, $11, $12)`
    const inThread = thread === undefined ? null : plain(thread)
    const values = [
      runId,
      plain(caller),
      plain(agent),
      attempt,
      createdAt,
      plain(title),
      head,
      inThread,
      plain(words),
      folded(title),
      kind,
      request ?? null,
    ]
    return this.#database.transaction(async (query) => {
      const later = `SELECT epoch > $3::bigint AS is_later FROM ${this.#in}.runs WHERE agent = $1 AND id = $2 FOR SHARE`
      if (epoch !== undefined && (await query(later, [this.#agent, runId, epoch]))[0]?.is_later === true) throw takenOver(runId)
      const [begun] = await query(`${insert} ON CONFLICT (id) DO ${again} RETURNING n, last_event`, values)
      if (begun !== undefined && tags.length > 0) {
        const tagged = `INSERT INTO ${this.#in}.shown_tags (run, tag) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`
        await query(tagged, [begun.n, tags])
      }
      return begun && { lastEventId: Number(begun.last_event) }
    })
  }

  append(runId: string, attempt: string, { events, firstEventId, title, secrets, hidesAll }: ShownNews): Promise<boolean> {
    return this.#database.transaction(async (query) => {
      const run = await this.#locked(query, runId)
      if (run?.attempt !== attempt) return false
      const rows = 'unnest($2::bigint[], $3::text[], $4::text[]) AS news (id, type, data)'
      const columns = [events.map(({ id }) => id), events.map(({ type }) => type), events.map(({ data }) => data)]
      await query(`INSERT INTO ${this.#in}.shown_events SELECT $1, * FROM ${rows} ON CONFLICT DO NOTHING`, [run.n, ...columns])
      if (firstEventId > Number(run.first_event)) {
        await query(`DELETE FROM ${this.#in}.shown_events WHERE run = $1 AND id < $2`, [run.n, firstEventId])
      }
      if (secrets.length > 0) {
        // Stored as JSON, because a secret may contain characters that PostgreSQL can't store as text.
        const values = secrets.map((secret) => JSON.stringify(secret))
        const hashed = `SELECT $1, sha256(convert_to(value, 'UTF8')), value FROM unnest($2::text[]) AS value`
        await query(`INSERT INTO ${this.#in}.shown_secrets ${hashed} ON CONFLICT DO NOTHING`, [run.n, values])
      }
      const told = 'first_event = $2, last_event = greatest(last_event, $3), title = $4, hides_all = $5, folded_title = $6'
      const last = events.at(-1)?.id ?? 0
      await query(`UPDATE ${this.#in}.shown_runs SET ${told} WHERE n = $1`, [
        run.n,
        firstEventId,
        last,
        plain(title),
        hidesAll,
        folded(title),
      ])
      return true
    })
  }

  async put(run: NewShownRun, attempt: string, news: ShownNews, outcome: ShownOutcome, room?: WaitingRoom): ReturnType<ShownRuns['put']> {
    const { runId } = run
    const begun = await this.begin(run, { attempt })
    if (begun === undefined || !(await this.append(runId, attempt, news))) return 'changed'
    // The state already includes earlier messages.
    const said = `DELETE FROM ${this.#in}.shown_messages WHERE run = (SELECT n FROM ${this.#in}.shown_runs WHERE id = $1)`
    await this.#database.query(said, [runId])
    return this.settle(runId, { status: 'running', attempt }, outcome, room)
  }

  settle(
    runId: string,
    expected: ExpectedRun,
    {
      status,
      stopReason,
      finishedAt,
      title,
      words = '',
      waitedMs = 0,
      turns,
      calls,
      tokens,
      costUsd,
      errorCode,
      tools = [],
      model,
      summary,
      result,
      state = '',
    }: ShownOutcome,
    room?: WaitingRoom,
  ): Promise<'settled' | 'changed' | 'no_room'> {
    return this.#database.transaction(async (query) => {
      // One at a time: together, two runs might exceed the room.
      if (room !== undefined) await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`toolloop room in ${this.#in}`])
      const run = await this.#locked(query, runId)
      if (run === undefined || (expected.attempt !== undefined && run.attempt !== expected.attempt)) return 'changed'
      // By an earlier attempt at this call, whose answer was lost.
      if (run.status === status && Number(run.finished_at) === finishedAt) return 'settled'
      if (run.status !== expected.status) return 'changed'
      const stateSize = status === 'waiting' ? state.length + (await this.#waiting.stateSize(query, runId)) : 0
      const size = stateSize + (result?.length ?? 0) + (await this.#waiting.eventsSize(query, run))
      if (room !== undefined && !(await this.#waiting.hasRoom(query, run, size, stateSize, room))) return 'no_room'
      const came = 'status = $2, stop_reason = $3, finished_at = $4, size = $5, title = $6, summary = $7, result = coalesce($8, result)'
      const values = [run.n, status, stopReason, finishedAt, size, plain(title), summary, result ?? null]
      const found = [plain(words), costUsd ?? null, folded(title)]
      // By the server's clock. The clock of this process may be wrong, and other processes use the time to compute how long the run has waited.
      const sets = `${came}, words = $9, cost = $10, folded_title = $11, settled_at = ${now} - $12::bigint, state = $13, model = $14`
      const did = 'waited = $15, turns = $16, calls = $17, tokens = $18, error = $19, tools = $20'
      await query(`UPDATE ${this.#in}.shown_runs SET ${sets}, ${did} WHERE n = $1`, [
        ...values,
        ...found,
        Math.max(0, Date.now() - finishedAt),
        state,
        model === undefined ? null : plain(model),
        Math.round(waitedMs),
        turns ?? null,
        calls ?? null,
        tokens ?? null,
        errorCode === undefined ? null : plain(errorCode),
        plain(linesOf(tools)),
      ])
      if (status === 'ended') await this.#hide(query, [run.n])
      return 'settled'
    })
  }

  giveUp(which: { runId: string } | { waitingForMs: number }, error: { code: string; message: string }): Promise<string[]> {
    const late = `settled_at < ${now} - $1::float8`
    const [those, value] = 'runId' in which ? ['id = $1', which.runId] : [late, which.waitingForMs]
    return this.#database.transaction(async (query) => {
      const waiting = `SELECT n, id, summary FROM ${this.#in}.shown_runs WHERE status = 'waiting' AND ${those}`
      const runs = await query(`${waiting} LIMIT ${givenUpAtOnce} FOR UPDATE`, [value])
      for (const { n, summary } of runs) {
        const told = JSON.stringify({ ...JSON.parse(String(summary ?? '{}')), stopReason: 'aborted', pending: [], error })
        const given = `status = 'ended', stop_reason = 'aborted', finished_at = ${now}, settled_at = ${now}, summary = $2, error = $3`
        const waited = `waited = waited + greatest(0, ${now} - settled_at)`
        await query(`UPDATE ${this.#in}.shown_runs SET ${given}, ${waited} WHERE n = $1`, [n, told, error.code])
      }
      const ids = runs.map(({ n }) => n)
      await this.#hide(query, ids)
      return runs.map(({ id }) => String(id))
    })
  }

  noteDecisions(runId: string, note: string, decisions: readonly string[]): Promise<boolean> {
    return this.#database.transaction(async (query) => {
      const run = await this.#locked(query, runId)
      if (run === undefined) return false
      const noted = `SELECT 1 FROM ${this.#in}.shown_decisions WHERE run = $1 AND note = $2 LIMIT 1`
      if ((await query(noted, [run.n, note])).length > 0) return true
      const last = `(SELECT coalesce(max(n), 0) FROM ${this.#in}.shown_decisions WHERE run = $1)`
      const numbered = `SELECT $1, ${last} + at, $2, value FROM unnest($3::text[]) WITH ORDINALITY AS decided (value, at)`
      await query(`INSERT INTO ${this.#in}.shown_decisions (run, n, note, value) ${numbered}`, [run.n, note, decisions])
      return true
    })
  }

  async withdrawDecisions(runId: string, note: string): Promise<void> {
    const own = `run = (SELECT n FROM ${this.#in}.shown_runs WHERE id = $1) AND note = $2`
    await this.#database.query(`DELETE FROM ${this.#in}.shown_decisions WHERE ${own}`, [runId, note])
  }

  async get(runId: string): Promise<ShownRun | undefined> {
    const secrets = `ARRAY(SELECT value FROM ${this.#in}.shown_secrets WHERE run = shown_runs.n) AS secrets`
    const decisions = `ARRAY(SELECT value FROM ${this.#in}.shown_decisions d WHERE run = shown_runs.n ORDER BY d.n) AS decisions`
    const tags = `ARRAY(SELECT tag FROM ${this.#in}.shown_tags WHERE run = shown_runs.n) AS tags`
    const age = `${now} - settled_at AS settled_for`
    const columns = `${listColumns}, request, attempt, head, hides_all, ${age}, ${secrets}, ${decisions}, ${tags}`
    const [run] = await this.#database.query(`SELECT ${columns} FROM ${this.#in}.shown_runs WHERE id = $1`, [runId])
    if (run === undefined) return undefined
    return {
      ...listed(run),
      tags: run.tags as string[],
      request: typeof run.request === 'string' ? run.request : undefined,
      attempt: String(run.attempt),
      head: String(run.head),
      ...(run.settled_for === null ? {} : { settledForMs: Number(run.settled_for) }),
      secrets: (run.secrets as string[]).map((secret) => String(JSON.parse(secret))),
      hidesAll: run.hides_all === true,
      decisions: run.decisions as string[],
    }
  }

  async result(runId: string): Promise<string> {
    const [run] = await this.#database.query(`SELECT result FROM ${this.#in}.shown_runs WHERE id = $1`, [runId])
    return run === undefined ? '' : String(run.result)
  }

  async state(runId: string): Promise<string> {
    const [run] = await this.#database.query(`SELECT state FROM ${this.#in}.shown_runs WHERE id = $1`, [runId])
    return run === undefined ? '' : String(run.state)
  }

  async events(runId: string, after: number): Promise<ShownEvent[]> {
    const own = `run = (SELECT n FROM ${this.#in}.shown_runs WHERE id = $1) AND id > $2::bigint`
    const part = `SELECT id, type, data FROM ${this.#in}.shown_events WHERE ${own} ORDER BY id LIMIT ${mostEvents}`
    const rows = await this.#database.query(
      `SELECT id, type, data FROM (SELECT *, ${before('data', 'id')} FROM (${part}) AS part) AS counted
       WHERE before < ${mostCharactersOfEvents} ORDER BY id`,
      [runId, after],
    )
    return rows.map(({ id, type, data }) => ({ id: Number(id), type: String(type), data: String(data) }))
  }

  keepRecording(runId: string, attempt: string, parts: readonly RecordingPart[]): Promise<boolean> {
    return this.#database.transaction(async (query) => {
      const run = await this.#locked(query, runId)
      if (run?.attempt !== attempt) return false
      const rows = `SELECT $1, name, length(value), value FROM unnest($2::text[], $3::text[]) AS part (name, value)`
      const replaced = 'ON CONFLICT (run, name) DO UPDATE SET size = excluded.size, value = excluded.value'
      const columns = [parts.map(({ name }) => name), parts.map(({ value }) => value)]
      await query(`INSERT INTO ${this.#in}.shown_recordings (run, name, size, value) ${rows} ${replaced}`, [run.n, ...columns])
      return true
    })
  }

  async recording(runId: string, after: string): Promise<RecordingPart[]> {
    const own = `run = (SELECT n FROM ${this.#in}.shown_runs WHERE id = $1) AND name > $2`
    const part = `SELECT name, value FROM ${this.#in}.shown_recordings WHERE ${own} ORDER BY name LIMIT ${mostEvents}`
    const rows = await this.#database.query(
      `SELECT name, value FROM (SELECT *, ${before('value', 'name')} FROM (${part}) AS part) AS counted
       WHERE before < ${mostCharactersOfEvents} ORDER BY name`,
      [runId, after],
    )
    return rows.map(({ name, value }) => ({ name: String(name), value: String(value) }))
  }

  async progress(runIds: readonly string[]): Promise<ShownProgress[]> {
    const those = `SELECT id, status, last_event FROM ${this.#in}.shown_runs WHERE id = ANY($1)`
    const runs = runIds.length === 0 ? [] : await this.#database.query(those, [runIds])
    return runs.map(({ id, status, last_event }) => ({ runId: String(id), status: status as RunStatus, lastEventId: Number(last_event) }))
  }

  say(runId: string, messages: readonly string[]): Promise<boolean> {
    // Lets a second attempt recognize what the first has stored.
    const by = crypto.randomUUID()
    return this.#database.transaction(async (query) => {
      const run = await this.#locked(query, runId)
      if (run === undefined) return false
      const mine = `SELECT 1 FROM ${this.#in}.shown_messages WHERE run = $1 AND said_by = $2 LIMIT 1`
      if ((await query(mine, [run.n, by])).length > 0) return true
      if (run.status === 'ended' || run.listens !== true) return false
      const last = `(SELECT coalesce(max(n), 0) FROM ${this.#in}.shown_messages WHERE run = $1)`
      const numbered = `SELECT $1, ${last} + at, value, $2 FROM unnest($3::text[]) WITH ORDINALITY AS said (value, at)`
      await query(`INSERT INTO ${this.#in}.shown_messages (run, n, value, said_by) ${numbered}`, [run.n, by, messages])
      return true
    })
  }

  async said(runId: string, without: number): Promise<string[]> {
    const all = `SELECT m.value FROM ${this.#in}.shown_messages m JOIN ${this.#in}.shown_runs r ON m.run = r.n WHERE r.id = $1 AND m.n > $2::bigint`
    return (await this.#database.query(`${all} ORDER BY m.n`, [runId, without])).map(({ value }) => String(value))
  }

  hush(runId: string, said: number): Promise<boolean> {
    return this.#database.transaction(async (query) => {
      const run = await this.#locked(query, runId)
      if (run === undefined) return false
      const more = `SELECT 1 FROM ${this.#in}.shown_messages WHERE run = $1 AND n > $2::bigint LIMIT 1`
      if ((await query(more, [run.n, said])).length > 0) return false
      await query(`UPDATE ${this.#in}.shown_runs SET listens = false WHERE n = $1`, [run.n])
      return true
    })
  }

  async list(asked: ShownQuery): Promise<ShownPage> {
    const { from, order } = this.#select(asked)
    const most = Math.min(asked.limit, mostRuns)
    const place = new Statement('row_number() OVER () AS place')
    // One more than shown, to know whether there is a next page.
    const part = sql`SELECT ${new Statement(listColumns)} ${from} ${order} LIMIT ${most + 1} OFFSET ${asked.offset ?? 0}`
    const placed = sql`SELECT *, ${place} FROM (${part}) AS part`
    const counted = sql`SELECT *, count(*) OVER () AS found, ${new Statement(before('summary', 'place'))} FROM (${placed}) AS placed`
    const rows = await this.#rows(
      sql`SELECT * FROM (${counted}) AS counted WHERE before < ${new Statement(String(mostCharacters))} ORDER BY place LIMIT ${most}`,
    )
    return { runs: rows.map(listed), hasMore: Number(rows[0]?.found ?? 0) > rows.length }
  }

  async sum(query: ShownQuery): Promise<ShownSums> {
    return sumsOf((await this.#rows(sumShown(this.#select(query))))[0])
  }

  async sessions(query: ShownQuery): Promise<ShownSession[]> {
    return (await this.#rows(sessionsOf(dialectOf(this.#in), this.#select(query), query))).map(sessionOf)
  }

  #select(query: ShownQuery): ShownSelection {
    return selectShown(dialectOf(this.#in), query, { text: 'concat_ws(chr(10), folded_title, words)' })
  }

  #rows(statement: Statement): Promise<readonly Row[]> {
    return this.#database.query(...numbered(statement))
  }

  async unsettled(forMs: number): Promise<string[]> {
    const over = `r.id IS NULL OR (r.status <> 'running' AND r.updated_at <= ${now} - $2)`
    const joined = `${this.#in}.shown_runs s LEFT JOIN ${this.#in}.runs r ON r.agent = $1 AND r.id = s.id`
    const rows = await this.#database.query(`SELECT s.id FROM ${joined} WHERE s.status = 'running' AND (${over})`, [this.#agent, forMs])
    return rows.map(({ id }) => String(id))
  }

  waiting(of?: Pick<ShownQuery, 'caller' | 'tags'>): Promise<{ runs: number; characters: number }> {
    return this.#waiting.count(this.#database.query, of)
  }

  async forget({ runs, ageMs, characters, recordingCharacters }: ShownBounds): Promise<number> {
    const order = `OVER (ORDER BY settled_at DESC, n DESC ROWS UNBOUNDED PRECEDING)`
    const counted = `SELECT n, settled_at, count(*) ${order} AS place, sum(size) ${order} AS total FROM ${this.#in}.shown_runs WHERE status = 'ended'`
    const old = `place > $1::float8 OR total > $2::float8 OR settled_at <= ${now} - $3::float8`
    const doomed = `SELECT n FROM (${counted}) AS counted WHERE ${old} LIMIT ${prunedAtOnce}`
    let deleted = 0
    for (;;) {
      const values = [runs, characters, ageMs]
      const rows = await this.#database.query(`DELETE FROM ${this.#in}.shown_runs WHERE n IN (${doomed}) RETURNING n`, values)
      deleted += rows.length
      // Not until none are left: runs that end meanwhile could keep the loop running.
      if (rows.length < prunedAtOnce) break
    }
    await this.#forgetRecordings(recordingCharacters)
    return deleted
  }

  /** Recordings of running and waiting runs are kept longest; among equals, the newest. */
  async #forgetRecordings(characters: number): Promise<void> {
    const sizes = `SELECT run, sum(size) AS size FROM ${this.#in}.shown_recordings GROUP BY run`
    const order = `status = 'ended', run DESC ROWS UNBOUNDED PRECEDING`
    const totals = `SELECT run, sum(sizes.size) OVER (ORDER BY ${order}) AS total FROM (${sizes}) AS sizes JOIN ${this.#in}.shown_runs ON n = run`
    const doomed = `SELECT run FROM (${totals}) AS totals WHERE total > $1::float8`
    await this.#database.query(`DELETE FROM ${this.#in}.shown_recordings WHERE run IN (${doomed})`, [characters])
  }

  /** Returns the run, locked until the transaction ends. */
  async #locked(query: Query, runId: string): Promise<Row | undefined> {
    const columns = 'n, caller, status, attempt, finished_at, first_event, listens'
    const [run] = await query(`SELECT ${columns} FROM ${this.#in}.shown_runs WHERE id = $1 FOR UPDATE`, [runId])
    return run
  }

  /** Deletes everything about finished runs except what is shown. */
  async #hide(query: Query, runs: readonly unknown[]): Promise<void> {
    for (const table of ['secrets', 'messages']) await query(`DELETE FROM ${this.#in}.shown_${table} WHERE run = ANY($1)`, [runs])
    await query(`UPDATE ${this.#in}.shown_runs SET head = '', state = '' WHERE n = ANY($1)`, [runs])
  }
}

/** The number of characters of a column in the rows before one. */
function before(column: string, order: string): string {
  return `coalesce(sum(octet_length(${column})) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before`
}

/** Folds a title for searching, because how PostgreSQL folds case depends on the locale of its database. */
function folded(title: string): string {
  return plain(title.toLowerCase())
}
