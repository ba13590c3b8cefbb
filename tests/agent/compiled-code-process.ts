/**
 * Started with `--expose-gc --trace-deopt`: makes runs, and between them collects all that is left of them, as happens in idle times. Node
 * prints what compiled code it throws away then.
 */
import { setImmediate } from 'node:timers/promises'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const { gc } = globalThis as { gc?: () => void }
if (gc === undefined) throw new Error('Expected to be started with --expose-gc')

/** Nothing keeps its shape: what is compiled for it is thrown away. */
class Forgotten {
  readonly at: number

  constructor(at: number) {
    this.at = at
  }
}

function readForgotten({ at }: Forgotten): number {
  return at
}

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  effect: 'read',
  execute: async ({ query }) => `found ${query}`,
})
const toolCalls = Array.from({ length: 30 }, (_, at) => ({ name: 'look_up', arguments: { query: `x${at}` } }))
const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? { toolCalls } : 'There they are.'), { record: false })
const runner = new AgentRunner({ model, tools: [lookUp], toolConcurrency: 30 })

for (const runs of [600, 150, 150, 150]) {
  for (let i = 0; i < runs; i++) await runner.run('Find them.')
  for (let i = 0; i < 20; i++) {
    Array.from({ length: 10_000 }, (_, at) => new Forgotten(at)).map(readForgotten)
    await setImmediate()
  }
  // V8 prints there as well, and may be in the middle of a line.
  console.log('<idle>')
  gc()
  gc()
}
