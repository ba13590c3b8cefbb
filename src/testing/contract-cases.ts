import { InvalidOptionError } from '../core/errors.ts'
import type { Expect } from './contract/kit.ts'

/**
 * The functions of a test runner that a contract suite needs. The globals of Vitest and Jest can be passed as they are. For `node:test`,
 * define `expect` with two assertions: `expect: (actual) => ({ toBe: (expected) => assert.strictEqual(actual, expected), toEqual:
 * (expected) => assert.deepEqual(actual, expected) })`.
 */
export interface TestApi {
  /** Groups the cases. It is called once and may run its body immediately or later. */
  describe(name: string, body: () => void): unknown
  /** Defines a case, which fails if its body rejects. */
  it(name: string, body: () => Promise<void>): unknown
  expect: Expect
}

interface Suite<Case> {
  name: string
  cases: readonly Case[]
  skip?: Readonly<Record<string, string>> | undefined
}

/** Defines a `describe` with an `it` for each case that is not skipped. Throws `invalid_option` for an unknown name in `skip`. */
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

/** Passes `run` a function that opens a world, and finally closes all worlds that `run` has opened. */
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
