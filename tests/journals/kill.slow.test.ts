import { expect, it } from 'vitest'
import { killWorkers } from './kill.ts'
import { inFolder } from './temp-folder.ts'

// By hand: JOURNAL_RUNS=1250 JOURNAL_KILLS=200 npm run test:slow -- tests/journals/kill.slow.test.ts
const runs = Number(process.env.JOURNAL_RUNS ?? 150)
const kills = Number(process.env.JOURNAL_KILLS ?? 25)
const turns = 4

it(`${runs * turns * 2} calls under ${kills} kill -9: no finished call runs again, no unsafe one starts twice, no run is lost`, {
  timeout: 60_000 + (kills + runs) * 3_000,
}, async () => {
  await inFolder(async (folder) => {
    const outcome = await killWorkers({ folder, runs, turns, concurrency: 8, kills, random: Math.random, longestMs: 60 })
    console.log(outcome)
    const { doubled, repeated, others, ended, owners } = outcome
    expect({ doubled, repeated, others, ended, owners }).toEqual({ doubled: [], repeated: [], others: [], ended: runs, owners: 0 })
    // On a fast machine the work is done before so many have been killed.
    expect(outcome.kills).toBeGreaterThan(Math.min(10, kills - 1))
  })
})
