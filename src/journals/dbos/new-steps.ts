import type { NamedValue } from '../../agent/journal/store.ts'
import type { DbosProcess } from './dbos-process.ts'

/** Maximum number of workflows to remember. */
const most = 1_000

/** Reads the steps that a workflow has recorded since the last read. Steps that were read before are not read again. */
export class NewSteps {
  readonly #dbos: Pick<DbosProcess, 'stepsFrom'>
  /**
   * The names of the first steps of each workflow, up to the first step that has not been recorded yet. For a failed step, the name is
   * undefined.
   */
  readonly #begun = new Map<string, (string | undefined)[]>()

  constructor(dbos: Pick<DbosProcess, 'stepsFrom'>) {
    this.#dbos = dbos
  }

  /**
   * Returns the steps of a workflow, without those that were read before. Reading starts again from the first step whose name is not in
   * `known`.
   */
  async read(id: string, known: ReadonlySet<string>): Promise<NamedValue[]> {
    const names = this.#begun.get(id) ?? []
    const unknown = names.findIndex((name) => name !== undefined && !known.has(name))
    const offset = unknown < 0 ? names.length : unknown
    const steps = await this.#dbos.stepsFrom(id, offset)
    // DBOS numbers steps from 0, and records concurrent steps in any order. A concurrent call of `read` may have extended `names`
    // meanwhile.
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
