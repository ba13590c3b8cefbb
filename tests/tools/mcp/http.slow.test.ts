import { describe, expect, it } from 'vitest'
import { connectMcpServers } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { type Answer, json, result, startOddHttpServer } from './odd-http-server.ts'
import { callText, listed, Watch } from './open-tools.ts'

const events = (response: Parameters<Answer>[0]) => response.writeHead(200, { 'content-type': 'text/event-stream' })
const event = (message: object) => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`

/** The odd server's tools, by name. */
const answers: Record<string, Answer> = {
  echo: (response, { message: { id, params } }) =>
    json(response, { jsonrpc: '2.0', id, result: result(JSON.stringify(params?.arguments)) }),
  /** Keeps its client busy endlessly, and never answers. */
  pings: (response) => {
    events(response)
    const flood = Array.from({ length: 1_000 }, (_, n) => event({ id: `p${n}`, method: 'ping' })).join('')
    const write = (): void => void response.write(flood, (error) => error ?? setImmediate(write))
    write()
  },
}
const tools = Object.keys(answers).map((name) => listed(name))
const startServer = () => startOddHttpServer(tools, (response, request) => answers[request.message.params?.name ?? '']?.(response, request))

describe('an MCP server over HTTP', () => {
  it('is disconnected immediately if it floods its client with requests', async () => {
    await using server = await startServer()
    const { logger } = recordingLogger()
    const watch = new Watch()
    await using open = await connectMcpServers({ odd: { url: server.url } }, { logger, onChange: watch.changed })
    expect(await callText(open, 'odd__pings')).toMatch(/it sent more than 100 requests at once/)
    // The answers to earlier requests, and what arrived in the same piece.
    expect(server.requests.length).toBeLessThan(500)
    await watch.until(() => open.servers()[0]?.state === 'ready')
    expect(await callText(open, 'odd__echo')).toBe('{}')
  })
})
