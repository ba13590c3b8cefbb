/** Maximum time for work in one turn of the event loop, in milliseconds. After this time, other tasks run. */
const longestWorkMs = 8

// These functions are captured before a test can replace them. With a test's fake functions, waiting code would wait forever.
const { queueMicrotask, setImmediate } = globalThis
const { nextTick } = process
const now = performance.now.bind(performance)

/** When work started in this turn. Undefined if no work has started. */
let busySince: number | undefined
/** The callers that wait for another turn, in order. */
const waiting: (() => void)[] = []
let isScheduled = false
/** Whether no waiting caller was resumed in the previous turn. At least one caller is then resumed in this turn. */
let waitedATurn = false
const noWait = Promise.resolve()

/**
 * If this turn of the event loop has worked for 8 ms, waits for the next turn, so that timers and connections are not blocked. All work in
 * the process shares the 8 ms. Functions that call `giveWay` at the same moment either all wait or all continue. If each of them does a lot
 * of work, use `yieldNow` instead. Rejects with the signal's reason.
 */
export function giveWay(signal?: AbortSignal): Promise<void> {
  const at = now()
  busySince ??= at
  schedule()
  return at - busySince >= longestWorkMs ? yieldNow(signal) : noWait
}

/**
 * Always waits for another turn of the event loop. Call this before long work that can't be divided. Waiting callers are resumed one at a
 * time. Rejects with the signal's reason.
 */
export function yieldNow(signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.push(() => (signal?.aborted ? reject(signal.reason) : resolve()))
    schedule()
  })
}

/** Long work that is done in parts. Other work can run at each `yield`. */
export type InParts<T> = Generator<unknown, T, undefined>

/** Does the work in parts, and lets other tasks run between them. Rejects with the error that the work throws. */
export async function inTurns<T>(work: InParts<T>): Promise<T> {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await giveWay()
  }
}

/** Does all parts of the work without a break. */
export function atOnce<T>(work: InParts<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(resumeNext)
}

/**
 * Resumes the waiting callers one by one until this turn has taken too long. Each caller finishes its work before the next one is resumed.
 */
function resumeNext(): void {
  const at = now()
  if (waitedATurn) busySince = at
  busySince ??= at
  const next = at - busySince < longestWorkMs ? waiting.shift() : undefined
  waitedATurn = next === undefined && waiting.length > 0
  if (next !== undefined) {
    next()
    // `resumeNext` must run after all microtasks. A `nextTick` callback that a microtask queues does so.
    queueMicrotask(() => nextTick(resumeNext))
    return
  }
  busySince = undefined
  isScheduled = false
  if (waiting.length > 0) schedule()
}
