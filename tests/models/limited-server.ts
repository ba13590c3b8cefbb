import { chunk, eventStream, events, type LocalServer, sendJson, startServer, textEvents } from './local-server.ts'

/**
 * Accepts `perSecond` requests in any second and refuses others with 429 and `retry-after`, as providers do. Answers a conversation with
 * tools with a call first.
 */
export async function limitedServer(perSecond: number): Promise<LocalServer & { refused(): number }> {
  const taken: number[] = []
  let refused = 0
  const server = await startServer((response, { body }) => {
    const now = performance.now()
    while (taken[0] !== undefined && now - taken[0] >= 1_000) taken.shift()
    if (taken.length >= perSecond) {
      refused++
      sendJson(response, { error: { message: 'Rate limit reached', type: 'requests' } }, 429, { 'retry-after': '1' })
      return
    }
    taken.push(now)
    const isFirst = body.tools !== undefined && Array.isArray(body.messages) && body.messages.length === 1
    eventStream(response).end(isFirst ? callEvents : textEvents('Done.'))
  })
  return { ...server, refused: () => refused }
}

const callEvents = events(
  chunk({ tool_calls: [{ index: 0, id: 'call-1', type: 'function', function: { name: 'look', arguments: '{}' } }] }),
  chunk({}, 'tool_calls'),
  '[DONE]',
)
