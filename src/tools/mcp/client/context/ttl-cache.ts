const mostEntries = 200
const mostCharacters = 8_000_000

/** A cache whose entries expire. If it is full, the oldest entries are removed. */
export class TtlCache {
  readonly #entries = new Map<string, { value: unknown; until: number; size: number }>()
  #size = 0

  get<T>(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (performance.now() < entry.until) return entry.value as T
    this.#remove(key)
    return undefined
  }

  /** Stores a value for `ttlMs` milliseconds. `size`: the size of the value in characters. */
  set(key: string, value: unknown, size: number, ttlMs: number): void {
    this.#remove(key)
    if (ttlMs <= 0 || size > mostCharacters) return
    this.#entries.set(key, { value, until: performance.now() + ttlMs, size })
    this.#size += size
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= mostEntries && this.#size <= mostCharacters) break
      this.#remove(oldest)
    }
  }

  /** Removes all entries whose key starts with `prefix`. */
  forget(prefix: string): void {
    for (const key of [...this.#entries.keys()]) if (key.startsWith(prefix)) this.#remove(key)
  }

  #remove(key: string): void {
    this.#size -= this.#entries.get(key)?.size ?? 0
    this.#entries.delete(key)
  }
}
