/**
 * Runs an agent against the provider at `argv[2]`. When its parent asks, while the agent waits for a response, it reports the files of src in
 * which a function was called since the last time.
 */
import { Session } from 'node:inspector'
import { AgentRunner, createModel, defineTool } from '../src/index.ts'

const src = new URL('../src/', import.meta.url).href
const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

function takeCalled(): string[] {
  let called: string[] = []
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error !== null) throw error
    const isCalled = result.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
    called = isCalled.flatMap(({ url }) => (url.startsWith(src) ? [url.slice(src.length)] : []))
  })
  return called
}

process.on('message', () => process.send?.(takeCalled()))

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})
const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'none', baseURL: process.argv[2] ?? '' })
await new AgentRunner({ model, tools: [add] }).run('Add.')
process.disconnect()
