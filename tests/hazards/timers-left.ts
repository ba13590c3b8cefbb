import { vi } from 'vitest'

/** How many fake timers are left. A run may have ended before the SDK has cleared its own: real turns of the event loop let it. */
export async function timersLeft(): Promise<number> {
  for (let turn = 0; turn < 1_000 && vi.getTimerCount() > 0; turn++) await new Promise(setImmediate)
  return vi.getTimerCount()
}
