/** Lets the event loop turn a few times, so that everything that needs no timer has happened. Does not depend on the clock. */
export async function turnEventLoop(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Resolves once `holds()` is true. If it never is, the test times out. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turnEventLoop(1)
}
