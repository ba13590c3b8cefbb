import type { NamedValue } from '../../agent/journal/store.ts'
import type { DbosProcess } from './dbos-process.ts'

/** Maximum number of workflows to remember. */
const most = 1_000

/** Reads the steps that a workflow has recorded since the last read. */
export class NewSteps {
  readonly #dbos: Pick<DbosProcess, 'stepsFrom'>
  /**
   * For each workflow, the names of its steps up to the first step that has not been recorded yet. The name of a failed step is undefined.
   */
  readonly #begun = new Map<string, (string | undefined)[]>()

  constructor(dbos: Pick<DbosProcess, 'stepsFrom'>) {
    this.#dbos = dbos
  }

  /** Returns the steps of a workflow from the first step whose name is not in `known`. */
  async read(id: string, known: ReadonlySet<string>): Promise<NamedValue[]> {
    const names = this.#begun.get(id) ?? []
    const unknown = names.findIndex((name) => name !== undefined && !known.has(name))
    const offset = unknown < 0 ? names.length : unknown
    const steps = await this.#dbos.stepsFrom(id, offset)
    // Only the next expected step is added to `names`: DBOS may record concurrent steps out of order, and another call of `read` may
    // already have added a step.
    for (const [index, { n, name, value }] of steps.entries()) {
      const at = offset + index
      if (at === names.length && n === at) names.push(value === undefined ? undefined : name)
    }
    this.#remember(id, names)
    return steps.flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }]))
  }

  #remember(id: string, names: (string | undefined)[]): void {
    this.#begun.delete(id)
    this.#begun.set(id, names)
    const [oldest] = this.#begun.keys()
    if (this.#begun.size > most && oldest !== undefined) this.#begun.delete(oldest)
  }
}
