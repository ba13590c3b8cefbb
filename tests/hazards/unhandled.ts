import { afterEach, beforeEach, expect } from 'vitest'
import { turnEventLoop } from './waiting.ts'

/** For a test file: makes each test fail that leaves an unhandled rejection. */
export function failOnUnhandledRejections(): void {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  beforeEach(() => void process.on('unhandledRejection', note))
  afterEach(async () => {
    // They are reported after the microtasks have run.
    await turnEventLoop(1)
    process.off('unhandledRejection', note)
    expect(unhandled.splice(0)).toEqual([])
  })
}
