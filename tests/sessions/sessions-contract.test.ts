import { describe, expect, it } from 'vitest'
import { Sessions } from '../../src/agent/sessions/sessions.ts'
import { MemorySessionStore, SessionMemory } from '../../src/sessions/memory.ts'
import { testSessions } from '../../src/testing/index.ts'

testSessions(
  'memorySessions',
  () => {
    const memory = new SessionMemory()
    return { open: () => new Sessions(new MemorySessionStore(memory)) }
  },
  { describe, it, expect },
)
