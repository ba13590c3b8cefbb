/** Makes runs, each with 1 MB of its own, and tells how many megabytes are left after each run and a collection of the young generation. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentRunner, createModel, defineTool } from '../src/index.ts'
import { createService, nodeHandler } from '../src/service/index.ts'
import { startStrictProvider } from './models/rules/strict-provider.ts'

const [how, mode] = process.argv.slice(2)
const collect = globalThis.gc
if (collect === undefined || process.send === undefined) throw new Error('Expected `--expose-gc`, and a parent process')
const isStreamed = mode === 'streamed'
await using provider = await startStrictProvider({
  script: (_request, at) => (at % 2 === 1 ? 'Five.' : { text: 'I add.', toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] }),
})
const model = createModel({ provider: 'custom', baseURL: provider.baseURL, apiKey: 'key', model: 'm' })
const parameters = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } } as const
const add = defineTool({ name: 'add', description: 'Adds.', parameters, execute: ({ a, b }) => Number(a) + Number(b) })
const ofRun = () => ({ bytes: new Uint8Array(2 ** 20) })

async function direct(): Promise<void> {
  const runner = new AgentRunner({ model, tools: [add] })
  const stream = runner.stream('go', { context: ofRun(), stream: isStreamed })
  for await (const _ of stream);
  if ((await stream.result).output !== 'Five.') throw new Error('Expected an answer')
}

const token = 'a-token-of-at-least-thirty-two-characters'
const service = createService({ model, tools: [add], token, context: ofRun, logger: { debug() {}, info() {}, warn() {}, error() {} } })
await service.ready
const server = createServer(nodeHandler(service)).listen(0, '127.0.0.1')
await once(server, 'listening')
const body = JSON.stringify({ model: 'toolloop', stream: isStreamed, messages: [{ role: 'user', content: 'go' }] })

async function overHttp(): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const { port } = server.address() as AddressInfo
  const text = await new Promise<string>((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST', headers }, (response) => {
      let all = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        all += piece
      })
      response.on('end', () => resolve(all))
    })
    asked.on('error', reject).end(body)
  })
  if (!text.includes('"finish_reason":"stop"')) throw new Error(`Expected an answer, got ${text}`)
}

const run = how === 'service' ? overHttp : direct
for (let at = 0; at < 30; at++) await run()
collect()
const before = process.memoryUsage().arrayBuffers
const left: number[] = []
for (let at = 0; at < 20; at++) {
  await run()
  await new Promise(setImmediate)
  collect({ type: 'minor' })
  left.push(Math.round((process.memoryUsage().arrayBuffers - before) / 2 ** 20))
}
server.close()
await service.drain(0)
process.send(left, () => process.exit())
