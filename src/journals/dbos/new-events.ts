import type { RunNews } from './shown-runs-table.ts'

/** No more events are added to a batch that is larger than this, in characters. */
const mostCharacters = 1_000_000

interface WaitingNews extends RunNews {
  resolve(isStored: boolean): void
  reject(error: unknown): void
}

/**
 * Stores the events of runs, with one statement at a time. Events that arrive during a statement are stored together by the next statement,
 * so the number of statements doesn't grow with the number of runs.
 */
export class NewEvents {
  readonly #write: (news: readonly RunNews[]) => Promise<ReadonlySet<string>>
  #waiting: WaitingNews[] = []
  #isWriting = false

  /** `write` stores events, and returns the ids of the runs whose events were stored. */
  constructor(write: (news: readonly RunNews[]) => Promise<ReadonlySet<string>>) {
    this.#write = write
  }

  /**
   * Stores the events of a run in a batch with events of other runs. Resolves with false if they were not stored; the caller must then
   * store them separately. Rejects with the errors of `write`.
   */
  store(news: RunNews): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    this.#waiting.push({ ...news, resolve, reject })
    if (!this.#isWriting) void this.#writeAll()
    return promise
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const news = this.#next()
      try {
        const stored = await this.#write([...news.values()])
        for (const { runId, resolve } of news.values()) resolve(stored.has(runId))
      } catch (error) {
        // The events of a single run may have caused the error. The callers then store their events one by one.
        for (const { resolve, reject } of news.values())
          if (news.size > 1) resolve(false)
          else reject(error)
      }
    }
    this.#isWriting = false
  }

  /** Removes the next batch from the queue. A batch has one entry for each run. */
  #next(): Map<string, WaitingNews> {
    const next = new Map<string, WaitingNews>()
    let characters = 0
    this.#waiting = this.#waiting.filter((news) => {
      if (next.has(news.runId) || characters > mostCharacters) return true
      next.set(news.runId, news)
      characters += news.packed.length
      return false
    })
    return next
  }
}
