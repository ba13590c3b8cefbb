import type { Run, Totals } from '../types.ts'
import { messageOf } from './api.ts'
import type { Live } from './live.ts'
import { pageOfRuns } from './live.ts'

/** The query parameters for the service. Empty parameters are left out. */
export type Query = Record<string, string>

/** How long changes are collected before the list, or the totals, are requested again, in milliseconds. */
const restMs = 1_000
const restOfTotalsMs = 2_500
/** The pause between requests is at least this many times the duration of the last request. */
const shareOfAsking = 10

/** One page of the stored runs that match a query, and the totals of all matching runs. The page and the totals are kept up to date. */
export class RunList {
  runs: readonly Run[] = []
  totals: Totals | undefined
  error = ''
  /** Whether the runs of this query are not known yet. */
  isLoading = true
  #live
  #onChange
  #query: Query = {}
  #ids: readonly string[] = []
  /** The value of `newest` on which the current list is based. */
  #newest: Live['newest']
  /** A counter that increases for every new list, so that responses to earlier requests are ignored. */
  #turn = 0
  #epoch
  #timer: number | undefined
  #answerMs = 0
  #unsubscribe

  constructor(live: Live, onChange: () => void) {
    this.#live = live
    this.#onChange = onChange
    this.#epoch = live.epoch
    this.#unsubscribe = live.onRuns((ids) => this.#take(ids))
  }

  get isFiltered() {
    return Object.keys(this.#query).some((name) => name !== 'sort' && name !== 'offset')
  }

  close() {
    this.#turn++
    clearTimeout(this.#timer)
    this.#unsubscribe()
  }

  async show(query: Query) {
    this.#query = query
    this.#turn++
    this.isLoading = true
    const { newest, isNewestCurrent } = this.#live
    if (newest !== undefined && this.#isNewest) {
      this.#takeNewest()
      if (isNewestCurrent) return
    } else this.#onChange()
    await this.#load()
  }

  retry(): Promise<void> {
    return this.show(this.#query)
  }

  /** Whether the list shows the newest of all runs, which `Live` keeps up to date. */
  get #isNewest() {
    return Object.keys(this.#query).length === 0
  }

  async #load() {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const turn = this.#turn
    const asked = performance.now()
    try {
      const page = await this.#live.askRuns({ limit: String(pageOfRuns), totals: 'true', ...this.#query })
      if (turn !== this.#turn) return
      this.error = ''
      this.#ids = page.data.map(({ id }) => id)
      this.totals = page.totals
    } catch (thrown) {
      if (turn !== this.#turn) return
      this.error = messageOf(thrown)
    }
    this.#answerMs = performance.now() - asked
    this.isLoading = false
    this.#draw()
  }

  #take(ids: string[]) {
    if (this.#epoch !== this.#live.epoch) {
      this.#epoch = this.#live.epoch
      return void this.show(this.#query)
    }
    if (ids.length === 0) return
    if (!this.#isNewest) {
      this.#timer ??= setTimeout(() => this.#load(), Math.max(restMs, this.#answerMs * shareOfAsking))
      return this.#draw()
    }
    if (this.#live.newest !== this.#newest) return this.#takeNewest()
    const known = new Set(this.#ids)
    const news = ids.filter((id) => !known.has(id))
    this.#ids = this.#sorted([...this.#ids, ...news])
    // `refresh` also requests the totals again.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#live.refresh()
    }, restOfTotalsMs)
    this.#draw()
  }

  #takeNewest() {
    const { newest } = this.#live
    this.#newest = newest
    this.#ids = this.#sorted(newest?.data.map(({ id }) => id) ?? [])
    this.totals = newest?.totals
    this.isLoading = false
    this.error = ''
    this.#draw()
  }

  #draw() {
    this.runs = this.#ids.flatMap((id) => this.#live.run(id) ?? [])
    this.#onChange()
  }

  /** Returns the newest runs with these ids, up to the size of a page. */
  #sorted(ids: string[]) {
    const runs = ids.flatMap((id) => this.#live.run(id) ?? [])
    runs.sort((a, b) => (a.createdAt === b.createdAt ? 0 : a.createdAt < b.createdAt ? 1 : -1))
    return runs.slice(0, pageOfRuns).map(({ id }) => id)
  }
}
