import type { Page } from 'playwright-core'

/** Tasks of the page that have kept it from answering. */
export const watchTasks = `window.longTasks = []; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longTasks.push(Math.round(duration)) }).observe({ type: 'longtask' })`

/** Those of more than 100 ms, as long as they would have been on the machine that bounds are meant for, if this one is slower just now. */
export async function longTasks(page: Page): Promise<number[]> {
  const pace = await paceOf(page)
  return (await page.evaluate<number[]>('window.longTasks')).map((ms) => Math.round(ms * pace)).filter((ms) => ms > 100)
}

/** How much of the reference machine's pace the browser has just now: see `atReferencePace`. */
export async function paceOf(page: Page): Promise<number> {
  const times = await page.evaluate<number[]>(`[1, 2, 3, 4, 5].map(() => {
    const text = '[' + '{"a":[1,"text",{}]},'.repeat(40_000) + '0]'
    const before = performance.now()
    JSON.stringify(JSON.parse(text))
    return performance.now() - before
  })`)
  return Math.min(1, 25 / (times.sort((a, b) => a - b)[2] ?? 25))
}

interface TraceEvent {
  name: string
  pid: number
  tid: number
  /** Microseconds for which its thread has worked on it. */
  tdur?: number
  args?: { name?: string }
}

/**
 * Watches how long the page works without a break, from now on. `long()` ends that, and gives the milliseconds of each task of more than 100: of
 * the processor's time, which is the same whatever else the machine does.
 */
export async function watchWork(page: Page): Promise<{ long(): Promise<number[]> }> {
  const browser = page.context().browser()
  if (browser === null) throw new Error('The page has no browser')
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
  return {
    async long() {
      const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }
      const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      const isPage = ({ pid, tid }: TraceEvent) => threads.some((thread) => thread.pid === pid && thread.tid === tid)
      const times = traceEvents.filter((event) => event.tdur !== undefined && isPage(event)).map(({ tdur = 0 }) => Math.round(tdur / 1_000))
      if (times.length === 0) throw new Error('No task of the page was seen')
      return times.filter((ms) => ms > 100)
    },
  }
}
