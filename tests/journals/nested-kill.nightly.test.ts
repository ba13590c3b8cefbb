import { expect, it } from 'vitest'
import { killWorkers } from './kill.ts'
import { inFolder } from './temp-folder.ts'

// By hand: NESTED_RUNS=800 NESTED_KILLS=200 npm run test:nightly -- tests/journals/nested-kill.nightly.test.ts
const runs = Number(process.env.NESTED_RUNS ?? 60)
const kills = Number(process.env.NESTED_KILLS ?? 12)
const turns = 3
const levels = 3

it(`P2.3 H52 ${runs} runs of ${levels} levels under ${kills} kill -9: no finished call runs again, no unsafe one starts twice, and records stay small`, {
  timeout: 60_000 + (kills + runs) * 3_000,
}, async () => {
  await inFolder(async (folder) => {
    const outcome = await killWorkers({ folder, runs, turns, concurrency: 4, levels, kills, random: Math.random, longestMs: 60 })
    console.log(outcome)
    const { doubled, repeated, others, ended, owners, largestRecords } = outcome
    expect({ doubled, repeated, others, ended, owners }).toEqual({ doubled: [], repeated: [], others: [], ended: runs, owners: 0 })
    expect(outcome.kills).toBeGreaterThan(Math.min(5, kills - 1))
    expect(largestRecords).toBeLessThan(30_000)
  })
})
