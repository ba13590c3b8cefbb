/**
 * Started with `--expose-gc`: prints how many bytes a run leaves among the old objects once it is over, for each way to take a run. What is
 * only young when a run ends is gone with the next collection of young objects.
 */
import { getHeapSpaceStatistics } from 'node:v8'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const { gc } = globalThis as { gc?: (options?: { type: 'minor' }) => void }
if (gc === undefined) throw new Error('Expected to be started with --expose-gc')

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  effect: 'read',
  execute: async ({ query }) => `found ${query}`,
})
const model = scriptedModel(
  ({ messages }) => (messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'look_up', arguments: { query: 'x' } }] } : 'There it is.'),
  { record: false },
)
const runner = new AgentRunner({ model, tools: [lookUp] })

const ways: Record<string, () => Promise<unknown>> = {
  whole: () => runner.run('Find x.', { stream: false }),
  streamed: async () => {
    const stream = runner.stream('Find x.')
    for await (const _ of stream.text);
    return stream.result
  },
  events: async () => {
    const stream = runner.stream('Find x.')
    for await (const _ of stream);
    return stream.result
  },
}

const oldBytes = (): number => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0
const runs = 40
const left: Record<string, number> = {}
for (const [name, run] of Object.entries(ways)) {
  for (let i = 0; i < 500; i++) await run()
  gc()
  const before = oldBytes()
  for (let batch = 0; batch < 10; batch++) {
    for (let i = 0; i < runs; i++) await run()
    gc({ type: 'minor' })
    gc({ type: 'minor' })
  }
  left[name] = Math.round((oldBytes() - before) / (10 * runs))
}
console.log(JSON.stringify(left))
