import { defineCases, type TestApi, withWorlds } from './contract-cases.ts'
import { crashCases } from './session-contract/crashes.ts'
import { keepingCases } from './session-contract/keeping.ts'
import { type MakeSessions, type SessionCase, SessionWorld } from './session-contract/kit.ts'
import { ownerCases } from './session-contract/owners.ts'
import { replacingCases } from './session-contract/replacing.ts'
import { turnCases } from './session-contract/turns.ts'
import { waitingCases } from './session-contract/waiting.ts'

/** The options of `testSessions`. */
export interface TestSessionsOptions {
  /** The cases to skip, by name, each with a reason. If a name is unknown, `testSessions` throws immediately. */
  skip?: Readonly<Record<string, string>>
}

const cases: readonly SessionCase[] = [...keepingCases, ...turnCases, ...waitingCases, ...crashCases, ...replacingCases, ...ownerCases]

/**
 * Tests that a session store fulfills the contract of `Sessions`: storing and reading messages, ownership of a session by one run, and the
 * state of a session while a run waits or after a process has died. `make` creates an empty place that stores sessions, such as a database.
 * The suite opens several `Sessions` on the same place, to simulate several processes, and closes them to simulate the death of a process.
 *
 * Defines one `describe` with one `it` per case.
 *
 * ```ts
 * import { describe, expect, it } from 'vitest'
 * testSessions('my sessions', async () => {
 *   const database = await createDatabase()
 *   return { open: () => new Sessions(new MyStore(database.url)), remove: () => database.drop() }
 * }, { describe, it, expect })
 * ```
 */
export function testSessions(name: string, make: MakeSessions, api: TestApi, options: TestSessionsOptions = {}): void {
  const open = async () => new SessionWorld(await make())
  defineCases({ name, cases, skip: options.skip }, api, ({ run }) => withWorlds(open, (place) => run({ expect: api.expect, place })))
}
