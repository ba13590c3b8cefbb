import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { FinishedRuns } from '../../src/service/overview/finished-runs.ts'
import { overviewOf, windows } from '../../src/service/overview/overview.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { seedRuns } from './seed-runs.ts'
import { configFile, payTool, startService } from './start-service.ts'

interface Told {
  runs: number
  failed: number
  inputTokens: number
  costUsd: number
  p50Ms: number | null
  series: { runs: number }[]
  reasons: object[]
  tools: object[]
  models: object[]
  users: object[]
  running: number
  waiting: number
}
const overview = async (asked: Promise<Response>) => (await (await asked).json()) as Told

it('adds up the stored runs and those that end here, each once, whatever the store has forgotten', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolloop-overview-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  // The last minute of a window is the current one, so a minute is left at both ends.
  await seedRuns(folder, [
    { id: 'old', title: 'x', minutesAgo: 23 * 60, costUsd: 0.5, tools: ['pay'] },
    { id: 'failed', title: 'x', minutesAgo: 30, stopReason: 'model_error' },
    { id: 'cancelled', title: 'x', minutesAgo: 30, stopReason: 'aborted' },
    { id: 'good', title: 'x', minutesAgo: 10, tools: ['pay', 'look'], costUsd: 0.25 },
  ])
  const { file } = await configFile(`service: { keepRuns: { folder: ${folder}, count: 10000, minutes: 1000000 } }\n`)
  const { tool } = payTool()
  const { ask, post } = await startService({
    configFile: file,
    tools: [tool],
    model: scriptedModel(['now', { toolCalls: [{ name: 'pay', arguments: { euros: 1 } }] }]),
  })
  await post('/v1/runs', { input: 'x' })
  expect((await post('/v1/runs', { input: 'waits' })).status).toBe(200)
  const hour = await overview(ask('/admin/api/overview'))
  expect(hour).toMatchObject({ object: 'overview', window: 'hour', runs: 4, failed: 1, costUsd: 0.25, running: 0, waiting: 1 })
  expect(hour.series).toHaveLength(30)
  expect(hour.series.reduce((sum, { runs }) => sum + runs, 0)).toBe(4)
  expect(hour.reasons).toEqual(
    expect.arrayContaining([
      { stopReason: 'model_error', runs: 1 },
      { stopReason: 'aborted', runs: 1 },
    ]),
  )
  expect(hour.tools).toEqual([
    { tool: 'pay', runs: 1, failed: 0, tokens: 120, costUsd: 0.25 },
    { tool: 'look', runs: 1, failed: 0, tokens: 120, costUsd: 0.25 },
  ])
  expect(hour.users).toMatchObject([{ owner: 'operator', runs: 4, failed: 1 }])
  expect(hour.models).toMatchObject([
    { model: 'toolloop', runs: 3, failed: 1, costUsd: 0.25 },
    { model: 'scripted/scripted-model', runs: 1, failed: 0 },
  ])
  const day = await overview(ask('/admin/api/overview?window=day'))
  expect(day).toMatchObject({ runs: 5, failed: 1, costUsd: 0.75 })
  expect(day.series).toHaveLength(48)
  expect((await ask('/admin/api/overview?window=year')).status).toBe(400)
})

it('counts no failure if a client runs its own tools', async () => {
  const { ask, post } = await startService({ model: scriptedModel([{ toolCalls: [{ name: 'mine', arguments: {} }] }, 'done']) })
  const tools = [{ type: 'function', function: { name: 'mine', parameters: { type: 'object' } } }]
  const messages = [{ role: 'user', content: 'x' }]
  for (let at = 0; at < 2; at++) expect((await post('/v1/chat/completions', { model: 'toolloop', messages, tools })).status).toBe(200)
  expect(await overview(ask('/admin/api/overview'))).toMatchObject({ runs: 2, failed: 0, reasons: [] })
})

it('is for admins', async () => {
  const { file } = await configFile('service: { auth: { tokens: [{ name: app, roles: [run], env: APP_TOKEN }] } }\n')
  const env = { APP_TOKEN: 'a-token-of-an-app-17' }
  const { url } = await startService({ model: scriptedModel([]), configFile: file, env })
  expect((await fetch(`${url}/admin/api/overview`, { headers: { authorization: `Bearer ${env.APP_TOKEN}` } })).status).toBe(403)
})

it('reads each run of the store once, and again only those that were running', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const asked: object[] = []
  const runs = Array.from({ length: 450 }, (_, at) => summary(`run_${at}`, at === 7 ? 'running' : 'ended'))
  const finished = new FinishedRuns(async ({ limit, cursor = '0', ids }) => {
    asked.push({ cursor, ids })
    const [from, found] = [Number(cursor), ids === undefined ? runs : runs.filter((json) => ids.includes(JSON.parse(json).id))]
    const next = from + limit < found.length ? { next: String(from + limit) } : {}
    return { data: found.slice(from, from + limit), ...next }
  })
  expect((await finished.since(0)).runs).toHaveLength(449)
  expect(asked).toEqual([{ cursor: '0' }, { cursor: '200' }, { cursor: '400' }])
  asked.length = 0
  // However many ask at once.
  await Promise.all([finished.since(0), finished.since(0)])
  expect(asked).toEqual([])
  runs[7] = summary('run_7', 'ended')
  runs.unshift(summary('new', 'ended'))
  // The runs are not listed more often than every two seconds.
  vi.advanceTimersByTime(1_999)
  expect((await finished.since(0)).runs).toHaveLength(449)
  vi.advanceTimersByTime(1)
  expect((await finished.since(0)).runs).toHaveLength(451)
  expect(asked).toEqual([{ cursor: '0', ids: ['run_7'] }, { cursor: '0' }, { cursor: '200' }])
})

it('has the median and the 95th percentile of durations, by step', async () => {
  const now = Date.UTC(2026, 0, 1, 12, 1)
  const runs = Array.from({ length: 100 }, (_, at) => ({
    ...{ finishedAt: now, workedMs: (at + 1) * 10, model: 'm', owner: 'o', stopReason: 'answered', errorCode: undefined },
    ...{ inputTokens: 1, outputTokens: 2, costUsd: 0, tools: [] },
  }))
  const { p50Ms, p95Ms, series, from, to, outputTokens } = await overviewOf(runs, windows.hour ?? { steps: 1, stepMs: 1 }, now)
  expect({ p50Ms, p95Ms, from, to, outputTokens }).toEqual({
    p50Ms: 500,
    p95Ms: 950,
    from: '2026-01-01T11:02:00.000Z',
    to: '2026-01-01T12:02:00.000Z',
    outputTokens: 200,
  })
  expect(series.at(-1)).toMatchObject({ runs: 100, p50Ms: 500 })
  expect(series[0]).toMatchObject({ runs: 0, p50Ms: null, p95Ms: null })
})

function summary(id: string, status: string): string {
  const at = new Date().toISOString()
  return JSON.stringify({ id, status, createdAt: at, ...(status === 'ended' ? { finishedAt: at, stopReason: 'answered' } : {}) })
}
