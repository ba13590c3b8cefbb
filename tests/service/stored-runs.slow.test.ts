import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { configFile, json, payTool, startService } from './start-service.ts'

it('a decision that can’t be stored is not carried out', async () => {
  const { folder, file } = await configFile('service: { keepRuns: { folder: runs, count: 3 }, waitingRuns: 2 }')
  const { tool, paid } = payTool()
  const model = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { euros: 5 } }] }, 'paid'])
  const { post } = await startService({ configFile: file, cwd: folder, model, tools: [tool] })
  const { id, pending } = await json(post('/v1/runs', { input: 'pay' }))
  const decisions = pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: true }))
  const decide = () => post(`/v1/runs/${id}/decisions`, { decisions })
  // Lets nobody write to the file, as a long transaction does.
  const database = new DatabaseSync(join(folder, 'runs/runs.sqlite'))
  database.exec('BEGIN IMMEDIATE')
  expect((await decide()).status).toBe(503)
  expect(paid).toEqual([])
  database.close()
  expect(await json(decide())).toMatchObject({ status: 'ended', output: 'paid' })
  expect(paid).toEqual([{ euros: 5 }])
})
