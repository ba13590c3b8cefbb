import { defineCases, type TestApi, withWorlds } from './contract-cases.ts'
import { crashCases } from './journal-contract/crashes.ts'
import { decisionCases } from './journal-contract/decisions.ts'
import { keepingCases } from './journal-contract/keeping.ts'
import { type JournalCase, type MakeJournal, World } from './journal-contract/kit.ts'
import { ownerCases } from './journal-contract/owners.ts'
import { recordCases } from './journal-contract/records.ts'

/** What of the suite is run. */
export interface TestJournalOptions {
  /** Cases that are left out, by name, each with the reason. Throws at once for a name that is no case's. */
  skip?: Readonly<Record<string, string>>
}

const cases: readonly JournalCase[] = [...crashCases, ...recordCases, ...decisionCases, ...ownerCases, ...keepingCases]

/**
 * The contract of `Journal` as a test suite, which every journal has to pass: what happens to a run when its process dies at any moment, who
 * may carry it out, which decisions count, what is found again. `make` gives a new place for runs each time; the suite opens several
 * journals on one place, as several processes would, and lets processes die by stopping a run between two steps and closing its journal.
 *
 * Defines one `describe` with one `it` for each case.
 *
 * ```ts
 * import { describe, expect, it } from 'vitest'
 * testJournal('my journal', async () => {
 *   const database = await createDatabase()
 *   return { open: () => myJournal(database.url), remove: () => database.drop() }
 * }, { describe, it, expect })
 * ```
 */
export function testJournal(name: string, make: MakeJournal, api: TestApi, options: TestJournalOptions = {}): void {
  const open = async () => new World(await make())
  defineCases({ name, cases, skip: options.skip }, api, ({ run }) => withWorlds(open, (place) => run({ expect: api.expect, place })))
}
