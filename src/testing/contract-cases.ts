import { InvalidOptionError } from '../core/errors.ts'
import type { Expect } from './contract/kit.ts'

/**
 * What a contract suite needs of a test runner. Vitest's and Jest's globals fit as they are; for `node:test` two assertions do:
 * `expect: (actual) => ({ toBe: (expected) => assert.strictEqual(actual, expected), toEqual: (expected) => assert.deepEqual(actual, expected) })`.
 */
export interface TestApi {
  /** Groups the cases. Called once, its body synchronously or later. */
  describe(name: string, body: () => void): unknown
  /** Defines one case, which fails when its body rejects. */
  it(name: string, body: () => Promise<void>): unknown
  expect: Expect
}

/** A suite's name, its cases, and those of them that are left out, each with the reason. */
interface Suite<Case> {
  name: string
  cases: readonly Case[]
  skip?: Readonly<Record<string, string>> | undefined
}

/** A `describe` with an `it` for each case but the skipped ones. Throws `invalid_option` for a name in `skip` that is no case's. */
export function defineCases<Case extends { name: string }>(
  { name, cases, skip = {} }: Suite<Case>,
  api: TestApi,
  run: (test: Case) => Promise<void>,
): void {
  const unknown = Object.keys(skip).find((skipped) => !cases.some((known) => known.name === skipped))
  if (unknown !== undefined) throw new InvalidOptionError('skip', 'names of cases', unknown)
  api.describe(name, () => {
    for (const test of cases) if (!(test.name in skip)) api.it(test.name, () => run(test))
  })
}

/** Gives `run` new worlds, as many as it asks for, and closes them behind it. */
export async function withWorlds<World extends { close(): Promise<void> }>(
  open: () => Promise<World>,
  run: (place: () => Promise<World>) => Promise<void>,
): Promise<void> {
  const worlds: World[] = []
  try {
    await run(async () => {
      const world = await open()
      worlds.push(world)
      return world
    })
  } finally {
    for (const world of worlds) await world.close()
  }
}
