import { callUnawaited, syncAnswer } from '../../core/callbacks/callbacks.ts'
import { readableError } from '../../core/errors.ts'
import type { ResponseOptions } from './respond.ts'

/**
 * The parts of a `node:http` or `node:http2` response that `pipeToNode` uses. Express's response has them; with Fastify, pass `reply.raw`.
 */
export interface NodeResponse {
  readonly destroyed: boolean
  writeHead(status: number, headers: Record<string, string | string[]>): unknown
  flushHeaders?(): void
  write(chunk: Uint8Array): boolean
  end(): unknown
  destroy(error?: Error): unknown
  once(event: 'close' | 'drain', listener: () => void): unknown
  off(event: 'close' | 'drain', listener: () => void): unknown
}

/** What `pipeToNode` sends: a response or a run. */
export type Sendable = Response | { toResponse(options?: ResponseOptions): Response }

/**
 * Sends a run or a `Response`, such as that of `toUIMessageResponse`, through a server of Node.js. Keeps headers that were set on `to`
 * before. Sends as fast as the client reads. If the client disconnects, cancels the body of the response. Resolves when everything is sent,
 * or when the client has disconnected.
 */
export async function pipeToNode(from: Sendable, to: NodeResponse, options?: ResponseOptions): Promise<void> {
  const response = 'toResponse' in from ? syncAnswer('toResponse', from.toResponse(options)) : from
  const reader = response.body?.getReader()
  if (to.destroyed) return reader?.cancel()
  const leave = () => void reader?.cancel().catch(() => {})
  try {
    syncAnswer('once', to.once('close', leave))
    syncAnswer('writeHead', to.writeHead(response.status, headersOf(response)))
    syncAnswer('flushHeaders', to.flushHeaders?.())
    for (let read = await reader?.read(); read !== undefined && !read.done && !to.destroyed; read = await reader?.read()) {
      if (syncAnswer('write', to.write(read.value)) === false) await drained(to)
    }
    if (!to.destroyed) syncAnswer('end', to.end())
  } catch (error) {
    leave()
    const reason = readableError(error)
    callUnawaited(() => to.destroy(reason instanceof Error ? reason : undefined))
  } finally {
    callUnawaited(() => to.off('close', leave))
  }
}

function headersOf({ headers }: Response): Record<string, string | string[]> {
  const cookies = headers.getSetCookie()
  return { ...Object.fromEntries(headers), ...(cookies.length === 0 ? {} : { 'set-cookie': cookies }) }
}

/** Resolves when the response can buffer more, or when the client has disconnected. */
function drained(to: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      to.off('drain', done)
      to.off('close', done)
      resolve()
    }
    to.once('drain', done)
    to.once('close', done)
  })
}
