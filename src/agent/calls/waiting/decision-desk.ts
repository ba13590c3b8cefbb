import type { Execution } from '../../types/execution.ts'
import type { PendingItem } from '../../types/result.ts'
import { askDecision, type DecidedItem, publishDecision, publishItem, remember } from './verdict.ts'

/** Shows the items of a round and emits the decisions on them, each once, no matter how often a nested agent asks. */
export class DecisionDesk {
  readonly #execution: Execution
  readonly #opened = new Set<string>()
  readonly #decided = new Map<string, DecidedItem>()

  constructor(execution: Execution) {
    this.#execution = execution
  }

  async open(item: PendingItem): Promise<void> {
    if (this.#opened.has(item.place)) return
    this.#opened.add(item.place)
    await publishItem(this.#execution, item)
  }

  async decided(items: readonly PendingItem[]): Promise<DecidedItem[]> {
    const decided: DecidedItem[] = []
    for (const item of items) {
      const one = this.#decided.get(item.place) ?? (await this.#look(item))
      if (one !== undefined) decided.push(one)
    }
    return decided
  }

  async #look(item: PendingItem): Promise<DecidedItem | undefined> {
    const verdict = await askDecision(this.#execution, item)
    if (verdict === undefined) return undefined
    const one = { item, verdict }
    this.#decided.set(item.place, one)
    await publishDecision(this.#execution, one)
    remember(this.#execution.state, one)
    return one
  }
}
