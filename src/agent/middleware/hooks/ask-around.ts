import type { RunContext } from '../../run/run-context.ts'

/** A hook, and what it wraps. */
interface Surrounding<Inner, Shown, Returned> {
  /** Calls the hook. */
  ask(next: () => Promise<Shown>): Promise<Returned | undefined>
  /** Starts what the hook wraps, in the hook's own asynchronous context, at most once. Must not reject. */
  proceed(): Promise<Inner>
  /** Converts the result for the hook. Throws if it is a failure. */
  show(inner: Inner): Shown
}

/** The results of the hook and of what it wraps. */
interface Surrounded<Inner, Returned> {
  /** Undefined: the hook did not call `next`. */
  inner?: Inner
  /** Undefined: the hook returned nothing, or failed. */
  returned?: Returned
  /** The hook itself failed: it threw an error of its own, took too long, or did nothing at all. */
  failure?: { error: unknown }
  /** The run was interrupted before the hook ended. */
  isLeft: boolean
}

/**
 * Asks a hook that wraps something, for as long as an attempt at a tool may take, not counting the time in `next`. Once started, the
 * wrapped work is always awaited. A hook that has timed out can't start it any more. Never rejects.
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
    if (begun !== undefined) throw new TypeError('`next` was called twice: what a hook stands around is run once')
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
    // A hook that does not await it need not handle its failure either.
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

/** A time limit that can be stopped, and starts again from zero. */
function ownTime(milliseconds: number): { over: Promise<never>; start(): void; stop(): void } {
  const { promise: over, reject } = Promise.withResolvers<never>()
  const end = () => reject(new DOMException(`It took longer than ${milliseconds} ms`, 'TimeoutError'))
  let timer: NodeJS.Timeout | undefined
  return {
    over,
    start() {
      // A longer timer would fire at once.
      if (milliseconds < 2 ** 31) timer = setTimeout(end, milliseconds)
    },
    stop: () => clearTimeout(timer),
  }
}
