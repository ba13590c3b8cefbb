import { expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { configFile, startService } from './start-service.ts'

const readLog = defineTool({ name: 'read_log', description: 'Reads.', effect: 'read', execute: () => 'x'.repeat(5_000) })

it('`limits.largeResults` of the configuration stores long results of a service’s runs', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'read_log' }] }, 'Done.'])
  const { post } = await startService({
    model,
    tools: [readLog],
    config: { limits: { largeResults: { overBytes: 1_000, shownBytes: 100 } } },
  })
  expect((await post('/v1/runs', { input: 'Hi' })).status).toBe(200)
  expect(model.requests[0]?.tools?.map(({ function: { name } }) => name)).toContain('read_result')
  expect(model.requests[1]?.messages.at(-1)?.content).toContain('Shortened: these are the first 100 of 5000 characters')
})

it.each([
  [{ overBytes: 3 }, '/limits/largeResults/overBytes'],
  [{ over: 3 }, '/limits/largeResults'],
  [{ overBytes: 100_000 }, '/limits/largeResults/overBytes'],
  ['yes', '/limits/largeResults'],
])('an invalid `limits.largeResults` is refused, with its place: %j', async (largeResults, path) => {
  const { file } = await configFile('limits: { maxIterations: 3 }\n')
  const { ask } = await startService({ model: scriptedModel([]), configFile: file })
  const { etag } = (await (await ask('/admin/api/config')).json()) as { etag: string }
  const response = await ask('/admin/api/config', {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-match': etag },
    body: JSON.stringify({ config: { limits: { largeResults } } }),
  })
  expect([response.status, JSON.stringify(await response.json())]).toEqual([422, expect.stringContaining(path)])
})
