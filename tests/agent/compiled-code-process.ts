/**
 * Started with `--expose-gc --trace-deopt`: makes runs, and between them collects all that is left of them, as happens in idle times. Node
 * prints what compiled code it throws away then.
 */
import { setImmediate } from 'node:timers/promises'
import { AgentRunner, type ChatModel, defineTool, type ToolCall } from '../../src/index.ts'

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
const toolCalls = Array.from(
  { length: 30 },
  (_, at): ToolCall => ({ id: `call_${at}`, type: 'function', function: { name: 'look_up', arguments: `{"query":"x${at}"}` } }),
)
const model: ChatModel = {
  provider: 'test',
  model: 'test',
  capabilities: { nativeTools: true },
  async generate({ messages }, sink) {
    if (messages.at(-1)?.role === 'user') return { text: '', toolCalls, finishReason: 'tool_calls' }
    sink?.text?.('There they are.')
    return { text: 'There they are.', toolCalls: [], finishReason: 'stop' }
  },
}
const runner = new AgentRunner({ model, tools: [lookUp], toolConcurrency: 30 })

for (const runs of [300, 150, 150, 150]) {
  for (let i = 0; i < runs; i++) {
    await runner.run('Find them.')
    const stream = runner.stream('Find them.')
    for await (const text of stream.text) if (text === '') throw new Error('Expected a text')
    await stream.result
  }
  for (let i = 0; i < 20; i++) {
    Array.from({ length: 10_000 }, (_, at) => new Forgotten(at)).map(readForgotten)
    await setImmediate()
  }
  // V8 prints there as well, and may be in the middle of a line.
  console.log('<idle>')
  // V8 keeps a shape for two collections after the last of its objects is gone.
  for (let i = 0; i < 4; i++) gc()
}
