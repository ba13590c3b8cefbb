/** An MCP server, as a program, of either revision, whose work reports progress and continues until it is cancelled. */
import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const ended: string[] = []

serveStdio(() => {
  const server = new Server({ name: 'progress', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: ['work', 'ended'].map((name) => ({ name, inputSchema: { type: 'object' as const } })),
  }))
  server.setRequestHandler('tools/call', async ({ params: { name } }, { mcpReq }) => {
    if (name === 'ended') return { content: [{ type: 'text' as const, text: ended.join(' ') }] }
    const { progressToken } = mcpReq._meta ?? {}
    const report = (progress: number) =>
      progressToken === undefined
        ? undefined
        : mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 2, message: `step ${progress}` } })
    await report(1)
    await report(2)
    await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve))
    ended.push('cancelled')
    return { content: [] }
  })
  return server
})
