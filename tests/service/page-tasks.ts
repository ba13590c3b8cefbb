import type { Page } from 'playwright-core'
import { onTestFinished } from 'vitest'

/** Tasks of the page that have kept it from answering. */
export const watchTasks = `window.longTasks = []; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longTasks.push(Math.round(duration)) }).observe({ type: 'longtask' })`

/** Those of more than 100 ms, as long as they would have been on the machine that bounds are meant for, if this one is slower just now. */
export async function longTasks(page: Page): Promise<number[]> {
  const pace = await paceOf(page)
  return (await page.evaluate<number[]>('window.longTasks')).map((ms) => Math.round(ms * pace)).filter((ms) => ms > 100)
}

/** What takes that machine 25 ms. */
const aPieceOfWork = `(() => {
  const text = '[' + '{"a":[1,"text",{}]},'.repeat(40_000) + '0]'
  const before = performance.now()
  JSON.stringify(JSON.parse(text))
  return performance.now() - before
})()`

/** How much of the reference machine's pace the browser has just now: see `atReferencePace`. */
export async function paceOf(page: Page): Promise<number> {
  const times = await page.evaluate<number[]>(`[1, 2, 3, 4, 5].map(() => ${aPieceOfWork})`)
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
 * the processor's time, whatever else the machine does, at the pace of the machine that bounds are meant for.
 */
export async function watchWork(page: Page): Promise<{ long(): Promise<number[]> }> {
  const stop = await traceTasks(page)
  return {
    async long() {
      const times = await stop()
      const stopPace = await traceTasks(page)
      for (let round = 0; round < 5; round++) await page.evaluate(aPieceOfWork)
      const [, , median = 25] = (await stopPace()).sort((a, b) => b - a)
      return times.map((ms) => Math.round(ms * Math.min(1, 25 / median))).filter((ms) => ms > 100)
    },
  }
}

/** Begins to note the tasks of the page; the function ends that, and gives their milliseconds of the processor's time. */
async function traceTasks(page: Page): Promise<() => Promise<number[]>> {
  const browser = page.context().browser()
  if (browser === null) throw new Error('The page has no browser')
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
  let isOver = false
  // A test that failed in between is tried once more.
  onTestFinished(async () => {
    if (!isOver) await browser.stopTracing()
  })
  return async () => {
    isOver = true
    const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }
    const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
    const isPage = ({ pid, tid }: TraceEvent) => threads.some((thread) => thread.pid === pid && thread.tid === tid)
    const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && event.tdur !== undefined && isPage(event))
    if (tasks.length === 0) throw new Error('No task of the page was seen')
    return tasks.map(({ tdur = 0 }) => tdur / 1_000)
  }
}
