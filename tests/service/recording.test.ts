import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { recordingFromText, recordingToText } from '../../src/recording/file/recording-file.ts'
import { recordingText } from '../../src/recording/file/recording-text.ts'
import { replayRun } from '../../src/recording/index.ts'
import { RecordingRecorder } from '../../src/recording/recorder.ts'
import { RecordingSecrets } from '../../src/recording/secrets.ts'
import type { ServiceOptions } from '../../src/service/index.ts'
import { headOfOrder } from '../../src/service/runs/run-order.ts'
import { RunRecordings } from '../../src/service/runs/run-recordings.ts'
import { ServiceRun } from '../../src/service/runs/service-run.ts'
import { abortedWith } from '../../src/service/runs/stored-run.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { json, payTool, startService, token } from './start-service.ts'

const recordings = { service: { keepRuns: { recordingMegabytes: 8 } } }
const login = defineTool({
  name: 'login',
  description: 'Logs in.',
  parameters: { type: 'object', properties: { pin: { type: 'string' } } },
  secrets: ['pin'],
  execute: ({ pin }) => `in with ${pin}`,
})
const usage = { inputTokens: 40, outputTokens: 10 }
const turns = [
  { toolCalls: [{ name: 'login', arguments: { pin: 'sesame-77' } }], usage },
  { text: 'You are in with sesame-77.', usage },
]

async function start(options: ServiceOptions = {}) {
  const service = await startService({
    model: scriptedModel(turns),
    tools: [login],
    config: recordings,
    agent: { instructions: 'Be kind.' },
    ...options,
  })
  const recordingOf = (id: string) => service.ask(`/v1/runs/${id}/recording`)
  return { ...service, recordingOf }
}

