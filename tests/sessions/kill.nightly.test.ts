import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { inFolder } from '../journals/temp-folder.ts'
import { hasPostgres, startPostgres } from '../postgres.ts'
import { killWorkers } from './kill-workers.ts'

// To run by hand: SESSION_KILLS=200 npm run test:nightly -- tests/sessions/kill.nightly.test.ts
const kills = Number(process.env.SESSION_KILLS ?? 20)
const chaos = { sessions: 12, runs: 60, workers: 2, kills, longestMs: 150 }
const timeout = 120_000 + kills * 3_000

describe(`sessions under ${kills} kill -9: each run is in its session once and whole, in order`, () => {
  it('SQLite', { timeout }, () =>
    inFolder(async (folder) => {
      const { killed, wrong } = await killWorkers({ ...chaos, where: join(folder, 'sessions.sqlite') })
      expect(wrong).toEqual([])
      expect(killed).toBeGreaterThan(5)
    }),
  )

  it.skipIf(!hasPostgres)('PostgreSQL', { timeout }, async () => {
    await using server = await startPostgres()
    const { killed, wrong } = await killWorkers({ ...chaos, where: server.url })
    expect(wrong).toEqual([])
    expect(killed).toBeGreaterThan(5)
  })
})
