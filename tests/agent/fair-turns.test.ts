import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { AgentRunner, type ChatModel, defineTool } from '../../src/index.ts'

afterEach(() => {
  vi.useRealTimers()
})

const now = performance.now.bind(performance)

/** A model that calls a tool three times, and is at work itself for a millisecond each time. */
const busyModel: ChatModel = {
  provider: 'test',
  model: 'test',
  capabilities: { nativeTools: true },
  async generate({ messages }) {
    for (const begun = now(); now() - begun < 1; );
    if (messages.length > 6) return { text: 'done', toolCalls: [], finishReason: 'stop' }
    const call = { id: `call_${messages.length}`, type: 'function', function: { name: 'look_up', arguments: '{}' } } as const
    return { text: '', toolCalls: [call], finishReason: 'tool_calls' }
  },
}
const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  parameters: { type: 'object' },
  effect: 'read',
  execute: () => 'found',
})
const runner = new AgentRunner({ model: busyModel, tools: [lookUp] })

const runAtOnce = (count: number) => Promise.all(Array.from({ length: count }, () => runner.run('Find it.')))

it('very many runs at once leave room between their steps for everything else', async () => {
  const runs = runAtOnce(50)
  let isDone = false
  const done = runs.then((results) => {
    isDone = true
    return results
  })
  let turns = 0
  for (; !isDone; turns++) await nextTurn()
  expect((await done).map(({ output }) => output)).toEqual(Array(50).fill('done'))
  // 200 milliseconds of work at least, in parts of 8.
  expect(turns).toBeGreaterThan(10)
})

it('runs continue if a test has stopped the clocks', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'setImmediate', 'Date', 'performance', 'queueMicrotask'] })
  expect((await runAtOnce(10)).every(({ output }) => output === 'done')).toBe(true)
})

it('a received response counts, even if the run is aborted before its turn', async () => {
  const controller = new AbortController()
  const model: ChatModel = {
    ...busyModel,
    async generate() {
      for (const begun = now(); now() - begun < 20; );
      setImmediate(() => controller.abort())
      return { text: 'Here.', toolCalls: [], finishReason: 'stop', usage: { inputTokens: 40, outputTokens: 2, totalTokens: 42 } }
    },
  }
  const { usage } = await new AgentRunner({ model }).run('go', { signal: controller.signal })
  expect(usage).toMatchObject({ inputTokens: 40, outputTokens: 2 })
})
