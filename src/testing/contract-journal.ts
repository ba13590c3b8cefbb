import { defineCases, type TestApi, withWorlds } from './contract-cases.ts'
import { crashCases } from './journal-contract/crashes.ts'
import { decisionCases } from './journal-contract/decisions.ts'
import { keepingCases } from './journal-contract/keeping.ts'
import { type JournalCase, type MakeJournal, World } from './journal-contract/kit.ts'
import { ownerCases } from './journal-contract/owners.ts'
import { previewCases } from './journal-contract/previews.ts'
import { recordCases } from './journal-contract/records.ts'

/** The options of `testJournal`. */
export interface TestJournalOptions {
  /** The cases to skip, by name, each with a reason. If a name is unknown, `testJournal` throws immediately. */
  skip?: Readonly<Record<string, string>>
}

const cases: readonly JournalCase[] = [...crashCases, ...previewCases, ...recordCases, ...decisionCases, ...ownerCases, ...keepingCases]

/**
 * Tests that a journal fulfills the contract of `Journal`: recovery of a run whose process dies at any moment, ownership of a run by one
 * process, decisions, and queries for stored runs. `make` creates an empty place that stores runs, such as a database. The suite opens
 * several journals on the same place, to simulate several processes. A process dies when the suite stops its run between two steps and
 * closes its journal.
 *
 * Defines one `describe` with one `it` per case.
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
