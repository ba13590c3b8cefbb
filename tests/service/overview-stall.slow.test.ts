import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { maxStallMs, measuredService, stallOf } from './measured-service.ts'
import { seedRuns } from './seed-runs.ts'
import { configFile } from './start-service.ts'

it('an overview of 5,000 stored runs keeps nobody waiting for more than 50 ms, the first time and after; nor do the tools', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolloop-overview-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const output = 'An answer of some length. '.repeat(40)
  const seeds = Array.from({ length: 5_000 }, (_, at) => ({
    ...{ id: `run_${at}`, title: `run ${at}`, output, tools: ['calculate', 'current_time'], costUsd: 0.001 },
    minutesAgo: 1_380 - at * 0.25,
  }))
  await seedRuns(folder, seeds)
  const { file } = await configFile(
    `service: { requestsPerMinute: 100000, keepRuns: { folder: ${folder}, count: 10000, minutes: 1000000 } }\n`,
  )
  const stalls: Record<string, number> = {}
  // The first reading happens once in a process: the best of a few of them, as code that runs for the first time is not compiled yet.
  for (let tried = 0; tried < 3 && (stalls.first ?? maxStallMs + 1) > maxStallMs; tried++) {
    const service = await measuredService({ configFile: file })
    await (await service.ask('/v1/runs?limit=200')).text()
    await service.measure()
    const day = (await (await service.ask('/admin/api/overview?window=day')).json()) as { runs: number }
    expect(day.runs).toBe(5_002)
    stalls.first = Math.min(stalls.first ?? Number.POSITIVE_INFINITY, (await service.measure()).stallMs)
    for (const path of ['overview?window=day', 'overview?window=hour', 'tools']) {
      const { stallMs } = await stallOf(service, async () => (await service.ask(`/admin/api/${path}`)).text())
      stalls[path] = stallMs
    }
    await service.end()
  }
  expect(Object.entries(stalls).filter(([, ms]) => ms > maxStallMs)).toEqual([])
  console.log(stalls)
})
