import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { recordingFromText, recordingToText } from '../../src/recording/file/recording-file.ts'
import { callsOf } from '../../src/recording/format.ts'
import { replayRun } from '../../src/recording/index.ts'
import { KeptResponses } from '../../src/service/responses/kept-responses.ts'
import type { RunBounds } from '../../src/service/run-bounds.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'
import { approvals, type SharedFolder, sharedFolder, untilRun } from './killed-service.ts'
import { allFrames, configFile, framesOf, json } from './start-service.ts'

const ann = { authorization: 'Bearer test-token-of-ann' }
/** How long it may take another process to resume the runs of a killed one, in milliseconds. */
const takenOverWithinMs = 10_000

describe('in a file', () => describeRuns(() => sharedFolder('keepRuns: { folder: kept, recordingMegabytes: 50 }')))

/** Longer than a call waits that somebody asked for. */
const lockedMs = 8_000

it('a service starts beside one that locks the file for a while, and is ready once it can write', async () => {
  const { folder, start } = await sharedFolder()
  await (await start()).kill()
  const other = new DatabaseSync(join(folder, 'kept/runs.sqlite'))
  other.exec('BEGIN EXCLUSIVE')
  setTimeout(() => other.close(), lockedMs)
  const { ask } = await start()
  const isReady = async () => (await ask('/readyz')).status
  expect(await isReady()).toBe(503)
  await expect.poll(isReady, { timeout: 2 * lockedMs, interval: 500 }).toBe(200)
})

it('the same holds for the file of responses', async () => {
  const { folder } = await configFile('')
  const { logger } = recordingLogger()
  const open = async () => {
    const responses = new KeptResponses(() => ({ ageMs: 60_000, count: 10, characters: 1_000_000 }) as RunBounds, logger)
    onTestFinished(() => responses.close())
    await responses.open({ kind: 'sqlite', folder })
    return responses
  }
  await (await open()).close()
  const other = new DatabaseSync(join(folder, 'responses.sqlite'))
  other.exec('BEGIN EXCLUSIVE')
  setTimeout(() => other.close(), lockedMs)
  await open()
})

describe.runIf(hasPostgres)('in PostgreSQL', () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres.stop())

  let schemas = 0
  describeRuns(() => {
    const journal = `{ kind: dbos, url: '\${DATABASE_URL}', schema: service${++schemas} }`
    return sharedFolder(`keepRuns: { recordingMegabytes: 50 }, journal: ${journal}`, { DATABASE_URL: postgres.url })
  })
})

