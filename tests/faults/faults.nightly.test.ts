import { describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../postgres.ts'
import type { FaultName } from './faults.ts'
import { canMount, inFolder, inPostgres, type Place } from './place.ts'
import { play } from './scenario.ts'

// Manually, for hours: npm run test:faults
const { TOOLLOOP_TEST_SEED: asked = '1' } = process.env
const seed = asked === 'random' ? Math.floor(Math.random() * 1e9) : Number(asked)

async function expectToHold(faults: readonly FaultName[], open: () => Place): Promise<void> {
  const place = open()
  try {
    const { violations, log, done } = await play({ seed, faults }, place)
    console.log(`seed ${seed}: ${faults.join(' ')}`, done)
    expect(violations, log.join('\n')).toEqual([])
    expect(done.runs).toBeGreaterThan(5)
  } finally {
    await place[Symbol.asyncDispose]()
  }
}

if (!canMount()) console.warn('SKIPPED: full disks, because none can be mounted here (only root may)')

// A retry could pass by chance.
describe.concurrent('the ten invariants of runs hold', { retry: 0, timeout: 240_000 }, () => {
  it('in SQLite, under kills', () =>
    expectToHold(
      Array.from({ length: 8 }, () => 'kill' as const),
      () => inFolder(),
    ))

  it('in SQLite, with processes that stop, are deployed, and resume everything', () =>
    expectToHold(['deploy', 'stop', 'owners', 'deploy', 'kill', 'deploy'], () => inFolder()))

  it.runIf(canMount())('in SQLite, on a disk that is sometimes full', () => expectToHold(['disk', 'kill', 'disk'], () => inFolder(32)))

  it('in SQLite, with clocks that are off by weeks', () => expectToHold(['clock', 'kill', 'clock'], () => inFolder()))

  it.runIf(hasPostgres)('in PostgreSQL, with clocks that are off by weeks', async () => {
    await using postgres = await startPostgres()
    await expectToHold(['clock', 'kill', 'clock'], () => inPostgres(postgres))
  })

  it.runIf(hasPostgres)('in PostgreSQL, with lost connections, restarts and deploys', async () => {
    await using postgres = await startPostgres()
    await expectToHold(['cut', 'kill', 'restart', 'deploy', 'crash'], () => inPostgres(postgres))
  })

  it.runIf(hasPostgres)('in PostgreSQL, with a process that loses its runs without noticing, or is paused', async () => {
    await using postgres = await startPostgres()
    await expectToHold(['partition', 'stop', 'kill'], () => inPostgres(postgres))
  })
})
