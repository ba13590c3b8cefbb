import type { Server } from 'node:http'
import { isIP } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError, messageOf, ToolloopError } from '../core/errors.ts'
import { nodeFetchOf, type Service } from './service.ts'

/** The options of `listen`. */
export interface ListenOptions {
  /** The address to listen on. Default: the host in the configuration, or `127.0.0.1`. */
  host?: string
  /** The port to listen on. 0 selects any free port. Default: the port in the configuration, or 8787. */
  port?: number
  /** How long a client may leave a pending response unread before its connection is closed, in milliseconds. Default 30,000. */
  writeTimeoutMs?: number
}

const optionNames: OptionNames<ListenOptions> = {
  host: true,
  port: true,
  writeTimeoutMs: true,
}

/** A service that listens on a port. */
export interface ListeningService {
  /** The base URL, such as `http://127.0.0.1:8787`. */
  readonly url: string
  readonly server: Server
  /** Drains the service, and then closes every connection. */
  close(drainMs?: number): Promise<void>
}

/** The limits of connections that have not sent a complete request. Event streams have separate limits. */
const serverOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
}
const maxConnections = 10_000
/** Maximum time that closing the server waits for responses in progress, in milliseconds. */
const lastWordsMs = 1_000

/**
 * Starts an HTTP server for a service. Rejects with `invalid_option` if the server can't listen on the address, or if the address is
 * reachable from other machines and no token is configured. In both cases, the service is closed.
 */
export async function listen(service: Service, options: ListenOptions = {}): Promise<ListeningService> {
  checkOptionNames(options, optionNames, '`listen`')
  await service.ready
  const { host = service.limits.host, port = service.limits.port, writeTimeoutMs = 30_000 } = options
  try {
    checkAddress(service, host)
    const server = createAdaptorServer({ fetch: nodeFetchOf(service), overrideGlobalObjects: false, serverOptions }) as Server
    server.maxConnections = maxConnections
    // A socket also times out while its client waits for an answer. Such a socket has no unsent data, so it is not closed.
    server.setTimeout(writeTimeoutMs, (socket) => {
      if (socket.writableLength > 0) socket.destroy()
    })
    await listening(server, host, port)
    return { server, url: urlOf(server, host), close: (drainMs) => close(service, server, drainMs) }
  } catch (error) {
    await service.drain(0)
    throw error
  }
}

function checkAddress({ initialToken, limits }: Service, host: string): void {
  if (isLoopback(host) || initialToken === undefined || limits.hasTokens) return
  throw new InvalidOptionError('host', 'a loopback address, because no token is configured (TOOLLOOP_TOKEN or `service.auth.tokens`)', host)
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'it is in use. Port 0 (`--port 0`) picks a free one' : messageOf(error)
      reject(new ToolloopError('invalid_option', `Can't listen on ${host}, port ${port}: ${why}`, { cause: error }))
    }
    server.once('error', fail)
    server.listen({ port, host, backlog: 2_048 }, () => {
      server.off('error', fail)
      resolve()
    })
  })
}

/**
 * Closes the service. The server accepts connections until all runs have ended, so that new requests get a 503 instead of a refused
 * connection.
 */
async function close(service: Service, server: Server, drainMs: number | undefined): Promise<void> {
  await service.drain(drainMs)
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // Closes each connection when its last response has been sent.
  const idle = setInterval(() => server.closeIdleConnections(), 20)
  const force = setTimeout(() => server.closeAllConnections(), lastWordsMs)
  try {
    await closed
  } finally {
    clearInterval(idle)
    clearTimeout(force)
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function urlOf(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}
