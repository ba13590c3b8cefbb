import type { RunResult } from '../../agent/types/options.ts'
import { addUsage, noUsage, type Usage } from '../../core/messages.ts'
import { formatCost, formatDuration, plural } from '../terminal/render.ts'

/** The tokens and costs of a chat's answers since the chat was opened, in total and by model. */
export class Spending {
  #answers = 0
  #milliseconds = 0
  readonly #byModel = new Map<string, { requests: number; usage: Usage; isPriced: boolean }>()

  add({ steps }: Pick<RunResult, 'steps'>, milliseconds: number): void {
    this.#answers++
    this.#milliseconds += milliseconds
    for (const { provider, model, usage } of steps) {
      const name = `${provider}/${model}`
      const before = this.#byModel.get(name) ?? { requests: 0, usage: noUsage, isPriced: true }
      const isPriced = before.isPriced && (usage === undefined || usage.costUsd !== undefined)
      this.#byModel.set(name, { requests: before.requests + 1, usage: addUsage(before.usage, usage), isPriced })
    }
  }

  /** Returns one line for the total, and one for each model if there are several. */
  lines(): string[] {
    if (this.#answers === 0) return ['nothing was spent yet']
    const models = [...this.#byModel]
    const total = models.reduce((sum, [, { usage }]) => addUsage(sum, usage), noUsage)
    const requests = models.reduce((sum, [, one]) => sum + one.requests, 0)
    const isPriced = models.every(([, one]) => one.isPriced)
    const all = `${plural(this.#answers, 'answer')} in ${formatDuration(this.#milliseconds)} · ${describe(requests, total, isPriced)}`
    if (models.length < 2) return [all]
    return [all, ...models.map(([name, one]) => `  ${name}  ${describe(one.requests, one.usage, one.isPriced)}`)]
  }
}

function describe(requests: number, usage: Usage, isPriced: boolean): string {
  const { cacheReadTokens = 0 } = usage
  const cached = cacheReadTokens === 0 ? '' : ` (${count(cacheReadTokens)} cached)`
  const cost =
    usage.costUsd === undefined ? 'price unknown' : `${formatCost(usage.costUsd)}${isPriced ? '' : ' plus usage without a known price'}`
  return `${plural(requests, 'request')} · ${count(usage.inputTokens)} tokens in${cached}, ${count(usage.outputTokens)} out · ${cost}`
}

function count(tokens: number): string {
  return tokens.toLocaleString('en-US')
}
