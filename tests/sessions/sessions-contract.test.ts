import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Sessions } from '../../src/agent/sessions/sessions.ts'
import { MemorySessionStore, SessionMemory } from '../../src/sessions/memory.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { testSessions } from '../../src/testing/index.ts'

testSessions(
  'memorySessions',
  () => {
    const memory = new SessionMemory()
    return { open: () => new Sessions(new MemorySessionStore(memory)) }
  },
  { describe, it, expect },
)

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
