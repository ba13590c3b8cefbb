import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { maxStallMs, measuredService } from './measured-service.ts'
import { configFile, json } from './start-service.ts'

const large = (megabytes: number) => `call pay ${JSON.stringify({ note: 'x'.repeat(megabytes * 1_000_000) })}`

/** What is in the journal of a folder, or is put there behind the service's back. */
function sql(folder: string, query: string) {
  const database = new DatabaseSync(join(folder, 'kept', 'runs.sqlite'))
  try {
    return database.prepare(query).all()
  } finally {
    database.close()
  }
}

/** So many runs that differ from the one there is in their id alone, in all that is shown of it. */
function copyRun(folder: string, count: number, finishedAt = 'finished_at'): void {
  const columns = 'caller, agent, kind, status, attempt, stop_reason, created_at, size, first_event, last_event, title, summary, head'
  const many = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${count})`
  sql(
    folder,
    `${many} INSERT INTO shown_runs (id, finished_at, settled_at, ${columns}) SELECT 'run_copy-' || i, ${finishedAt}, ${finishedAt}, ${columns} FROM shown_runs, c WHERE status = 'waiting'`,
  )
  const paused = "run IN (SELECT n FROM shown_runs WHERE status = 'waiting')"
  const copies = `SELECT copy.n, value, state FROM shown_runs copy, shown_results WHERE copy.id LIKE 'run_copy-%' AND ${paused}`
  sql(folder, `INSERT INTO shown_results (run, value, state) ${copies}`)
}

describe('paused runs', () => {
  it('wait on the disk: very many large ones need no memory, are there after a restart, and can be decided on', async () => {
    const { folder, file } = await configFile('service: { waitingMegabytes: 1000, keepRuns: { folder: kept, waitingMegabytes: 1000 } }\n')
    const options = { cwd: folder, configFile: file, heapMB: 112 }
    const first = await measuredService(options)
    let last: Awaited<ReturnType<typeof json>> | undefined
    for (let i = 0; i < 16; i++) last = await json(first.post('/v1/runs', { input: large(0.5) }))
    expect(last?.status).toBe('waiting')
    const measured = await first.measure()
    expect(measured.stallMs).toBeLessThanOrEqual(maxStallMs)
    await first.end()
    expect(sql(folder, "SELECT id FROM shown_runs WHERE status = 'waiting'")).toHaveLength(16)
    const second = await measuredService(options)
    const kept = await json(second.ask(`/v1/runs/${last?.id}`))
    expect(kept).toEqual(last)
    const decisions = kept.pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: true }))
    const decided = await Promise.all([1, 2].map(() => second.post(`/v1/runs/${last?.id}/decisions`, { decisions })))
    expect(decided.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await second.measure()).stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('expire one by one if very many large ones have waited too long', async () => {
    const { folder, file } = await configFile(
      'service: { waitingMegabytes: 1000, keepRuns: { folder: kept, megabytes: 10, waitingMegabytes: 1000 } }\n',
    )
    const options = { cwd: folder, configFile: file, heapMB: 112 }
    const first = await measuredService(options)
    const run = await json(first.post('/v1/runs', { input: large(1) }))
    expect(run.status).toBe('waiting')
    await first.end()
    copyRun(folder, 30, String(Date.now() - 31 * 86_400_000))
    const second = await measuredService(options)
    const { data } = await json(second.ask('/v1/runs'))
    expect(data.filter(({ status }) => status === 'waiting').map(({ id }) => id)).toEqual([run.id])
    expect(sql(folder, "SELECT id FROM shown_runs WHERE status = 'waiting'")).toEqual([{ id: run.id }])
    // They have ended, and the oldest of them give way.
    expect(data.length).toBeLessThan(31)
    expect((await second.ask('/healthz')).status).toBe(200)
  })

  it('a thousand of them are there after a start that reads only their beginnings', async () => {
    const { folder, file } = await configFile('service: { waitingMegabytes: 1000, keepRuns: { folder: kept, waitingMegabytes: 1000 } }\n')
    const options = { cwd: folder, configFile: file, heapMB: 112 }
    const first = await measuredService(options)
    await json(first.post('/v1/runs', { input: large(0.05) }))
    await first.end()
    copyRun(folder, 999)
    const second = await measuredService(options)
    await (await second.ask('/v1/runs?limit=1000')).text()
    expect(await (await second.ask('/metrics')).text()).toContain('toolloop_runs_waiting 1000\n')
    expect((await second.measure()).stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('have a limit of bytes per caller and in total: one beyond it ends, and no other is started', async () => {
    const { folder, file } = await configFile('service: { waitingMegabytes: 10, keepRuns: { folder: kept, waitingMegabytes: 12 } }\n')
    const { file: inMemory } = await configFile('service: { waitingMegabytes: 10 }\n')
    for (const path of [file, inMemory]) {
      const { post, ask } = await measuredService({ cwd: folder, configFile: path })
      const statuses: (string | number)[] = []
      for (let i = 0; i < 12; i++) {
        const response = await post('/v1/runs', { input: large(0.2) })
        statuses.push(response.status === 200 ? (await json(response)).status : response.status)
      }
      expect(statuses[0]).toBe('waiting')
      expect(statuses.includes('ended')).toBe(true)
      const { data } = await json(ask('/v1/runs'))
      const [ended] = data.filter(({ status }) => status === 'ended')
      expect(ended).toMatchObject({ stopReason: 'aborted', error: { message: expect.stringContaining('no room to store this run') } })
      const [paused] = data.filter(({ status }) => status === 'waiting')
      expect((await post(`/v1/runs/${paused?.id}/cancel`, {})).status).toBe(200)
      expect((await json(post('/v1/runs', { input: 'hello' }))).output).toBe('ok')
    }
  })
})
