/** Milliseconds of work in one turn of the event loop, after which everything else comes first. */
const longestWorkMs = 8

// Those of before a test replaces the clocks: whoever waited for a fake one would wait forever.
const { queueMicrotask, setImmediate } = globalThis
const { nextTick } = process
const now = performance.now.bind(performance)

/** When the work of this turn of the event loop began; undefined: there was none yet. */
let busySince: number | undefined
/** Those who wait for another turn, in order. */
const waiting: (() => void)[] = []
let isScheduled = false
/** Whether others worked for so long in the turn before that those who wait were not resumed: then one of them is in any case. */
let waitedATurn = false

/**
 * Waits for another turn of the event loop if the work of this one has taken 8 ms, so that neither one large input nor very many small ones keep
 * timers and connections waiting. All work in the process shares the 8 ms. Those who ask at the same moment get the same answer: if each of them
 * goes on to do much at once, use `nextTurn`. Rejects with the signal's reason.
 */
export async function giveWay(signal?: AbortSignal): Promise<void> {
  const at = now()
  busySince ??= at
  schedule()
  if (at - busySince >= longestWorkMs) await nextTurn(signal)
}

/**
 * Waits for another turn in any case: before work that takes long and can't be divided. Those who wait are resumed one by one. Rejects with the
 * signal's reason.
 */
export async function nextTurn(signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    waiting.push(resolve)
    schedule()
  })
  signal?.throwIfAborted()
}

/** Long work in parts: where it yields, everything else may have its turn. */
export type InParts<T> = Generator<unknown, T, undefined>

/** Does work in parts, and gives way between them. Rejects with what the work throws. */
export async function inTurns<T>(work: InParts<T>): Promise<T> {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await giveWay()
  }
}

/** Does all parts of it at once. */
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

/** Resumes those who wait, each after all that the one before it has done, until the work of this turn has taken long. */
function resumeNext(): void {
  const at = now()
  if (waitedATurn) busySince = at
  busySince ??= at
  const next = at - busySince < longestWorkMs ? waiting.shift() : undefined
  waitedATurn = next === undefined && waiting.length > 0
  if (next !== undefined) {
    next()
    // Microtasks come first; a tick queued behind them comes when they have nothing left to do.
    queueMicrotask(() => nextTick(resumeNext))
    return
  }
  busySince = undefined
  isScheduled = false
  if (waiting.length > 0) schedule()
}
