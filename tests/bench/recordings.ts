/**
 * `node tests/bench/recordings.ts`: what recordings of runs cost a service with a journal. Runs of ten model requests with a call each, one after
 * another, with and without recordings, in turns; the median of runs, in milliseconds a model request.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger, defineTool } from '../../src/index.ts'
import { createService, listen } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const requests = 10
const token = 'bench-token-of-some-length-0123456789'
const look = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  parameters: { type: 'object', properties: { query: { type: 'string' }, pages: { type: 'integer' } }, required: ['query'] },
  effect: 'read',
  execute: ({ query }) => ({ query, found: 'The weather is fine, and so it stays until the end of the week. '.repeat(8) }),
})
const turns = [
  ...Array.from({ length: requests - 1 }, (_, at) => ({
    text: 'I look that up in order to be able to say more of it.',
    toolCalls: [{ name: 'look_up', arguments: { query: `weather in Oslo, part ${at}`, pages: 3 } }],
  })),
  'It is fine in Oslo, and stays so until the end of the week, as far as can be known.',
]

async function start(recordingMegabytes: number) {
  const folder = mkdtempSync(join(tmpdir(), 'recordings-'))
  const service = createService({
    model: scriptedModel(Array.from({ length: 2_000 }, () => turns).flat(), { record: false }),
    tools: [look],
    agent: { instructions: 'You look things up. '.repeat(30), maxIterations: 20, limits: { repeatedCalls: 1_000 } },
    config: { service: { keepRuns: { folder, recordingMegabytes, count: 500 }, requestsPerMinute: 1_000_000, concurrentRuns: 1_000 } },
    authenticate: () => ({ name: 'bench', roles: ['run', 'admin'] }),
    logger: createLogger({ level: 'error' }),
    env: {},
  })
  const listening = await listen(service, { port: 0 })
  const run = async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`${listening.url}/v1/runs`, { method: 'POST', headers, body: JSON.stringify({ input: 'How is Oslo?' }) })
    const text = await response.text()
    if (!text.includes('"answered"')) throw new Error(text)
  }
  return {
    run,
    close: async () => {
      await listening.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const services = [await start(0), await start(64)]
const wall: number[][] = [[], []]
const cpu: number[][] = [[], []]
const numberOf = (flag: string, otherwise: number) =>
  Number(process.argv.find((argument) => argument.startsWith(`--${flag}=`))?.split('=')[1] ?? otherwise)
const rounds = numberOf('rounds', 40)
for (let round = -10; round < rounds; round++) {
  for (const [at, { run }] of services.entries()) {
    const startedAt = performance.now()
    const used = process.cpuUsage()
    await run()
    const { user, system } = process.cpuUsage(used)
    if (round < 0) continue
    wall[at]?.push((performance.now() - startedAt) / requests)
    cpu[at]?.push((user + system) / 1_000 / requests)
  }
}
for (const { close } of services) await close()
const median = (all: number[] = []) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN
for (const [name, all] of Object.entries({ 'from beginning to end': wall, 'of processor time, all threads': cpu })) {
  const [without = 0, recorded = 0] = all.map(median)
  console.log(`${name}: ${without.toFixed(2)} ms without, ${recorded.toFixed(2)} ms recorded: ${(recorded - without).toFixed(2)} ms more`)
}
