import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { testSessions } from '../../src/testing/index.ts'

testSessions(
  'sqliteSessions',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolloop-sessions-'))
    return {
      // No test cuts the power.
      open: () => sqliteSessions({ file: join(folder, 'sessions.sqlite'), synchronous: 'normal' }),
      remove: () => rmSync(folder, { recursive: true }),
    }
  },
  { describe, it, expect },
)
