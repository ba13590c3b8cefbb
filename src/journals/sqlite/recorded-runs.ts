import { crc32 } from 'node:zlib'
import { loopVersion, type PruneOptions, type RunPage, type RunQuery } from '../../agent/journal/journal.ts'
import type { RecordingPart } from '../../agent/journal/shown-runs.ts'
import {
  decisionRefused,
  endOfTime,
  entryTaken,
  expiredText,
  type KeptText,
  type NamedValue,
  type NewRun,
  type NotTaken,
  type Outcome,
  type RunNews,
  type StoredEntry,
  type StoredRun,
  type Suspension,
  type Taken,
  takenOver,
  unknownRun,
} from '../../agent/journal/store.ts'
import { tagsOf } from '../../agent/journal/tags.ts'
import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'
import { storedText, withoutUndefined } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { FileClock } from '../../sqlite/file-clock.ts'
import type { FileParts } from '../../sqlite/opened-file.ts'
import type { Owner } from '../../sqlite/owner.ts'
import { type Row, Statements } from '../../sqlite/statements.ts'
import { listOf, ownersOf, pageOf } from '../queries/list-runs.ts'
import { summaryOf, timeOf } from '../queries/run-row.ts'
import { deleteRecorded, prunedAtOnce } from './delete-recorded.ts'
import { sqlite } from './dialect.ts'

/** What else has a checksum is called by the names of steps and waits. */
const [inputName, outputName] = ['input', 'output']

/** What `Store` promises, in SQL. Each call has to be made inside a transaction, which is rolled back if it throws. */
export class RecordedRuns {
  readonly #sql: Statements
  readonly #owner: Owner
  readonly #clock: FileClock
  readonly #agent: string
  readonly #file: string

  constructor({ database, owner, clock }: FileParts, agent: string) {
    this.#file = database.location() ?? ''
    this.#sql = new Statements(database)
    this.#owner = owner
    this.#clock = clock
    this.#agent = agent
  }