/** `sharedFolder`: a folder whose services share their runs, for each test. */
function describeRuns(sharedFolder: () => Promise<SharedFolder>): void {
  describe('runs of a service whose process is killed', () => {
    it('continue by themselves at the next start, with their owner, and with events that follow the earlier ones', async () => {
      const { folder, start, world } = await sharedFolder()
      const first = await start()
      const started = await json(first.post('/v1/runs', { input: 'pay wait put', background: true }, ann))
      const seen: string[] = []
      for await (const { event, id = '' } of framesOf(await first.ask(`/v1/runs/${started.id}/events`))) {
        seen.push(id)
        if (event === 'TOOL_CALL_START' && seen.length > 5) break
      }
      await first.kill()
      writeFileSync(join(folder, 'go'), '')
      const second = await start()
      const last = seen.at(-1) ?? ''
      const frames = await allFrames(await second.ask(`/v1/runs/${started.id}/events`, { headers: { ...ann, 'last-event-id': last } }))
      expect(frames[0]?.id).toBe(String(Number(last) + 1))
      expect(frames.at(-1)?.event).toBe('RESULT')
      const run = JSON.parse(frames.at(-1)?.data ?? '')
      expect(run).toMatchObject({ status: 'ended', stopReason: 'answered', output: 'done [redacted]', owner: 'ann', iterations: 4 })
      expect(JSON.stringify(frames)).not.toContain('hunter-2222')
      expect(world().filter((line) => line.startsWith('start pay'))).toHaveLength(1)
      expect((await json(second.ask('/v1/runs'))).data).toMatchObject([{ id: started.id, owner: 'ann', status: 'ended' }])
    })

    it('have a recording that can be replayed, even if three processes have carried them out', async () => {
      const { folder, start, world } = await sharedFolder()
      const first = await start()
      const { id } = await json(first.post('/v1/runs', { input: 'put pay_slowly approve put', background: true }))
      await expect.poll(world, { timeout: 30_000 }).toHaveLength(3)
      await first.kill()
      const second = await start()
      await untilRun(second, id, ({ status }) => status === 'waiting')
      await second.kill()
      writeFileSync(join(folder, 'go'), '')
      const third = await start()
      const waiting = await untilRun(third, id, ({ status }) => status === 'waiting')
      await json(third.post(`/v1/runs/${id}/decisions`, { decisions: approvals(waiting) }))
      const text = await (await third.ask(`/v1/runs/${id}/recording`)).text()
      expect(text).not.toContain('hunter-2222')
      const recording = recordingFromText(text)
      const again = await replayRun(recording)
      expect(again.difference).toBeUndefined()
      expect(recordingToText(again.recording)).toBe(text)
      expect(again.result.text).toBe('done [redacted]')
      const calls = callsOf(recording).map(({ tool, errorCode }) => [tool, errorCode])
      expect(calls).toEqual([
        ['put', undefined],
        ['pay_slowly', 'tool_uncertain'],
        ['approve', undefined],
        ['put', undefined],
      ])
    })

    it('an unsafe call in flight is not repeated: the model gets an unknown outcome', async () => {
      const { start, world } = await sharedFolder()
      const first = await start()
      const { id } = await json(first.post('/v1/runs', { input: 'pay_slowly put', background: true }))
      await expect.poll(world, { timeout: 30_000 }).toHaveLength(1)
      await first.kill()
      const second = await start()
      const { result } = await untilRun(second, id, ({ status }) => status === 'ended')
      expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['uncertain', 'ok'])
      expect(world().filter((line) => line.startsWith('start pay_slowly'))).toHaveLength(1)
    })
  })

  describe('services of two processes with the same runs', () => {
    it('continue each other’s responses, for their owners, even those of a killed one', async () => {
      const { start } = await sharedFolder()
      const [one, two] = await Promise.all([start(), start()])
      const body = { model: 'toolloop', input: 'hello' }
      const response = await json(one.post('/v1/responses', body, ann))
      const again = { ...body, previous_response_id: response.id }
      expect(await json(two.post('/v1/responses', again, ann))).toMatchObject({ status: 'completed', previous_response_id: response.id })
      expect((await two.post('/v1/responses', again)).status).toBe(404)
      await one.kill()
      expect(await json(two.ask(`/v1/responses/${response.id}`, { headers: ann }))).toEqual(response)
    })

    it('show each other’s runs with live events, and take them over when one is killed', async () => {
      const { folder, start } = await sharedFolder()
      const [one, two] = await Promise.all([start(), start()])
      const { id } = await json(one.post('/v1/runs', { input: 'wait put', background: true }))
      expect(await json(two.ask(`/v1/runs/${id}`))).toMatchObject({ id, status: 'running' })
      expect((await two.ask(`/v1/runs/${id}`, { headers: ann })).status).toBe(404)
      const events: string[] = []
      let killed: number | undefined
      let tookMs: number | undefined
      for await (const { event, data } of framesOf(await two.ask(`/v1/runs/${id}/events`))) {
        events.push(event)
        if (event === 'TOOL_CALL_START' && data.includes('wait') && killed === undefined) {
          await one.kill()
          killed = performance.now()
          writeFileSync(join(folder, 'go'), '')
        } else if (killed !== undefined) tookMs ??= performance.now() - killed
        if (event === 'RESULT') expect(JSON.parse(data)).toMatchObject({ status: 'ended', output: 'done [redacted]' })
      }
      expect(events.filter((event) => event === 'RUN_START')).toHaveLength(1)
      expect(events.at(-1)).toBe('RESULT')
      expect(tookMs).toBeLessThan(takenOverWithinMs)
    })

    it('carry out a decision once that both receive at the same time', async () => {
      const { start, world } = await sharedFolder()
      const services = await Promise.all([start(), start()])
      const [one] = services
      for (let round = 0; round < 5; round++) {
        const run = await json(one.post('/v1/runs', { input: 'approve' }))
        const decide = () => services.map(({ post }) => post(`/v1/runs/${run.id}/decisions`, { decisions: approvals(run) }))
        const answers = await Promise.all([...decide(), ...decide()])
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
        for (const { ask } of services) expect(await json(ask(`/v1/runs/${run.id}`))).toMatchObject({ status: 'ended' })
      }
      expect(world().filter((line) => line.startsWith('start approve'))).toHaveLength(5)
    })

    it('cancel each other’s runs, and deliver messages to them', async () => {
      const { folder, start, world } = await sharedFolder()
      const [one, two] = await Promise.all([start(), start()])
      const cancelled = await json(one.post('/v1/runs', { input: 'wait', background: true }))
      const told = await json(one.post('/v1/runs', { input: 'wait', background: true }))
      await expect.poll(world, { timeout: 30_000 }).toHaveLength(2)
      expect(await json(two.post(`/v1/runs/${cancelled.id}/cancel`, {}))).toMatchObject({ status: 'ended', stopReason: 'aborted' })
      expect((await two.post(`/v1/runs/${told.id}/messages`, { input: 'and this' })).status).toBe(202)
      writeFileSync(join(folder, 'go'), '')
      expect(await untilRun(two, told.id, ({ status }) => status === 'ended')).toMatchObject({ output: 'done and this [redacted]' })
    })
  })
}
