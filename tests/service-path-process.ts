/**
 * Runs a service whose model is at `argv[2]`, with its runs in the folder `argv[3]`. Starts two runs through its API. When the second has
 * ended, it reports the files of src in which a function was called for it: by then, everything is loaded.
 */
import { createModel, defineTool } from '../src/index.ts'
import { createService } from '../src/service/index.ts'
import { watchCalledFiles } from './called-files.ts'

const takeCalled = watchCalledFiles()
const [, , baseURL = '', folder = ''] = process.argv
const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})
const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'none', baseURL })
const service = createService({
  model,
  tools: [add],
  token: 'a-token-of-this-test',
  config: { service: { keepRuns: { folder } } },
})
const headers = { 'content-type': 'application/json', authorization: 'Bearer a-token-of-this-test' }
for (let at = 0; at < 2; at++) {
  if (at === 1) takeCalled()
  const response = await service.fetch(
    new Request('http://localhost/v1/runs', { method: 'POST', headers, body: JSON.stringify({ input: 'Add.' }) }),
  )
  const run = (await response.json()) as { output?: unknown }
  if (run.output !== 'Five.') throw new Error(`Expected an answer, got ${JSON.stringify(run)}`)
}
process.send?.(takeCalled())
await service.drain(0)
process.disconnect()
