/** Of the runs that have called a server last. */
const mostRuns = 200
const mostOfRun = 1_000

/** What results of a server have linked to, by run: what one caller was given is not another's. */
export class GivenLinks {
  readonly #runs = new Map<string, Set<string>>()

  add(runId: string, uris: readonly string[]): void {
    if (uris.length === 0) return
    const given = this.#runs.get(runId) ?? new Set()
    this.#runs.delete(runId)
    this.#runs.set(runId, given)
    for (const uri of uris) given.add(uri)
    trim(given, mostOfRun)
    trim(this.#runs, mostRuns)
  }

  has(runId: string, uri: string): boolean {
    return this.#runs.get(runId)?.has(uri) === true
  }
}

/** Takes out the oldest. */
function trim(from: { size: number; keys(): Iterable<string>; delete(key: string): boolean }, most: number): void {
  for (const oldest of from.keys()) {
    if (from.size <= most) return
    from.delete(oldest)
  }
}
