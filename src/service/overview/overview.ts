import type { FinishedRun } from './finished-runs.ts'

const minuteMs = 60_000
/** The available windows: the number of steps, and their length. */
export const windows: Readonly<Record<string, { steps: number; stepMs: number }>> = {
  hour: { steps: 30, stepMs: 2 * minuteMs },
  day: { steps: 48, stepMs: 30 * minuteMs },
}
const mostListed = 12

/** The sums of one step. */
interface Sums {
  runs: number
  failed: number
  inputTokens: number
  outputTokens: number
  costUsd: number
  /** Median and 95th percentile, in milliseconds; null if there are no runs. */
  p50Ms: number | null
  p95Ms: number | null
}

export interface Overview extends Sums {
  /** ISO 8601. */
  from: string
  to: string
  stepMs: number
  series: Sums[]
  /** The number of runs without an answer, by reason. Includes cancelled runs, which don't count as failures. */
  reasons: { stopReason: string; errorCode?: string; runs: number }[]
  /** The number of runs that called each tool. */
  tools: { tool: string; runs: number }[]
}

/** `paused`: the client received calls of its own tools. A run that waits for a decision has not ended. */
const answers = new Set(['answered', 'stopped', 'paused'])
const noFailures = new Set([...answers, 'aborted'])

/** Returns the start of a window whose last step is the current one. */
export function beginOf(window: { steps: number; stepMs: number }, now: number): number {
  return (Math.floor(now / window.stepMs) + 1 - window.steps) * window.stepMs
}

/** Sums up the runs of a window, yielding to the event loop. */
export async function overviewOf(
  runs: readonly FinishedRun[],
  { steps, stepMs }: { steps: number; stepMs: number },
  now: number,
): Promise<Overview> {
  const from = beginOf({ steps, stepMs }, now)
  const all = new Adding()
  const series = Array.from({ length: steps }, () => new Adding())
  const reasons = new Map<string, { stopReason: string; errorCode?: string; runs: number }>()
  const tools = new Map<string, number>()
  for (const run of runs) {
    const step = series[Math.floor((run.finishedAt - from) / stepMs)]
    if (step === undefined) continue
    step.add(run)
    all.add(run)
    for (const tool of run.tools) tools.set(tool, (tools.get(tool) ?? 0) + 1)
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
    tools: [...tools]
      .map(([tool, used]) => ({ tool, runs: used }))
      .sort((a, b) => b.runs - a.runs)
      .slice(0, mostListed),
  }
}

class Adding {
  readonly #durations: number[] = []
  #failed = 0
  #inputTokens = 0
  #outputTokens = 0
  #costUsd = 0

  add({ durationMs, stopReason, inputTokens, outputTokens, costUsd }: FinishedRun): void {
    this.#durations.push(durationMs)
    if (!noFailures.has(stopReason)) this.#failed++
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
