import { entryTaken, type StoredEntry, takenOver } from '../../agent/journal/store.ts'
import type { Database } from './database.ts'
import type { Owner } from './owner.ts'
import { plain } from './values.ts'

/** The records of calls, in SQL. Each call may be made twice: if the server is lost while it answers, nobody knows whether it has stored the entry. */
export class CallRecords {
  readonly #database: Database
  readonly #owner: Owner
  readonly #agent: string
  /** The schema, quoted. */
  readonly #in: string

  constructor(database: Database, owner: Owner, { agent, schema }: { agent: string; schema: string }) {
    this.#database = database
    this.#owner = owner
    this.#agent = agent
    this.#in = schema
  }

  async append(runId: string, epoch: number, record: string, entry: StoredEntry): Promise<void> {
    const { position, fingerprint, value } = entry
    const run = `SELECT n FROM ${this.#in}.runs WHERE agent = $1 AND id = $2 AND epoch = $3 AND owner = $4`
    // The same entry again: a first attempt has come through.
    const same = `${this.#in}.call_records.fingerprint = excluded.fingerprint AND ${this.#in}.call_records.value = excluded.value`
    const insert =
      `INSERT INTO ${this.#in}.call_records (run, record, position, fingerprint, value) SELECT n, $5, $6, $7, $8 FROM owned ` +
      `ON CONFLICT (run, record, position) DO UPDATE SET value = excluded.value WHERE ${same} RETURNING run`
    const append = `WITH owned AS (${run} FOR SHARE), added AS (${insert}) SELECT (SELECT count(*) FROM owned) AS owned, (SELECT count(*) FROM added) AS added`
    const values = [this.#agent, runId, epoch, this.#owner.n, plain(record), position, plain(fingerprint), value]
    const [counts] = await this.#database.query(append, values)
    if (Number(counts?.owned) === 0) throw takenOver(runId)
    if (Number(counts?.added) === 0) throw entryTaken(runId, record, entry)
  }

  async entries(runId: string, record: string): Promise<StoredEntry[]> {
    const joined = `${this.#in}.call_records JOIN ${this.#in}.runs ON run = n WHERE agent = $1 AND id = $2 AND record = $3`
    const rows = await this.#database.query(`SELECT position, fingerprint, value FROM ${joined} ORDER BY position`, [
      this.#agent,
      runId,
      plain(record),
    ])
    return rows.map((row) => ({ position: Number(row.position), fingerprint: String(row.fingerprint), value: String(row.value) }))
  }
}
