import { MemoryRuns, memoryJournal } from '../../src/testing/index.ts'

/** For the contract: each `open` is another process with the same runs. */
export function memoryRuns() {
  const kept = new MemoryRuns()
  return { open: () => memoryJournal(kept) }
}

/** Whether a case starts its run again for each moment at which it may be killed, which takes long. */
export function isKilledEverywhere(name: string): boolean {
  return /^(?:killed at any moment|a killed script|a preview killed at any moment)/.test(name)
}
