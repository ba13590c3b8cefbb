/** How long the steps of many runs may hold up the event loop together, before the others wait for its next turn. */
const longestWorkMs = 8
/** Fewer at once are not worth a look at the clock. */
const fewRuns = 32

// Those that are there before a test puts clocks of its own in their place: whoever waited for one of those would wait for ever.
const { queueMicrotask, setImmediate } = globalThis
const { nextTick } = process
const now = performance.now.bind(performance)

/** How many runs are under way in this process. */
let runs = 0
/** When the steps of this turn of the event loop began; undefined: there were none yet. */
let busySince: number | undefined
/** Those who wait for another turn, in order. */
const waiting: (() => void)[] = []
let isScheduled = false

/** Counts a run, until what it returns is called. */
export function countRun(): () => void {
  runs++
  let isOver = false
  return () => {
    if (!isOver) runs--
    isOver = true
  }
}

/** Whether so many are under way that a run which begins now is to take turns with them. */
export function areMany(): boolean {
  return runs >= fewRuns
}

/**
 * Between two steps of a run: waits, where the steps of this turn of the event loop have taken long already. A thousand runs whose answers
 * come at once would otherwise hold up everything else in the process, such as its health check, until the last of them has sent its next
 * request.
 */
export function fairTurn(): Promise<void> | undefined {
  const at = now()
  busySince ??= at
  schedule()
  return waiting.length === 0 && at - busySince < longestWorkMs ? undefined : new Promise((resolve) => waiting.push(resolve))
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(() => {
    busySince = now()
    goOn()
  })
}

/** Lets those who wait go on, each behind all that the one before it has done, until that has taken long, too. */
function goOn(): void {
  const next = busySince === undefined || now() - busySince < longestWorkMs ? waiting.shift() : undefined
  if (next !== undefined) {
    next()
    // Microtasks come first; a tick behind them comes when they have nothing left to do.
    queueMicrotask(() => nextTick(goOn))
    return
  }
  busySince = undefined
  isScheduled = false
  if (waiting.length > 0) schedule()
}
