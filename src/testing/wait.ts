/**
 * Waits for `promise`, but not longer than `signal` allows. Resolves with true if the promise settled first; rejects as it does. Leaves no
 * listener on the signal, and handles a rejection that comes too late.
 */
export async function settlesBeforeAbort(promise: PromiseLike<unknown>, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal === undefined) {
    await promise
    return true
  }
  const aborted = listenForAbort(signal)
  try {
    return await Promise.race([Promise.resolve(promise).then(() => true), aborted.promise])
  } finally {
    aborted.stop()
  }
}

/** Waits until `signal` is aborted; forever without one. */
export async function waitForAbort(signal: AbortSignal | undefined): Promise<void> {
  await settlesBeforeAbort(new Promise(() => {}), signal)
}

/** Waits `milliseconds`, or until the abort. Leaves neither a timer nor a listener. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  try {
    await settlesBeforeAbort(over, signal)
  } finally {
    clearTimeout(timer)
  }
}

// Captured here, because a test's fake timers would never run it.
const atNextTurn = setImmediate

/** Resolves when everything that has arrived at this process's sockets so far has been read. */
export function untilSocketsAreRead(): Promise<void> {
  // The end of this turn of the event loop, which may be past its sockets, and of the next one.
  return new Promise((resolve) => void atNextTurn(() => void atNextTurn(resolve)))
}

function listenForAbort(signal: AbortSignal): { promise: Promise<boolean>; stop: () => void } {
  let listener = (): void => {}
  const promise = new Promise<boolean>((resolve) => {
    listener = () => resolve(false)
    if (signal.aborted) resolve(false)
    else signal.addEventListener('abort', listener, { once: true })
  })
  return { promise, stop: () => signal.removeEventListener('abort', listener) }
}
