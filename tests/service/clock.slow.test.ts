import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'
import { approvals, type SharedFolder, sharedFolder, untilRun } from './killed-service.ts'
import { json } from './start-service.ts'

/** What a process is started with whose clock is so many days off, in all its threads. */
const clockOff = (days: number): NodeJS.ProcessEnv => {
  const script = `const { now } = Date; const off = ${days * 86_400_000}
    globalThis.Date = class extends Date { constructor(...args) { args.length === 0 ? super(now() + off) : super(...args) } static now() { return now() + off } }`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` }
}
/** Longer than it takes a service to tidy up. */
const tidiedMs = 8_000

describe.runIf(hasPostgres)('a service whose clock is off, beside others', () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres.stop())

  it('P1.8 H60 ends and deletes no run, and other services none of its own, in PostgreSQL', async () => {
    await whetherAheadOrBehind(async (days) => {
      const journal = `{ kind: dbos, url: '\${DATABASE_URL}', schema: clock${days < 0 ? 'behind' : 'ahead'} }`
      await leavesRunsAlone(await sharedFolder(`keepRuns: { minutes: 1440 }, journal: ${journal}`, { DATABASE_URL: postgres.url }), days)
    })
  })

  it('P1.8 H60 ends and deletes no run, and other services none of its own, in a file', async () => {
    await whetherAheadOrBehind(async (days) => leavesRunsAlone(await sharedFolder('keepRuns: { folder: kept, minutes: 1440 }'), days))
  })
})

/** Both at once: most of the time they wait for a service to tidy up. */
async function whetherAheadOrBehind(check: (days: number) => Promise<void>): Promise<void> {
  await Promise.all([40, -40].map(check))
}

async function leavesRunsAlone({ start }: SharedFolder, days: number): Promise<void> {
  const right = await start()
  const wait = (service: typeof right) => json(service.post('/v1/runs', { input: 'approve' }))
  const done = (service: typeof right) => json(service.post('/v1/runs', { input: 'put' }))
  const runs = [await wait(right), await done(right)]
  const wrong = await start(clockOff(days))
  runs.push(await wait(wrong), await done(wrong))
  await new Promise((resolve) => setTimeout(resolve, tidiedMs))
  for (const service of [right, wrong]) {
    for (const { id, status } of runs) expect((await json(service.ask(`/v1/runs/${id}`))).status).toBe(status)
  }
  for (const [service, run] of [
    [wrong, runs[0]],
    [right, runs[2]],
  ] as const) {
    if (run === undefined) throw new Error('Expected a run')
    await service.post(`/v1/runs/${run.id}/decisions`, { decisions: approvals(run) })
    expect((await untilRun(service, run.id, ({ status }) => status === 'ended')).stopReason).toBe('answered')
  }
}
