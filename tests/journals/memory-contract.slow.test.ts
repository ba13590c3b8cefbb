import { describe, expect, it } from 'vitest'
import { testJournal } from '../../src/testing/index.ts'
import { isKilledEverywhere, memoryRuns } from './memory-runs.ts'

testJournal('memoryJournal', memoryRuns, {
  describe,
  it: (name, body) => void (isKilledEverywhere(name) && it(name, body)),
  expect,
})
