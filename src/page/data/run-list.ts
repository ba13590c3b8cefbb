import type { Run } from '../types.ts'
import { ask, messageOf } from './api.ts'
import type { Live } from './live.ts'
import { pageOfRuns } from './live.ts'

/** As the service takes it; none of it empty. */
export type Query = Record<string, string>

/** The stored runs that fit a query, the newest first: as far as they were asked for, and up to date. */
export class RunList {
  runs: Run[] = []
  error = ''
  isLoading = false
  #live
  #onChange
  #query: Query = {}
  /** Where the next page begins. */
  #next: string | undefined
  /** Goes up when another list is wanted: what was asked for the one before is not shown. */
  #turn = 0
  #epoch
  #unsubscribe

  constructor(live: Live, onChange: () => void) {
    this.#live = live
    this.#onChange = onChange
    this.#epoch = live.epoch
    this.#unsubscribe = live.onRuns((ids) => void this.#take(ids))
  }

  get hasMore() {
    return this.#next !== undefined
  }

  get isFiltered() {
    return Object.keys(this.#query).length > 0
  }

  close() {
    this.#turn++
    this.#unsubscribe()
  }

  /** Shows what fits the query, from the beginning. */
  async show(query: Query) {
    this.#query = query
    const turn = ++this.#turn
    const { newest, isNewestCurrent } = this.#live
    if (newest !== undefined && !this.isFiltered) {
      // What is known is shown at once.
      this.#next = newest.next
      this.runs = this.#sorted(newest.data.map(({ id }) => id))
      this.isLoading = false
      this.error = ''
      this.#onChange()
      if (isNewestCurrent) return
    }
    await this.#load([], undefined, turn)
  }

  /** The next page, behind those that are there. */
  async more() {
    if (this.isLoading || this.#next === undefined) return
    await this.#load(this.runs, this.#next, this.#turn)
  }

  /** Asks again for what could not be had. */
  retry(): Promise<void> {
    return this.#next === undefined ? this.show(this.#query) : this.more()
  }

  async #load(before: Run[], cursor: string | undefined, turn: number) {
    this.isLoading = true
    this.error = ''
    try {
      const page = await this.#ask(cursor === undefined ? {} : { cursor })
      if (turn !== this.#turn) return
      for (const run of page.data) this.#live.learn(run)
      this.#next = page.next
      this.runs = this.#sorted([...before, ...page.data].map(({ id }) => id))
    } catch (thrown) {
      if (turn !== this.#turn) return
      this.error = messageOf(thrown)
      if (cursor === undefined) this.#next = undefined
    }
    this.isLoading = false
    this.#onChange()
  }

  #ask(more: Query): Promise<{ data: Run[]; next?: string }> {
    return ask(`v1/runs?${new URLSearchParams({ output: 'short', limit: String(pageOfRuns), ...this.#query, ...more })}`)
  }

  /** Runs that have changed, or are new. */
  async #take(ids: string[]) {
    if (this.#epoch !== this.#live.epoch) {
      this.#epoch = this.#live.epoch
      return this.show(this.#query)
    }
    if (ids.length === 0) return
    const turn = this.#turn
    let fitting = new Set(ids)
    if (this.isFiltered) {
      const asked = ids.slice(0, pageOfRuns)
      const page = await this.#ask({ id: asked.join() }).catch(() => undefined)
      if (page === undefined || turn !== this.#turn) return
      fitting = new Set(page.data.map(({ id }) => id))
    }
    const oldest = this.#next === undefined ? '' : (this.runs.at(-1)?.createdAt ?? '')
    const known = new Set(this.runs.map(({ id }) => id))
    const changed = new Set(ids)
    const news = [...fitting].filter((id) => !known.has(id) && (this.#live.run(id)?.createdAt ?? '') >= oldest)
    this.runs = this.#sorted([...news, ...[...known].filter((id) => !changed.has(id) || fitting.has(id))])
    this.#onChange()
  }

  #sorted(ids: string[]) {
    const runs = [...new Set(ids)].flatMap((id) => this.#live.run(id) ?? [])
    return runs.sort((a, b) => (a.createdAt === b.createdAt ? 0 : a.createdAt < b.createdAt ? 1 : -1))
  }
}
