/** An MCP server that only supports the protocol of 2026-07-28, which has no handshake. */
import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

serveStdio(
  () => {
    const server = new Server({ name: 'newer', version: '1' }, { capabilities: { tools: { listChanged: true } } })
    let count = 1
    server.setRequestHandler('tools/list', () => ({
      tools: Array.from({ length: count }, (_, index) => ({ name: `grow${index + 1}`, inputSchema: { type: 'object' as const } })),
    }))
    server.setRequestHandler('tools/call', async () => {
      count++
      await server.sendToolListChanged()
      return { content: [{ type: 'text' as const, text: `${count} tools` }] }
    })
    return server
  },
  { legacy: 'reject' },
)
