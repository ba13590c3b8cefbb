import type { ToolContext } from '../../../tool.ts'

/** Of the runs that have called a server last. */
const mostRuns = 200
const mostOfRun = 1_000

type Caller = Pick<ToolContext, 'runId' | 'run'>

/** The links of one run. */
interface OfRun {
  uris: Set<string>
  /** Settles when all that was added is kept. */
  isKept: Promise<void>
}

/** What results of a server have linked to, by run: what one caller was given is not another's. Kept with the run, for the processes that continue it. */
export class GivenLinks {
  readonly #server: string
  readonly #runs = new Map<string, Promise<OfRun>>()

  constructor(server: string) {
    this.#server = server
  }

  /** Resolves when they are kept. */
  async add(caller: Caller, uris: readonly string[]): Promise<void> {
    if (uris.length === 0) return
    const given = await this.#of(caller)
    for (const uri of uris) given.uris.add(uri)
    trim(given.uris, mostOfRun)
    // One after another: the last has them all.
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

/** Takes out the oldest. */
function trim(from: { size: number; keys(): Iterable<string>; delete(key: string): boolean }, most: number): void {
  for (const oldest of from.keys()) {
    if (from.size <= most) return
    from.delete(oldest)
  }
}
