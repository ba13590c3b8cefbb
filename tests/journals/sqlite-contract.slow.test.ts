import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { testJournal } from '../../src/testing/index.ts'

testJournal(
  'sqliteJournal',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolloop-journal-'))
    return {
      // No test cuts the power, and thousands of steps are recorded here one after the other.
      open: () => sqliteJournal({ file: join(folder, 'runs.sqlite'), synchronous: 'normal' }),
      remove: () => rmSync(folder, { recursive: true }),
    }
  },
  { describe, it, expect },
)
