import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { defineTool } from '../../src/index.ts'
import { createService, listen } from '../../src/service/index.ts'

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  effect: 'read',
  execute: ({ city }) => `It is sunny in ${city}.`,
})
const token = 'kR7w-an-example-of-a-token'

// Serves only /mcp and the probes. With `mcp: true`, the service has all its routes, and offers its agents, too.
const service = createService({ tools: [weather], token, mcp: { only: true } })
const { url, close } = await listen(service, { port: 0 })

const client = new Client({ name: 'example', version: '1' })
const headers = { authorization: `Bearer ${token}` }
await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
const { content } = await client.callTool({ name: 'weather', arguments: { city: 'Oslo' } })
console.log(content)
await client.close()
await close()
