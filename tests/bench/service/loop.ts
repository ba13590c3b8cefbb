/** `node loop.ts PROVIDER`: the loop by itself, without the service: so many runs with one tool call, ten at once, for each number it gets. */
import { AgentRunner, createModel, defineTool } from 'toolloop'

const [, , provider = ''] = process.argv
const model = createModel({ provider: 'custom', model: 'bench', baseURL: `${provider}/call/v1`, apiKey: 'key' })
const parameters = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] } as const
const add = defineTool({ name: 'add', description: 'Adds.', parameters, execute: ({ a, b }) => a + b })
const runner = new AgentRunner({ model, tools: [add], logger: { debug() {}, info() {}, warn() {}, error() {} } })

process.on('message', async (count: number) => {
  const before = process.cpuUsage()
  let left = count
  const times: number[] = []
  const client = async () => {
    while (left-- > 0) {
      const started = performance.now()
      const { stopReason } = await runner.run('What is one and two, and is it fine?')
      if (stopReason !== 'answered') throw new Error(`Expected a run to answer, got ${stopReason}`)
      times.push(performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: 10 }, client))
  const { user, system } = process.cpuUsage(before)
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
  process.send?.({ cpuUs: (user + system) / count, p50: at(0.5), p99: at(0.99) })
})
process.on('disconnect', () => process.exit(0))