describe('the recording of a run of the service', () => {
  it('is a file that can be replayed, without secrets', async () => {
    const { post, recordingOf } = await start({ env: { SHOP_API_KEY: 'my-shop-key-4711' } })
    const { id } = await json(post('/v1/runs', { input: 'Let me in, my-shop-key-4711.' }))
    const response = await recordingOf(id)
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${id}.json"`)
    const text = await response.text()
    expect(text).not.toMatch(/sesame-77|my-shop-key-4711/)
    const recording = recordingFromText(text)
    expect(recordingToText(recording)).toBe(text)
    expect(recording).toMatchObject({ runId: id, given: { instructions: 'Be kind.' }, result: { stopReason: 'answered' } })
    expect((await replayRun(recording)).difference).toBeUndefined()
    expect((await replayRun(recording, { instructions: 'Be rude.' })).difference).toMatchObject({
      where: '1.model: request.messages[0].content',
    })
  })

  it.each(['in memory', 'in a journal'])('continues when the run has waited for a decision: %s', async (place) => {
    const folder = mkdtempSync(join(tmpdir(), 'recordings-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { tool } = payTool()
    const { post, recordingOf } = await start({
      model: scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { euros: 5 } }] }, 'Paid.']),
      tools: [tool],
      config: { service: { keepRuns: { ...recordings.service.keepRuns, ...(place === 'in memory' ? {} : { folder }) } } },
    })
    const { id, pending } = await json(post('/v1/runs', { input: 'x' }))
    expect(recordingFromText(await (await recordingOf(id)).text())).toMatchObject({ result: { stopReason: 'paused' } })
    const [{ toolCallId, fingerprint }] = pending
    await json(post(`/v1/runs/${id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: true }] }))
    const recording = recordingFromText(await (await recordingOf(id)).text())
    expect(recording).toMatchObject({ result: { stopReason: 'answered', text: 'Paid.' } })
    expect((await replayRun(recording)).difference).toBeUndefined()
  })

  it('is only for admins, because it has instructions', async () => {
    const caller = { name: 'ann', roles: ['run'] as const }
    const { post, recordingOf, ask } = await start({
      authenticate: (request) => (request.headers.get('authorization') === `Bearer ${token}` ? caller : { name: 'root', roles: ['admin'] }),
    })
    const { id } = await json(post('/v1/runs', { input: 'x' }))
    expect((await recordingOf(id)).status).toBe(403)
    expect((await ask(`/v1/runs/${id}/recording`, { headers: { authorization: 'Bearer root' } })).status).toBe(200)
  })

  it('is refused while the run is running, and for a run without one', async () => {
    const answer = Promise.withResolvers<string>()
    const begun = Promise.withResolvers<void>()
    const model = scriptedModel([
      async () => {
        begun.resolve()
        return { text: await answer.promise }
      },
    ])
    const { post, recordingOf, ask } = await start({ model })
    const { id } = await json(post('/v1/runs', { input: 'x', background: true }))
    await begun.promise
    expect((await json(recordingOf(id))).error).toMatchObject({ code: 'still_running' })
    answer.resolve('done')
    await (await ask(`/v1/runs/${id}/events`)).text()
    expect((await recordingOf(id)).status).toBe(200)
    expect((await json(recordingOf('run_0'))).error).toMatchObject({ code: 'run_not_found' })
  })

  it.each([
    ['in memory: not unless that is asked for', false, undefined, 404],
    ['in a journal: not unless that is asked for', true, undefined, 404],
    ['in a journal: where it is asked for', true, 8, 200],
  ])('%s', async (_, isInJournal, recordingMegabytes, expected) => {
    const folder = mkdtempSync(join(tmpdir(), 'recordings-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const keepRuns = { ...(isInJournal ? { folder } : {}), ...(recordingMegabytes === undefined ? {} : { recordingMegabytes }) }
    const { post, recordingOf } = await start({ config: { service: { keepRuns } } })
    const { id } = await json(post('/v1/runs', { input: 'x' }))
    const { status } = await recordingOf(id)
    expect(status).toBe(expected)
  })

  it('is dropped if it becomes too long, and the oldest make room for others', async () => {
    const page = defineTool({ name: 'page', description: '', effect: 'read', execute: () => 'word '.repeat(30_000) })
    const long = Array.from({ length: 8 }, () => ({ toolCalls: [{ name: 'page' }] }))
    const { post, recordingOf } = await start({
      model: scriptedModel([...long, 'done', ...long.slice(0, 4), 'done', ...long.slice(0, 4), 'done']),
      tools: [page],
      config: {
        limits: { maxIterations: 20, maxResultBytes: 200_000, repeatedCalls: 100 },
        service: { keepRuns: { recordingMegabytes: 1 } },
      },
    })
    const ids: string[] = []
    for (const input of ['longest', 'long', 'another']) ids.push((await json(post('/v1/runs', { input }))).id)
    expect(await Promise.all(ids.map(async (id) => (await recordingOf(id)).status))).toEqual([404, 404, 200])
  })
})

it('is deleted with its run if it is in memory', async () => {
  const { logger } = recordingLogger()
  const recordings = new RunRecordings([], () => ({ recordingCharacters: 1_000_000, recordsInMemory: true }), logger)
  const done = async (id: string) => {
    const order = {
      id,
      caller: { name: 'ann', roles: [] },
      agent: 'toolloop',
      kind: 'run' as const,
      clientTools: [],
      input: 'x',
      options: {},
    }
    const run = new ServiceRun({ head: headOfOrder(order) }, [], { events: 10, characters: 1_000 })
    const runner = new AgentRunner({ model: scriptedModel(['Done.']), logger })
    await runner.run('x', { ...(await recordings.optionFor(run, undefined)), runId: id })
    run.settle(abortedWith('over'))
    return run
  }
  const [first, second] = [await done('run_1'), await done('run_2')]
  expect((await recordings.fileOf(first, undefined)).join('')).toContain('Done.')
  await recordings.forgetUnknown(async (ids) => new Set(ids.filter((id) => id !== 'run_1')))
  await expect(recordings.fileOf(first, undefined)).rejects.toThrow('There is no recording of run run_1')
  expect((await recordings.fileOf(second, undefined)).join('')).toContain('Done.')
})

it('is the same whether it is written in parts or at once', async () => {
  const recorder = new RecordingRecorder()
  const runner = new AgentRunner({ model: scriptedModel(turns), tools: [login], instructions: 'Be kind.' })
  await runner.run('Let me in.', { recorder })
  const [whole, recorded] = [recorder.recording(), recorder.recorded()]
  if (whole === undefined || recorded === undefined) throw new Error('Nothing was recorded')
  expect((await recordingText(recorded, new RecordingSecrets())).join('')).toBe(recordingToText(whole))
})
