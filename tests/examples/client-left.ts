import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentRunner, defineTool, Event } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const slow = defineTool({
  name: 'slow',
  description: 'Takes an hour.',
  execute: async (_args, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
})
const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'slow' }] }]), tools: [slow] })

// `close` of the response, not of the request: that is emitted when the body has been read.
const server = createServer(async (_request, res) => {
  const left = new AbortController()
  res.once('close', () => left.abort())
  const { output } = await runner.run('Do it.', { signal: left.signal })
  if (!res.destroyed) res.end(output)
}).listen(0, '127.0.0.1')
await once(server, 'listening')

const { port } = server.address() as AddressInfo
const client = new AbortController()
runner.on(Event.TOOL_CALL_START, () => client.abort())
const ended = new Promise((resolve) => runner.on(Event.RUN_END, ({ stopReason }) => resolve(stopReason)))
await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: 'Do it.', signal: client.signal }).catch(() =>
  console.log('The client has left.'),
)
console.log(await ended)
server.close()
