import type { ShownQuery, WaitingRoom } from '../../../agent/journal/shown-runs.ts'
import { numbered } from '../../../sql/statement.ts'
import { sumWaiting } from '../../queries/list-shown.ts'
import type { Query, Row } from '../database.ts'
import { dialectOf } from '../dialect.ts'

/** Measures waiting runs, and checks whether there is room for another, in SQL. */
export class WaitingRuns {
  readonly #agent: string
  /** The schema, quoted. */
  readonly #in: string

  constructor({ agent, schema }: { agent: string; schema: string }) {
    this.#agent = agent
    this.#in = schema
  }

  /** The number and size of waiting runs: of one caller, with all of these tags, or of all. */
  async count(query: Query, of?: Pick<ShownQuery, 'caller' | 'tags'>): Promise<{ runs: number; characters: number }> {
    const [found] = await query(...numbered(sumWaiting(dialectOf(this.#in), of)))
    return { runs: Number(found?.runs), characters: Number(found?.characters) }
  }

  /** The size of what the journal stores of a run. */
  async stateSize(query: Query, runId: string): Promise<number> {
    const steps = `SELECT coalesce(sum(characters), 0) FROM ${this.#in}.executions WHERE run = n`
    const sum = `SELECT octet_length(input) + (${steps}) AS size FROM ${this.#in}.runs WHERE agent = $1 AND id = $2`
    return Number((await query(sum, [this.#agent, runId]))[0]?.size ?? 0)
  }

  async eventsSize(query: Query, { n }: Row): Promise<number> {
    const sum = `SELECT coalesce(sum(octet_length(data)), 0) AS size FROM ${this.#in}.shown_events WHERE run = $1`
    return Number((await query(sum, [n]))[0]?.size ?? 0)
  }

  async hasRoom(query: Query, { caller }: Row, size: number, state: number, { ofState, ofCaller, ofAll }: WaitingRoom): Promise<boolean> {
    const own = (await this.count(query, { caller: String(caller) })).characters + size
    return state <= ofState && own <= ofCaller && (await this.count(query)).characters + size <= ofAll
  }
}
