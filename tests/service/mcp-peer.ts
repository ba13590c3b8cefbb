import { isJsonObject, type JsonObject } from '../../src/core/messages.ts'

export type Send = (path: string, body: unknown, headers?: Record<string, string>) => Promise<Response>
/** A request of an MCP client, as its result or error. */
export type Request = (method: string, params?: JsonObject) => Promise<JsonObject>

const accept = { accept: 'application/json, text/event-stream' }
const tasks = 'io.modelcontextprotocol/tasks'

/** A client of 2026-07-28 that writes its messages itself: what it says of itself is in each. */
export function modernPeer(post: Send, capabilities: JsonObject = { elicitation: {}, extensions: { [tasks]: {} } }): Request {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': capabilities }
  return async (method, params = {}) => {
    const name = params.name ?? params.taskId
    const named: Record<string, string> = typeof name === 'string' ? { 'mcp-name': name } : {}
    const headers = { ...accept, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...named }
    return resultOf(await post('/mcp', { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, headers))
  }
}

/** One of 2025-11-25, in a session; `answer`: what it says to the server's own requests. */
export async function legacyPeer(post: Send, answer?: (params: JsonObject) => JsonObject): Promise<Request> {
  const clientInfo = { name: 'peer', version: '1' }
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } }
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo }
  const opened = await post('/mcp', { jsonrpc: '2.0', id: 0, method: 'initialize', params }, accept)
  await opened.text()
  const headers = { ...accept, 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
  const send = (message: object) => post('/mcp', { jsonrpc: '2.0', ...message }, headers)
  await (await send({ method: 'notifications/initialized' })).text()
  let requests = 0
  return async (method, given = {}) => {
    const response = await send({ id: ++requests, method, params: given })
    return resultOf(response, async ({ id, params: asked }) => {
      await (await send({ id, result: answer?.(isJsonObject(asked) ? asked : {}) ?? {} })).text()
    })
  }
}

/** The last message of a response; the server's own requests before it are answered. */
async function resultOf(response: Response, answer?: (request: JsonObject) => Promise<void>): Promise<JsonObject> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!isStream) return endOf(JSON.parse(await response.text()))
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.+)$/m.exec(frame)?.[1]
      const message: unknown = data === undefined ? undefined : JSON.parse(data)
      if (!isJsonObject(message)) continue
      if ('method' in message && 'id' in message) await answer?.(message)
      else if ('id' in message) return endOf(message)
    }
  }
  throw new Error('The stream has ended without a response')
}

function endOf(message: JsonObject): JsonObject {
  const { result, error } = message
  return isJsonObject(result) ? result : { error: error ?? message }
}
