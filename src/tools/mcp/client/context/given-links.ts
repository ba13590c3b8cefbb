import type { ToolContext } from '../../../tool.ts'

/** Maximum number of runs whose links are kept. The runs that called the server most recently are kept. */
const mostRuns = 200
const mostOfRun = 1_000

type Caller = Pick<ToolContext, 'runId' | 'run'>

/** The links of one run. */
interface OfRun {
  uris: Set<string>
  /** Settles when all added links are stored. */
  isKept: Promise<void>
}

/**
 * The addresses to which a server's results have linked. Each run has its own links, because a run must not read what only another caller
 * may see. Stored with the run, so that other processes can continue it.
 */
export class GivenLinks {
  readonly #server: string
  readonly #runs = new Map<string, Promise<OfRun>>()

  constructor(server: string) {
    this.#server = server
  }

  /** Resolves when the links are stored. */
  async add(caller: Caller, uris: readonly string[]): Promise<void> {
    if (uris.length === 0) return
    const given = await this.#of(caller)
    for (const uri of uris) given.uris.add(uri)
    trim(given.uris, mostOfRun)
    // The writes are done in order, so that the last write includes all links.
    const keep = () => caller.run?.keep(this.#nameFor(caller), JSON.stringify([...given.uris]))
    given.isKept = given.isKept.then(keep, keep)
    await given.isKept
  }

  async has(caller: Caller, uri: string): Promise<boolean> {
    return (await this.#of(caller)).uris.has(uri)
  }

  async #of(caller: Caller): Promise<OfRun> {
    const { runId } = caller
    const given = this.#runs.get(runId) ?? this.#read(caller)
    this.#runs.delete(runId)
    this.#runs.set(runId, given)
    trim(this.#runs, mostRuns)
    try {
      return await given
    } catch (error) {
      this.#runs.delete(runId)
      throw error
    }
  }

  async #read(caller: Caller): Promise<OfRun> {
    const text = await caller.run?.kept(this.#nameFor(caller))
    return { uris: new Set(text === undefined ? [] : (JSON.parse(text) as string[])), isKept: Promise.resolve() }
  }

  #nameFor({ runId }: Caller): string {
    return `mcp-links/${this.#server}/${runId}`
  }
}

/** Removes the oldest entries. */
function trim(from: { size: number; keys(): Iterable<string>; delete(key: string): boolean }, most: number): void {
  for (const oldest of from.keys()) {
    if (from.size <= most) return
    from.delete(oldest)
  }
}
