import type { ShownQuery, WaitingRoom } from '../../../agent/durable/shown-runs.ts'
import type { Query, Row } from '../database.ts'
import { plain } from '../values.ts'

/** How large runs are that wait, and whether there is room for another, in SQL. */
export class WaitingRuns {
  readonly #agent: string
  /** The schema, quoted. */
  readonly #in: string

  constructor({ agent, schema }: { agent: string; schema: string }) {
    this.#agent = agent
    this.#in = schema
  }

  /** Those of one caller, with all of these tags, or of all. */
  async count(
    query: Query,
    { caller, tags = [] }: Pick<ShownQuery, 'caller' | 'tags'> = {},
  ): Promise<{ runs: number; characters: number }> {
    const values: string[] = []
    const conditions = [
      "status = 'paused'",
      ...(caller === undefined ? [] : [`caller = $${values.push(plain(caller))}`]),
      ...tags.map((tag) => `n IN (SELECT run FROM ${this.#in}.shown_tags WHERE tag = $${values.push(tag)})`),
    ]
    const sums = `SELECT count(*) AS runs, coalesce(sum(size), 0) AS characters FROM ${this.#in}.shown_runs`
    const [found] = await query(`${sums} WHERE ${conditions.join(' AND ')}`, values)
    return { runs: Number(found?.runs), characters: Number(found?.characters) }
  }

  /** Of what the journal keeps of a run. */
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
