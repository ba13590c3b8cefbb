import { failures } from '../../core/runs/run-states.ts'
import type { FinishedRun } from './finished-runs.ts'

const minuteMs = 60_000
/** The available windows. Each consists of a number of steps of equal length. */
export const windows: Readonly<Record<string, { steps: number; stepMs: number }>> = {
  hour: { steps: 30, stepMs: 2 * minuteMs },
  day: { steps: 48, stepMs: 30 * minuteMs },
}
const mostListed = 12

/** The sums of the runs that ended within one step. */
interface Sums {
  runs: number
  failed: number
  inputTokens: number
  outputTokens: number
  costUsd: number
  /** The median and the 95th percentile of the time that runs worked, in milliseconds. Null if there are no runs. */
  p50Ms: number | null
  p95Ms: number | null
}

export interface Overview extends Sums {
  /** The start of the window, in ISO 8601. */
  from: string
  to: string
  stepMs: number
  series: Sums[]
  /** The number of runs without an answer, by reason. Cancelled runs are included, although they don't count as failures. */
  reasons: { stopReason: string; errorCode?: string; runs: number }[]
  /** The sums for each model, each user, and each tool that was called. Each list is sorted by the number of runs, highest first. */
  models: ({ model: string } & Share)[]
  users: ({ owner: string } & Share)[]
  tools: ({ tool: string } & Share)[]
}

/** The sums of the runs with the same model, user or tool. */
interface Share {
  runs: number
  failed: number
  tokens: number
  costUsd: number
}

/** The stop reasons of runs with an answer. A `paused` run has returned tool calls to the client. */
const answers = new Set(['answered', 'stopped', 'paused'])

/** Returns the start of the window that ends with the current step. */
export function beginOf(window: { steps: number; stepMs: number }, now: number): number {
  return (Math.floor(now / window.stepMs) + 1 - window.steps) * window.stepMs
}

export async function overviewOf(
  runs: readonly FinishedRun[],
  { steps, stepMs }: { steps: number; stepMs: number },
  now: number,
): Promise<Overview> {
  const from = beginOf({ steps, stepMs }, now)
  const all = new Adding()
  const series = Array.from({ length: steps }, () => new Adding())
  const reasons = new Map<string, { stopReason: string; errorCode?: string; runs: number }>()
  const [models, users, tools] = [new Shares(), new Shares(), new Shares()]
  for (const run of runs) {
    const step = series[Math.floor((run.finishedAt - from) / stepMs)]
    if (step === undefined) continue
    step.add(run)
    all.add(run)
    models.add(run.model, run)
    users.add(run.owner, run)
    for (const tool of run.tools) tools.add(tool, run)
    const { stopReason, errorCode } = run
    if (answers.has(stopReason)) continue
    const key = `${stopReason} ${errorCode}`
    const reason = reasons.get(key) ?? { stopReason, errorCode, runs: 0 }
    reason.runs++
    reasons.set(key, reason)
  }
  const sums = all.sums()
  const shownSeries: Sums[] = []
  for (const step of series) {
    shownSeries.push(step.sums())
  }
  return {
    from: new Date(from).toISOString(),
    to: new Date(from + steps * stepMs).toISOString(),
    stepMs,
    ...sums,
    series: shownSeries,
    reasons: [...reasons.values()].sort((a, b) => b.runs - a.runs).slice(0, mostListed),
    models: models.most().map(([model, share]) => ({ model, ...share })),
    users: users.most().map(([owner, share]) => ({ owner, ...share })),
    tools: tools.most().map(([tool, share]) => ({ tool, ...share })),
  }
}

class Shares {
  readonly #shares = new Map<string, Share>()

  add(name: string, { stopReason, inputTokens, outputTokens, costUsd }: FinishedRun): void {
    const share = this.#shares.get(name) ?? { runs: 0, failed: 0, tokens: 0, costUsd: 0 }
    share.runs++
    if (failures.has(stopReason)) share.failed++
    share.tokens += inputTokens + outputTokens
    share.costUsd += costUsd
    this.#shares.set(name, share)
  }

  most(): [name: string, share: Share][] {
    return [...this.#shares].sort(([, a], [, b]) => b.runs - a.runs).slice(0, mostListed)
  }
}

class Adding {
  readonly #durations: number[] = []
  #failed = 0
  #inputTokens = 0
  #outputTokens = 0
  #costUsd = 0

  add({ workedMs, stopReason, inputTokens, outputTokens, costUsd }: FinishedRun): void {
    this.#durations.push(workedMs)
    if (failures.has(stopReason)) this.#failed++
    this.#inputTokens += inputTokens
    this.#outputTokens += outputTokens
    this.#costUsd += costUsd
  }

  sums(): Sums {
    const sorted = Float64Array.from(this.#durations).sort()
    const quantile = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
    return {
      runs: sorted.length,
      failed: this.#failed,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      costUsd: this.#costUsd,
      p50Ms: quantile(0.5),
      p95Ms: quantile(0.95),
    }
  }
}
