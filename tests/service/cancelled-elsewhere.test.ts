import { expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { configFile, framesOf, json, startService } from './start-service.ts'

it('P1.13 cancel: a run that another service executes ends with one line in the log of that service, and its end is in the feeds of both', async () => {
  const { folder, file } = await configFile('service: { keepRuns: { folder: kept } }\n')
  const started = Promise.withResolvers<void>()
  const wait = defineTool({
    name: 'wait',
    description: '',
    effect: 'idempotent',
    execute: () => {
      started.resolve()
      return new Promise(() => {})
    },
  })
  const start = () =>
    startService({ model: scriptedModel(() => ({ toolCalls: [{ name: 'wait' }] })), tools: [wait], configFile: file, cwd: folder })
  const [owner, other] = [await start(), await start()]
  const feeds = await Promise.all([owner, other].map(async ({ ask }) => framesOf(await ask('/admin/api/feed'))))
  const { id } = await json(owner.post('/v1/runs', { input: 'go', background: true }))
  await started.promise

  expect(await json(other.post(`/v1/runs/${id}/cancel`, {}))).toMatchObject({ status: 'ended', stopReason: 'aborted' })
  for (const feed of feeds) {
    for await (const { event, data } of feed) {
      if (event !== 'RUN_END') continue
      expect(JSON.parse(data)).toMatchObject({ stopReason: 'aborted', meta: { runId: id } })
      break
    }
  }
  await expect.poll(async () => (await json(owner.ask(`/v1/runs/${id}`))).status).toBe('ended')
  const lines = [owner, other].map(({ log }) =>
    log()
      .split('\n')
      .filter((line) => line.includes(id)),
  )
  expect(lines[1]).toEqual([])
  expect(lines[0]).toHaveLength(1)
  expect(JSON.parse(lines[0]?.[0] ?? '')).toMatchObject({ level: 40, stopReason: 'aborted', errorCode: 'aborted', msg: 'run ended' })
})