  take(runId: string, created?: NewRun): Taken | NotTaken {
    const run = this.#find(runId)
    if (run === undefined) {
      if (created === undefined) throw unknownRun(runId)
      return this.#create(runId, created)
    }
    this.#checkAgent(run, runId)
    if (run.status === 'ended') return { kind: 'ended' }
    if (run.status === 'waiting' && !this.#canGoOn(run)) return { kind: 'waiting' }
    if (typeof run.owner === 'string' && run.owner !== this.#owner.id && this.#owner.isAlive(run.owner)) return { kind: 'elsewhere' }
    if (run.status === 'waiting') this.#takeDecisions(run)
    const hasDied = run.owner !== null && run.owner !== this.#owner.id
    const taken = "UPDATE runs SET status = 'running', owner = ?, epoch = epoch + 1, problem = NULL, updated_at = ? WHERE n = ?"
    this.#sql.run(taken, this.#owner.id, this.#clock.now(), run.n)
    return { ...this.#taken({ ...run, epoch: Number(run.epoch) + 1 }), hasDied, input: this.#input(run) }
  }

  record(runId: string, epoch: number, key: string, value: string): void {
    const owned = 'SELECT n, ?, ?, ? FROM runs WHERE id = ? AND owner = ? AND epoch = ?'
    const crc = checksum(runId, key, value)
    const insert = `INSERT INTO steps (run, key, value, crc) ${owned} ON CONFLICT DO NOTHING`
    const { changes } = this.#sql.run(insert, key, value, crc, runId, this.#owner.id, epoch)
    if (changes > 0) return
    this.#owned(runId, epoch)
    const recorded = this.#sql.one('SELECT value FROM steps JOIN runs ON run = n WHERE id = ? AND key = ?', runId, key)
    if (recorded?.value !== value) throw new ToolloopError('journal_failed', `Step \`${key}\` of run \`${runId}\` is recorded already`)
  }

  keep(runId: string, epoch: number, { name, value, bytes }: KeptText, maxBytes: number): boolean {
    const { n } = this.#owned(runId, epoch)
    const others = this.#sql.one('SELECT total(bytes) AS bytes FROM kept_texts WHERE run = ? AND name <> ?', n, name)
    if (Number(others?.bytes) + bytes > maxBytes) return false
    const kept = 'INSERT OR REPLACE INTO kept_texts (run, name, bytes, value, crc) VALUES (?, ?, ?, ?, ?)'
    this.#sql.run(kept, n, name, bytes, value, checksum(runId, name, value))
    return true
  }

  append(runId: string, epoch: number, record: string, entry: StoredEntry): void {
    const { n } = this.#owned(runId, epoch)
    const { position, fingerprint, value } = entry
    const columns = '(run, record, position, fingerprint, value, crc)'
    const insert = `INSERT INTO call_records ${columns} VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
    const crc = checksum(runId, entryName(record, position, fingerprint), value)
    const { changes } = this.#sql.run(insert, n, record, position, fingerprint, value, crc)
    if (changes === 0) throw entryTaken(runId, record, entry)
  }

  entries(runId: string, record: string): StoredEntry[] {
    const { n } = this.#found(runId)
    const all = 'SELECT position, fingerprint, value, crc FROM call_records WHERE run = ? AND record = ? ORDER BY position'
    return this.#sql.all(all, n, record).map((row): StoredEntry => {
      const [position, fingerprint] = [Number(row.position), String(row.fingerprint)]
      return { position, fingerprint, value: this.#whole(row, runId, entryName(record, position, fingerprint)) }
    })
  }

  /** `keepRecording` of what is shown of runs: here, for it to be in one transaction with a step. */
  keepRecording(runId: string, attempt: string, parts: readonly RecordingPart[]): boolean {
    const run = this.#sql.one('SELECT n FROM shown_runs WHERE id = ? AND attempt = ?', runId, attempt)
    if (run === undefined) return false
    const kept = 'INSERT OR REPLACE INTO shown_recordings (run, name, size, value) VALUES (?, ?, ?, ?)'
    for (const { name, value } of parts) this.#sql.run(kept, run.n, name, value.length, value)
    return true
  }

  noteTries(runId: string, epoch: number, tries: number): void {
    this.#sql.run('UPDATE runs SET tries = ? WHERE n = ?', tries, this.#owned(runId, epoch).n)
  }

  kept(runId: string, name: string): string | undefined {
    const { n } = this.#found(runId)
    const text = this.#sql.one('SELECT value, crc FROM kept_texts WHERE run = ? AND name = ?', n, name)
    return text && this.#whole(text, runId, name)
  }

  finish(runId: string, epoch: number, output: string, outcome: Outcome): void {
    const run = this.#owned(runId, epoch)
    // The result has all that its steps have.
    for (const table of ['steps', 'kept_texts', 'call_records']) this.#sql.run(`DELETE FROM ${table} WHERE run = ?`, run.n)
    this.#leave(run, 'ended', outcome, output)
  }

  suspend(runId: string, epoch: number, { output, model, waits, forget }: Suspension): Taken | undefined {
    const run = this.#owned(runId, epoch)
    for (const key of forget) this.#sql.run('DELETE FROM steps WHERE run = ? AND key = ?', run.n, key)
    const now = this.#clock.now()
    for (const { name, timeoutMs } of waits) {
      const deadline = timeoutMs === undefined || now + timeoutMs > endOfTime ? null : Math.ceil(now + timeoutMs)
      this.#sql.run('INSERT INTO waits (run, name, deadline) VALUES (?, ?, ?) ON CONFLICT DO NOTHING', run.n, name, deadline)
    }
    if (this.#canGoOn(run)) {
      this.#takeDecisions(run)
      return this.#taken(run)
    }
    this.#leave(run, 'waiting', { stopReason: 'paused', model }, output)
    return undefined
  }

  release(runId: string, epoch: number, problem: string | null = null, tries: number | null = null): void {
    const released = 'UPDATE runs SET owner = NULL, problem = ?, tries = coalesce(?, tries), updated_at = ?'
    this.#sql.run(`${released} WHERE id = ? AND owner = ? AND epoch = ?`, problem, tries, this.#clock.now(), runId, this.#owner.id, epoch)
  }

  deliver(runId: string, decisions: readonly NamedValue[]): void {
    const run = this.#found(runId)
    const now = this.#clock.now()
    for (const { name, value } of decisions) {
      const wait = this.#sql.one('SELECT deadline, value, decided_at FROM waits WHERE run = ? AND name = ?', run.n, name)
      if (wait === undefined) throw decisionRefused(runId, name, 'nothing waits for it')
      if (run.status === 'ended') throw decisionRefused(runId, name, 'the run has ended')
      if (wait.value !== null) throw decisionRefused(runId, name, `it was decided at ${timeOf(wait.decided_at)}`)
      if (wait.deadline !== null && Number(wait.deadline) <= now) {
        throw decisionRefused(runId, name, `it was waited for until ${timeOf(wait.deadline)}`)
      }
      const decided = 'UPDATE waits SET value = ?, crc = ?, decided_at = ? WHERE run = ? AND name = ?'
      this.#sql.run(decided, value, checksum(runId, name, value), now, run.n, name)
    }
  }

  cancel(runId: string, reason: string): void {
    const run = this.#found(runId)
    this.#sql.run("UPDATE runs SET cancel_reason = coalesce(cancel_reason, ?) WHERE n = ? AND status <> 'ended'", reason, run.n)
  }

  cancelled(): { runId: string; reason: string }[] {
    const rows = this.#sql.all(
      "SELECT id, cancel_reason FROM runs WHERE agent = ? AND status = 'running' AND owner = ? AND cancel_reason IS NOT NULL",
      this.#agent,
      this.#owner.id,
    )
    return rows.map((row) => ({ runId: String(row.id), reason: String(row.cancel_reason) }))
  }

  get(runId: string): StoredRun | undefined {
    const run = this.#find(runId)
    if (run === undefined || run.agent !== this.#agent) return undefined
    const isDead = typeof run.owner === 'string' && !this.#owner.isAlive(run.owner)
    const output = this.#sql.one('SELECT value, crc FROM outputs WHERE run = ?', run.n)
    const waits = run.status === 'ended' ? [] : this.#sql.all('SELECT name FROM waits WHERE run = ? AND value IS NULL', run.n)
    return {
      ...summaryOf(run, new Set(isDead ? [run.owner] : [])),
      input: this.#input(run),
      waits: waits.map(({ name }) => String(name)),
      ...withoutUndefined({ output: output && this.#whole(output, runId, outputName) }),
    }
  }

  news(runId: string, known: readonly string[]): RunNews | undefined {
    const run = this.#find(runId)
    if (run === undefined || run.agent !== this.#agent) return undefined
    const news = 'SELECT key AS name, value, crc FROM steps WHERE run = ? AND key NOT IN (SELECT value FROM json_each(?))'
    return { status: run.status as RunStatus, steps: this.#named(run, this.#sql.all(news, run.n, JSON.stringify(known))) }
  }

  list(query: RunQuery): RunPage {
    const owners = this.#sql.rowsOf(ownersOf(sqlite, this.#agent))
    const dead = new Set(owners.flatMap(({ owner }) => (this.#owner.isAlive(String(owner)) ? [] : [String(owner)])))
    return pageOf(this.#sql.rowsOf(listOf(sqlite, this.#agent, query, dead)), query, dead)
  }

  pending(): string[] {
    const alive = new Map<string, boolean>()
    const isAlive = (owner: string): boolean => {
      const known = alive.get(owner) ?? (owner !== this.#owner.id && this.#owner.isAlive(owner))
      alive.set(owner, known)
      return known
    }
    const running = this.#sql.all("SELECT n, id, owner FROM runs WHERE agent = ? AND status = 'running'", this.#agent)
    const open = running.filter(({ owner }) => owner === null || !isAlive(String(owner)))
    const due =
      'n IN (SELECT run FROM waits WHERE taken = 0 AND value IS NOT NULL) OR ' +
      'n IN (SELECT run FROM waits WHERE taken = 0 AND value IS NULL AND deadline <= ?) OR cancel_reason IS NOT NULL'
    const ready = this.#sql.all(
      `SELECT n, id FROM runs WHERE agent = ? AND status = 'waiting' AND (${due})`,
      this.#agent,
      this.#clock.now(),
    )
    return [...open, ...ready].toSorted((a, b) => Number(a.n) - Number(b.n)).map(({ id }) => String(id))
  }

  /** Deletes some of them, and returns how many: fewer than `prunedAtOnce` when all are deleted. */
  prune({ olderThanMs, keep }: PruneOptions): number {
    const ended = "SELECT n FROM runs WHERE agent = ? AND status = 'ended'"
    const old = () =>
      this.#sql.all(`${ended} AND updated_at <= ? LIMIT ${prunedAtOnce}`, this.#agent, this.#clock.now() - (olderThanMs ?? 0))
    const many = () => this.#sql.all(`${ended} ORDER BY updated_at DESC, n DESC LIMIT ${prunedAtOnce} OFFSET ?`, this.#agent, keep)
    const doomed = new Set([...(olderThanMs === undefined ? [] : old()), ...(keep === undefined ? [] : many())].map(({ n }) => Number(n)))
    for (const n of doomed) deleteRecorded(this.#sql, n)
    return doomed.size
  }

  #create(runId: string, { input, loop, metadata, session }: NewRun): Taken {
    const now = this.#clock.now()
    const columns = '(id, agent, status, owner, epoch, loop, created_at, updated_at, metadata, session)'
    const insert = `INSERT INTO runs ${columns} VALUES (?, ?, 'running', ?, 1, ?, ?, ?, ?, ?)`
    const said = metadata === undefined ? null : storedText(metadata)
    const { lastInsertRowid } = this.#sql.run(insert, runId, this.#agent, this.#owner.id, loop, now, now, said, session)
    for (const tag of tagsOf(metadata))
      this.#sql.run('INSERT INTO run_tags (tag, run) VALUES (?, ?) ON CONFLICT DO NOTHING', tag, lastInsertRowid)
    const crc = checksum(runId, inputName, input)
    this.#sql.run('INSERT INTO inputs (run, value, crc) VALUES (?, ?, ?)', lastInsertRowid, input, crc)
    return { kind: 'taken', epoch: 1, steps: [], decisions: [], tries: 0, hasDied: false }
  }

  /** Whether one that waits, or is about to, can go on. */
  #canGoOn({ n, cancel_reason }: Row): boolean {
    // Read anew: it may have been cancelled since the row was read.
    const due = 'SELECT 1 FROM waits WHERE run = ? AND taken = 0 AND (value IS NOT NULL OR deadline <= ?) LIMIT 1'
    return cancel_reason !== null || this.#sql.one(due, n ?? null, this.#clock.now()) !== undefined
  }

  /** What is decided by now is what the run goes on with. */
  #takeDecisions({ n = null, id }: Row): void {
    const now = this.#clock.now()
    // Nobody has decided: there is no more to it than that.
    const expired = 'UPDATE waits SET value = ?, crc = ?, decided_at = ? WHERE run = ? AND name = ?'
    for (const { name } of this.#sql.all('SELECT name FROM waits WHERE run = ? AND value IS NULL AND deadline <= ?', n, now))
      this.#sql.run(expired, expiredText, checksum(String(id), String(name), expiredText), now, n, name)
    this.#sql.run('UPDATE waits SET taken = 1 WHERE run = ? AND value IS NOT NULL', n)
  }

  #named({ id }: Row, rows: Row[]): NamedValue[] {
    return rows.map((row) => ({ name: String(row.name), value: this.#whole(row, String(id), String(row.name)) }))
  }

  #taken(run: Row): Taken {
    const { n = null, epoch, cancel_reason, tries } = run
    return {
      kind: 'taken',
      epoch: Number(epoch),
      tries: Number(tries),
      hasDied: false,
      steps: this.#named(run, this.#sql.all('SELECT key AS name, value, crc FROM steps WHERE run = ?', n)),
      decisions: this.#named(run, this.#sql.all('SELECT name, value, crc FROM waits WHERE run = ? AND taken = 1', n)),
      ...(typeof cancel_reason === 'string' ? { cancelled: cancel_reason } : {}),
    }
  }

  #input({ n, id }: Row): string {
    return this.#whole(this.#sql.one('SELECT value, crc FROM inputs WHERE run = ?', n) ?? {}, String(id), inputName)
  }

  /** A text as it was recorded. Throws if it is not. */
  #whole({ value, crc }: Row, runId: string, name: string): string {
    const text = String(value)
    if (crc === checksum(runId, name, text)) return text
    const damaged = `Run \`${runId}\` of the journal \`${this.#file}\` can’t be read: \`${name}\` is not what was recorded. Restore a backup`
    throw new ToolloopError('journal_failed', damaged)
  }

  #leave({ n = null, id }: Row, status: RunStatus, { stopReason, model }: Outcome, output: string): void {
    const left = 'UPDATE runs SET status = ?, stop_reason = ?, model = ?, owner = NULL, problem = NULL, updated_at = ? WHERE n = ?'
    this.#sql.run(left, status, stopReason, model, this.#clock.now(), n)
    const kept =
      'INSERT INTO outputs (run, value, crc) VALUES (?, ?, ?) ON CONFLICT (run) DO UPDATE SET value = excluded.value, crc = excluded.crc'
    this.#sql.run(kept, n, output, checksum(String(id), outputName, output))
  }

  #find(runId: string): Row | undefined {
    // SQLite would keep another text, and two ids would be one.
    if (!runId.isWellFormed()) throw new InvalidOptionError('runId', 'well-formed Unicode', runId)
    return this.#sql.one('SELECT * FROM runs WHERE id = ?', runId)
  }

  #found(runId: string): Row {
    const run = this.#find(runId)
    if (run === undefined) throw unknownRun(runId)
    this.#checkAgent(run, runId)
    return run
  }

  #owned(runId: string, epoch: number): Row {
    const run = this.#sql.one('SELECT * FROM runs WHERE id = ? AND owner = ? AND epoch = ?', runId, this.#owner.id, epoch)
    if (run === undefined) throw takenOver(runId)
    return run
  }

  #checkAgent({ agent, loop }: Row, runId: string): void {
    if (agent !== this.#agent) throw new InvalidOptionError('agent', `\`${agent}\`, the agent of run \`${runId}\``, this.#agent)
    if (Number(loop) <= loopVersion) return
    const message = `Expected run \`${runId}\` to be recorded by loop version ${loopVersion} or older, got ${loop}: a newer toolloop has written it`
    throw new ToolloopError('journal_failed', message)
  }
}

/** Finds out what a disk has changed. It covers the names, too: a text that has come to another place is not whole. */
function checksum(runId: string, name: string, text: string): number {
  return crc32(text, crc32(`${runId}\n${name}`))
}

function entryName(record: string, position: number, fingerprint: string): string {
  return `${record}, ${position}: ${fingerprint}`
}
