import type { Run } from '../types.ts'
import { messageOf } from './api.ts'
import type { Live } from './live.ts'
import { pageOfRuns } from './live.ts'

/** Query parameters of the service, without empty ones. */
export type Query = Record<string, string>

/** The stored runs that match a query, newest first, kept up to date. */
export class RunList {
  runs: Run[] = []
  error = ''
  isLoading = false
  #live
  #onChange
  #query: Query = {}
  /** The cursor of the next page. */
  #next: string | undefined
  /** Runs that must be checked against the query, and runs that changed during a request and may be outdated in its response. */
  #changed: Set<string> = new Set()
  #meanwhile: string[] = []
  /** The turn for which that check is running. */
  #looking: number | undefined
  /** Increases for every new list, so that responses for earlier ones are ignored. */
  #turn = 0
  #epoch
  #unsubscribe

  constructor(live: Live, onChange: () => void) {
    this.#live = live
    this.#onChange = onChange
    this.#epoch = live.epoch
    this.#unsubscribe = live.onRuns((ids) => this.#take(ids))
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

  /** Lists the runs that match a query, from the beginning. */
  async show(query: Query) {
    this.#query = query
    this.#changed.clear()
    this.#meanwhile = []
    const turn = ++this.#turn
    const { newest, isNewestCurrent } = this.#live
    if (newest !== undefined && !this.isFiltered) {
      // Shows known runs immediately.
      this.#next = newest.next
      this.runs = this.#sorted(newest.data.map(({ id }) => id))
      this.isLoading = false
      this.error = ''
      this.#onChange()
      if (isNewestCurrent) return
    }
    await this.#load(undefined, turn)
  }

  /** Appends the next page. */
  async more() {
    if (this.isLoading || this.#next === undefined) return
    await this.#load(this.#next, this.#turn)
  }

  /** Repeats a failed request. */
  retry(): Promise<void> {
    return this.#next === undefined ? this.show(this.#query) : this.more()
  }

  async #load(cursor: string | undefined, turn: number) {
    this.isLoading = true
    this.error = ''
    try {
      const page = await this.#ask(cursor === undefined ? {} : { cursor })
      if (turn !== this.#turn) return
      this.#next = page.next
      const before = cursor === undefined ? [] : this.runs
      this.runs = this.#sorted([...before, ...page.data].map(({ id }) => id))
    } catch (thrown) {
      if (turn !== this.#turn) return
      this.error = messageOf(thrown)
      if (cursor === undefined) this.#next = undefined
    }
    this.isLoading = false
    this.#onChange()
    void this.#look(this.#meanwhile.splice(0))
  }

  #ask(more: Query): Promise<{ data: Run[]; next?: string }> {
    return this.#live.askRuns({ limit: String(pageOfRuns), ...this.#query, ...more })
  }

  /** Handles new and changed runs. */
  #take(ids: string[]) {
    if (this.#epoch !== this.#live.epoch) {
      this.#epoch = this.#live.epoch
      return void this.show(this.#query)
    }
    if (this.isLoading) this.#meanwhile.push(...ids)
    void this.#look(ids)
  }

  /** Checks which of the changed runs match now. Runs that could not be requested are checked with the next change. */
  async #look(told: string[]) {
    const turn = this.#turn
    for (const id of told) this.#changed.add(id)
    if (this.#looking === turn) return
    this.#looking = turn
    while (this.#changed.size > 0) {
      const ids = [...this.#changed].slice(0, this.isFiltered ? pageOfRuns : undefined)
      for (const id of ids) this.#changed.delete(id)
      const fitting = this.isFiltered ? await this.#fitting(ids) : new Set(ids)
      if (turn !== this.#turn) return
      if (fitting === undefined) {
        for (const id of ids) this.#changed.add(id)
        break
      }
      this.#put(ids, fitting)
    }
    this.#looking = undefined
  }

  async #fitting(ids: string[]): Promise<Set<string> | undefined> {
    const page = await this.#ask({ id: ids.join() }).catch(() => undefined)
    return page && new Set(page.data.map(({ id }) => id))
  }

  #put(ids: string[], fitting: ReadonlySet<string>) {
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
