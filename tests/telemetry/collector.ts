import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { closeServer } from '../close-server.ts'
import { type ReadMetric, type ReadSpan, readMetrics, readSpans } from './read-otlp.ts'

export interface Received {
  path: string
  headers: IncomingMessage['headers']
  body: Buffer
}

export type Answer = (response: ServerResponse) => void

/** An answer that never ends. */
export const drip: Answer = (response) => {
  response.writeHead(200)
  const timer = setInterval(() => response.write('x'), 10)
  response.on('close', () => clearInterval(timer))
}

/** Spans are sent immediately, and metrics not at all. */
export const quickly = { OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_METRICS_EXPORTER: 'none' }

/** A collector for OTLP over HTTP, or HTTPS with `tls`. Reads what it receives. `answer` replaces its response. */
export async function startCollector(answer?: (response: ServerResponse, received: Received) => void, tls?: TlsOptions) {
  const received: Received[] = []
  const waiting: (() => void)[] = []
  const take = (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const whole = Buffer.concat(parts)
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(whole) : whole
      const one = { path: request.url ?? '', headers: request.headers, body }
      received.push(one)
      for (const wake of waiting.splice(0)) wake()
      if (answer === undefined) response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
      else answer(response, one)
    })
  }
  const server = tls === undefined ? createServer(take) : createTlsServer(tls, take)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bodiesAt = (path: string) => received.filter((one) => one.path === path)
  return {
    url: `http${tls === undefined ? '' : 's'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    spans: (): ReadSpan[] => bodiesAt('/v1/traces').flatMap(readSpans),
    metrics: (): ReadMetric[] => bodiesAt('/v1/metrics').flatMap(readMetrics),
    /** Resolves when this number of requests has arrived. */
    async arrived(count: number): Promise<void> {
      while (received.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections()
      return closeServer(server)
    },
  }
}
