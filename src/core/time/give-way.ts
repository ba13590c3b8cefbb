/** How many milliseconds of work are done in one turn of the event loop before other tasks get their turn. */
const longestWorkMs = 8

// Captured before a test can replace the clocks: with a fake clock, waiting code would wait forever.
const { queueMicrotask, setImmediate } = globalThis
const { nextTick } = process
const now = performance.now.bind(performance)

/** When the work of this turn started. Undefined if it has not. */
let busySince: number | undefined
/** The callers that wait for another turn, in order. */
const waiting: (() => void)[] = []
let isScheduled = false
/**
 * Whether no waiting caller was resumed in the previous turn, because other work used it up. If so, at least one caller is resumed in this
 * turn.
 */
let waitedATurn = false
const noWait = Promise.resolve()

/**
 * Waits for another turn of the event loop if this turn's work has taken 8 ms, so that neither one large input nor many small ones block
 * timers and connections. All work in the process shares the 8 ms. Callers that ask at the same moment get the same answer; if each then
 * does much work at once, use `yieldNow`. Rejects with the signal's reason.
 */
export function giveWay(signal?: AbortSignal): Promise<void> {
  const at = now()
  busySince ??= at
  schedule()
  return at - busySince >= longestWorkMs ? yieldNow(signal) : noWait
}

/**
 * Always waits for another turn. Use it before long work that can't be divided. Waiting callers are resumed one at a time. Rejects with the
 * signal's reason.
 */
export function yieldNow(signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.push(() => (signal?.aborted ? reject(signal.reason) : resolve()))
    schedule()
  })
}

/** Long work in parts. Other work can run wherever it yields. */
export type InParts<T> = Generator<unknown, T, undefined>

/** Does work in parts, and lets other tasks run between them. If the work throws, rejects with the same error. */
export async function inTurns<T>(work: InParts<T>): Promise<T> {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await giveWay()
  }
}

/** Does all parts of the work at once. */
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

/** Resumes the waiting callers one by one, each after the previous one has finished its work, until this turn has taken too long. */
function resumeNext(): void {
  const at = now()
  if (waitedATurn) busySince = at
  busySince ??= at
  const next = at - busySince < longestWorkMs ? waiting.shift() : undefined
  waitedATurn = next === undefined && waiting.length > 0
  if (next !== undefined) {
    next()
    // Runs after all microtasks. A tick that a microtask queues runs when no microtasks are left.
    queueMicrotask(() => nextTick(resumeNext))
    return
  }
  busySince = undefined
  isScheduled = false
  if (waiting.length > 0) schedule()
}
