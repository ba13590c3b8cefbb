import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { JsonObject } from '../../src/core/messages.ts'
import { closeServer } from '../close-server.ts'

export interface Received {
  method: string
  url: string
  headers: IncomingHttpHeaders
  text: string
  body: JsonObject
}

export interface LocalServer extends AsyncDisposable {
  baseURL: string
  requests: Received[]
  sockets: Set<Socket>
  /** Resolves when the response to the first request was closed, by either side. */
  firstClosed: Promise<void>
}

/** A plain HTTP server for bytes that no correct provider would send. */
export async function startServer(answer: (response: ServerResponse, request: Received, index: number) => unknown): Promise<LocalServer> {
  const requests: Received[] = []
  const sockets = new Set<Socket>()
  const closed = Promise.withResolvers<void>()
  const server = createServer((req, res) => {
    res.once('close', () => closed.resolve())
    res.on('error', () => {})
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const received = {
        method: req.method ?? '',
        url: req.url ?? '',
        headers: req.headers,
        text,
        body: text.startsWith('{') ? JSON.parse(text) : {},
      }
      requests.push(received)
      answer(res, received, requests.length - 1)
    })
  })
  // Never closes an idle connection, so that a client that waits for the close fails.
  server.keepAliveTimeout = 0
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    requests,
    sockets,
    firstClosed: closed.promise,
    [Symbol.asyncDispose]: () => closeServer(server),
  }
}

export type Cut = 'whole' | 1 | 7 | 'random'
export const cuts: readonly Cut[] = ['whole', 1, 7, 'random']

/** Sends bytes in pieces of a given size, one write each. `random` is the same in every run. */
export async function sendCut(response: ServerResponse, bytes: Buffer, cut: Cut): Promise<void> {
  let seed = 7
  for (let at = 0; at < bytes.length; ) {
    seed = (seed * 1103515245 + 12345) % 2147483648
    const size = cut === 'whole' ? bytes.length : cut === 'random' ? 1 + (seed % 97) : cut
    response.write(bytes.subarray(at, at + size))
    at += size
    // Lets the pieces leave one by one instead of together.
    if (cut !== 'whole' && seed % 5 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  response.end()
}

export function eventStream(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' })
}

export function chunk(delta: JsonObject, finish: string | null = null): JsonObject {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'model-x', choices: [{ index: 0, delta, finish_reason: finish }] }
}

export function events(...payloads: (JsonObject | string)[]): string {
  return payloads.map((payload) => `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`).join('')
}

/** A streamed answer that is only text. */
export function textEvents(text: string): string {
  return events(chunk({ role: 'assistant', content: text }), chunk({}, 'stop'), '[DONE]')
}

export function completion(message: JsonObject, finish: string | null = 'stop'): JsonObject {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'model-x',
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finish }],
  }
}

export function sendJson(response: ServerResponse, body: JsonObject, status = 200, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** The payloads of a recording. */
export function readRecording(name: string): string[] {
  const text = readFileSync(new URL(`recordings/${name}.jsonl`, import.meta.url), 'utf8')
  return text.split('\n').filter((line) => line !== '')
}
