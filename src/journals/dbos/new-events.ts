import type { RunNews } from './shown-runs-table.ts'

/** The number of characters after which no more events are stored at once. */
const mostCharacters = 1_000_000

interface WaitingNews extends RunNews {
  resolve(isStored: boolean): void
  reject(error: unknown): void
}

/**
 * Stores events of runs, one statement at a time. Events that arrive meanwhile are stored together, so that the number of statements doesn't
 * grow with the number of runs.
 */
export class NewEvents {
  readonly #write: (news: readonly RunNews[]) => Promise<ReadonlySet<string>>
  #waiting: WaitingNews[] = []
  #isWriting = false

  /** `write` returns the ids of the runs whose events are stored. */
  constructor(write: (news: readonly RunNews[]) => Promise<ReadonlySet<string>>) {
    this.#write = write
  }

  /** Resolves with false if the events have to be stored by themselves. Rejects as `write` does. */
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
        // The events of one run must not break off the others.
        for (const { resolve, reject } of news.values())
          if (news.size > 1) resolve(false)
          else reject(error)
      }
    }
    this.#isWriting = false
  }

  /** Takes the news to store next: one entry for each run. */
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
