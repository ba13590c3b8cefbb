import { describe, expect, it } from 'vitest'
import { connectMcpServers } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { type Answer, result, startOddHttpServer } from './odd-http-server.ts'
import { callText, listed, Watch } from './open-tools.ts'

type Response = Parameters<Answer>[0]

const events = (response: Response) => response.writeHead(200, { 'content-type': 'text/event-stream' })
const event = (id: string, message: object) => `id: ${id}\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
/** Only an id, from which the stream can be resumed immediately. */
const first = (id: string) => `retry: 1\nid: ${id}\ndata: \n\n`

/** Breaks a resumed stream before its first event. */
const breaks: [string, (response: Response) => void][] = [
  ['ends at once', (response) => void events(response).end()],
  ['is cut off', (response) => void events(response).write(': here\n\n', () => response.destroy())],
  ['is cut off in an event', (response) => void events(response).write('id: e2\ndata: {"jso', () => response.destroy())],
]

describe.concurrent('a resumed stream', () => {
  it.each(breaks)(
    'E2.6 and %s, before its first event, resumes at the same event, and the call gets its answer',
    async (_how, breakOff) => {
      const resumed: unknown[] = []
      let asked: number | undefined
      await using server = await startOddHttpServer([listed('a')], (response, { message: { id } }) => {
        asked = id
        events(response).write(first('e1'), () => response.destroy())
      })
      server.stream = (response, { headers }) => {
        if (headers['last-event-id'] === undefined) return void response.writeHead(405).end()
        resumed.push(headers['last-event-id'])
        if (resumed.length < 4) breakOff(response)
        else events(response).end(event('e2', { id: asked, result: result('after all') }))
      }
      await using tools = await connectMcpServers({ odd: { url: server.url, prefix: '' } }, { logger: recordingLogger().logger })
      expect(await callText(tools, 'a')).toBe('after all')
      expect(resumed).toEqual(['e1', 'e1', 'e1', 'e1'])
    },
  )

  it.each(breaks)('E2.6 and %s, misses nothing that the server sends by itself', async (_how, breakOff) => {
    const own = [listed('a')]
    const resumed: unknown[] = []
    await using server = await startOddHttpServer(own, () => {})
    server.stream = (response, { headers }) => {
      resumed.push(headers['last-event-id'])
      if (resumed.length === 1) events(response).write(first('é 1'), () => response.destroy())
      else if (resumed.length < 4) breakOff(response)
      else {
        own.push(listed('b'))
        events(response).write(event('2', { method: 'notifications/tools/list_changed' }))
      }
    }
    const watch = new Watch()
    const options = { logger: recordingLogger().logger, onChange: watch.changed }
    await using tools = await connectMcpServers({ odd: { url: server.url, prefix: '' } }, options)
    await watch.until(() => tools.size === 2)
    expect(resumed).toEqual([undefined, 'é 1', 'é 1', 'é 1'])
  })
})
