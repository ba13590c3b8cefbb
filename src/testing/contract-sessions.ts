import { defineCases, type TestApi, withWorlds } from './contract-cases.ts'
import { crashCases } from './session-contract/crashes.ts'
import { keepingCases } from './session-contract/keeping.ts'
import { type MakeSessions, type SessionCase, SessionWorld } from './session-contract/kit.ts'
import { ownerCases } from './session-contract/owners.ts'
import { replacingCases } from './session-contract/replacing.ts'
import { turnCases } from './session-contract/turns.ts'
import { waitingCases } from './session-contract/waiting.ts'

/** What of the suite is run. */
export interface TestSessionsOptions {
  /** Cases that are left out, by name, each with the reason. Throws at once for a name that is no case's. */
  skip?: Readonly<Record<string, string>>
}

const cases: readonly SessionCase[] = [...keepingCases, ...turnCases, ...waitingCases, ...crashCases, ...replacingCases, ...ownerCases]

/**
 * The contract of `Sessions` as a test suite, which every place for sessions has to pass: what is kept and found again, who has a session when
 * several runs want it, what becomes of it while a run waits, and when a process dies at any moment. `make` gives a new place each time; the
 * suite opens several sessions on one place, as several processes would, and lets processes die by closing theirs.
 *
 * Defines one `describe` with one `it` for each case.
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
