/**
 * Waits until `promise` settles or `signal` is aborted. Resolves with true if the promise was fulfilled first, and with false if the signal
 * was aborted first. Rejects if the promise rejects first. Ignores a rejection after the abort.
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

/** Waits until `signal` is aborted. Without a signal, never resolves. */
export async function waitForAbort(signal: AbortSignal | undefined): Promise<void> {
  await settlesBeforeAbort(new Promise(() => {}), signal)
}

/** Waits until `milliseconds` have passed or `signal` is aborted. No timer or listener remains afterwards. */
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

// `setImmediate`, stored when the module loads, because the fake timers of a test may replace the global function later.
const atNextTurn = setImmediate

/** Resolves when all data that has already arrived at this process's sockets has been read. */
export function untilSocketsAreRead(): Promise<void> {
  // Two turns of the event loop are needed, because the sockets may already have been polled in the current turn.
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
