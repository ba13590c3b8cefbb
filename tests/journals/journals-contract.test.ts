import { describe, expect, it } from 'vitest'
import { MemoryRuns, memoryJournal, testJournal } from '../../src/testing/index.ts'

testJournal(
  'memoryJournal',
  () => {
    const kept = new MemoryRuns()
    return { open: () => memoryJournal(kept) }
  },
  { describe, it, expect },
)
