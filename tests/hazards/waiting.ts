/** Lets the event loop go around: what can happen without a timer has then happened. The clock plays no part in it. */
export async function goAround(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Resolves as soon as `holds` does. Where it never will, the test's own time limit says so. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await goAround(1)
}
