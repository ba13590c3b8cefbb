import type { RunContext } from '../../run/run-context.ts'

/** A hook, and the work that it wraps. */
interface Surrounding<Inner, Shown, Returned> {
  ask(next: () => Promise<Shown>): Promise<Returned | undefined>
  /** Starts the wrapped work in the hook's asynchronous context, at most once. Contract: must not reject. */
  proceed(): Promise<Inner>
  /** Converts the result of the work for the hook. Throws if the work failed. */
  show(inner: Inner): Shown
}

/** The results of the hook and of the work that it wraps. */
interface Surrounded<Inner, Returned> {
  /** Undefined if the hook did not call `next`. */
  inner?: Inner
  /** Undefined if the hook returned nothing or failed. */
  returned?: Returned
  /** Set if the hook itself failed: it threw its own error, took too long, or neither called `next` nor returned anything. */
  failure?: { error: unknown }
  /** Whether the run was interrupted before the hook ended. */
  isLeft: boolean
}

/**
 * Calls a hook that wraps work. The hook may take `toolTimeoutMs`, not counting the time in `next`. Once the work has started, it is always
 * awaited. A hook that has timed out can no longer start the work. Never rejects.
 */
export async function askAround<Inner, Shown, Returned>(
  run: RunContext,
  { ask, proceed, show }: Surrounding<Inner, Shown, Returned>,
): Promise<Surrounded<Inner, Returned>> {
  const time = ownTime(run.limits.toolTimeoutMs)
  let begun: Promise<Inner> | undefined
  let isOver = false
  let shownFailure: { error: unknown } | undefined
  const proceedOnce = async (): Promise<Shown> => {
    if (isOver) throw new TypeError('`next` was called when its hook was over')
    if (begun !== undefined) throw new TypeError('`next` was called twice: a hook can continue only once')
    time.stop()
    begun = proceed()
    const inner = await begun
    if (!isOver) time.start()
    try {
      return show(inner)
    } catch (error) {
      shownFailure = { error }
      throw error
    }
  }
  const next = (): Promise<Shown> => {
    const shown = proceedOnce()
    // Prevents an unhandled rejection if the hook does not await `next`.
    shown.catch(() => {})
    return shown
  }

  const surrounded: Surrounded<Inner, Returned> = { isLeft: false }
  time.start()
  try {
    const asked = (async () => ask(next))()
    const returned = await run.untilInterrupted(Promise.race([asked, time.over]))
    if (returned !== undefined) surrounded.returned = returned
    else if (run.interruption !== undefined) surrounded.isLeft = true
    else if (begun === undefined) throw new TypeError('It neither called `next` nor returned anything')
  } catch (error) {
    if (shownFailure === undefined || error !== shownFailure.error) surrounded.failure = { error }
  }
  isOver = true
  time.stop()
  if (begun !== undefined) surrounded.inner = await begun
  return surrounded
}

/** A time limit that can be stopped and started again. Each start begins at zero. */
function ownTime(milliseconds: number): { over: Promise<never>; start(): void; stop(): void } {
  const { promise: over, reject } = Promise.withResolvers<never>()
  const end = () => reject(new DOMException(`It took longer than ${milliseconds} ms`, 'TimeoutError'))
  let timer: NodeJS.Timeout | undefined
  return {
    over,
    start() {
      // A timer with a delay of 2^31 ms or more would fire at once.
      if (milliseconds < 2 ** 31) timer = setTimeout(end, milliseconds)
    },
    stop: () => clearTimeout(timer),
  }
}
