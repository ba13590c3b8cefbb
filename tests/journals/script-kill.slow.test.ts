import { expect, it } from 'vitest'
import { killWorkers } from './kill.ts'
import { inFolder } from './temp-folder.ts'

// By hand: SCRIPT_RUNS=600 SCRIPT_KILLS=300 npm run test:slow -- tests/journals/script-kill.slow.test.ts
const runs = Number(process.env.SCRIPT_RUNS ?? 60)
const kills = Number(process.env.SCRIPT_KILLS ?? 12)

it(`${runs} runs with scripts under ${kills} kill -9: no finished call runs again, and no unsafe one starts twice`, {
  timeout: 60_000 + (kills + runs) * 3_000,
}, async () => {
  await inFolder(async (folder) => {
    const outcome = await killWorkers({ folder, runs, turns: 4, concurrency: 4, mode: 'script', kills, random: Math.random, longestMs: 60 })
    console.log(outcome)
    const { doubled, repeated, others, ended, owners } = outcome
    expect({ doubled, repeated, others, ended, owners }).toEqual({ doubled: [], repeated: [], others: [], ended: runs, owners: 0 })
    expect(outcome.kills).toBeGreaterThan(Math.min(5, kills - 1))
    expect(outcome.started).toBeGreaterThanOrEqual(runs * 4)
  })
})
