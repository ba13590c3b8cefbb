import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { messageOf, readableError, show, ToolloopError } from '../../../core/errors.ts'
import { describeNetworkError } from '../../describe-network-error.ts'
import type { AddressRule } from './public-address.ts'

export interface GetOptions {
  url: string
  /** Request headers. Default: an `accept` header for web pages. */
  headers?: Readonly<Record<string, string>>
  /** Maximum number of bytes of the body to read, after decompression. */
  maxBytes: number
  /** Whether to read a body with this content type. */
  wants(contentType: string): boolean
  /** The rule that decides which addresses may be connected to. */
  rule: AddressRule
  /** Resolves a host to addresses. Default: the system's resolver. */
  resolveHost?: (host: string) => Promise<LookupAddress[]>
  signal: AbortSignal
}

export interface HttpAnswer {
  /** The address after redirects. */
  url: string
  status: number
  /** The content type that the server sent; `''` if the server sent no content type. */
  contentType: string
  /** The target of a redirect. Set if the redirect was not followed. */
  location?: string
  /** The body. Undefined if the content type was not wanted. */
  body?: Buffer
  /** The length in the `content-length` header. Undefined if the header is missing or invalid. */
  announcedBytes?: number
  truncated: boolean
}

const maxRedirects = 5
const redirectStatuses = new Set([301, 302, 303, 307, 308])
const accept = 'text/html, application/xhtml+xml, application/json;q=0.9, text/*;q=0.9, application/xml;q=0.8, */*;q=0.1'

/**
 * Sends a GET request and follows redirects. Checks the addresses of each host, including redirect targets, with `rule`. Each name is
 * resolved only once, in the lookup of the socket, so that the socket connects to the addresses that were checked. Ignores proxies set in
 * the environment. Throws `invalid_arguments`, `tool_denied` or `tool_failed`, or the signal's reason.
 */
export async function get(options: GetOptions): Promise<HttpAnswer> {
  let url = checkUrl(options.url, options)
  for (let redirects = 0; ; redirects++) {
    const { response, close } = await send(url, options)
    try {
      const { statusCode: status = 0, headers } = response
      if (!redirectStatuses.has(status) || headers.location === undefined) return await answer(url, status, response, options)
      if (redirects === maxRedirects) {
        throw new ToolloopError('tool_failed', `${show(options.url)} was redirected more than ${maxRedirects} times`)
      }
      url = checkUrl(headers.location, options, url)
    } finally {
      close()
    }
  }
}

/** Sends a single request with any method. Works like `get` otherwise, but does not follow redirects. */
export async function requestOnce(options: GetOptions & { method: string; body?: string }): Promise<HttpAnswer> {
  const url = checkUrl(options.url, options)
  const { response, close } = await send(url, options)
  try {
    return await answer(url, response.statusCode ?? 0, response, options)
  } finally {
    close()
  }
}

/** Checks a URL, and refuses it if it must not be requested. `guardedLookup` checks the addresses of a host name once they are known. */
function checkUrl(text: string, { rule }: GetOptions, base?: URL): URL {
  const where = base === undefined ? '`url`' : `the redirect from ${show(base.href)}`
  if (!URL.canParse(text, base?.href))
    throw new ToolloopError('invalid_arguments', `Expected ${where} to be an absolute URL, got ${show(text)}`)
  const url = new URL(text, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new ToolloopError('invalid_arguments', `Expected ${where} to be an http or https URL, got ${show(text)}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new ToolloopError('invalid_arguments', `Expected ${where} to be a URL without a user name or password in it`)
  }
  // A host that is an address is never looked up. `URL` has normalized the address from any notation: 0x7f.1, 2130706433, ①②⑦.1.
  const host = hostOf(url)
  if (isIP(host) !== 0 && !rule.allows(host)) throw privateAddress(host)
  return url
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/**
 * Creates the error for a private address. The message doesn't contain the address, because it could reveal the structure of a private
 * network.
 */
function privateAddress(host: string): ToolloopError {
  return new ToolloopError(
    'tool_denied',
    `Expected a host on the public internet, got ${show(host)}, which has a private or reserved address`,
  )
}

function send(
  url: URL,
  { rule, resolveHost, signal, headers = { accept }, method = 'GET', body }: GetOptions & { method?: string; body?: string },
): Promise<{ response: IncomingMessage; close(): void }> {
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    // No shared agent is used, because it would keep connections open and use a proxy from the environment.
    agent: false,
    method,
    signal,
    lookup: guardedLookup(resolveHost ?? ((host) => lookup(host, { all: true })), rule),
    headers: { 'accept-encoding': 'gzip, br', 'user-agent': 'toolloop', ...headers },
  })
  const close = () => void request.destroy()
  return new Promise((resolve, reject) => {
    request.on('response', (response) => resolve({ response, close }))
    // The listener stays until the request has ended, because a late error without a listener would end the process.
    request.on('error', (error) => reject(networkProblem(error, url, signal)))
    request.end(body)
  })
}

function guardedLookup(resolveHost: (host: string) => Promise<LookupAddress[]>, rule: AddressRule): LookupFunction {
  return (host, { all, family }, callback) => {
    const find = async () => {
      const addresses = (await resolveHost(host)).filter((found) => (family === 4 || family === 6 ? found.family === family : true))
      // A private address among public addresses is refused too, because such a mix is never an accident.
      if (!addresses.every(({ address }) => rule.allows(address))) throw privateAddress(host)
      const [first] = addresses
      if (first === undefined) throw new ToolloopError('tool_failed', `The host ${show(host)} has no address`)
      return { addresses, first }
    }
    find().then(
      ({ addresses, first }) => (all ? callback(null, addresses) : callback(null, first.address, first.family)),
      (error: unknown) => {
        const reason = readableError(error)
        callback(reason instanceof Error ? reason : new Error(messageOf(reason)), '')
      },
    )
  }
}

async function answer(url: URL, status: number, response: IncomingMessage, options: GetOptions): Promise<HttpAnswer> {
  const contentType = response.headers['content-type'] ?? ''
  const length = Number(response.headers['content-length'] ?? Number.NaN)
  const { location } = response.headers
  const head = {
    url: url.href,
    status,
    contentType,
    location,
    ...(Number.isSafeInteger(length) ? { announcedBytes: length } : {}),
  }
  if (!options.wants(contentType)) return { ...head, truncated: false }
  try {
    return { ...head, ...(await readBody(unpack(response, url), options.maxBytes)) }
  } catch (error) {
    throw networkProblem(error, url, options.signal)
  }
}

/** Reads up to `maxBytes`. Leaving the loop ends the stream, so that an endless body or a zip bomb is not read any further. */
async function readBody(stream: Readable, maxBytes: number): Promise<{ body: Buffer; truncated: boolean }> {
  const chunks: Buffer[] = []
  let left = maxBytes
  let truncated = false
  for await (const chunk of stream) {
    if (!Buffer.isBuffer(chunk)) continue
    chunks.push(chunk.subarray(0, left))
    truncated = chunk.length > left
    left -= Math.min(chunk.length, left)
    if (truncated) break
  }
  return { body: Buffer.concat(chunks), truncated }
}

function unpack(response: IncomingMessage, url: URL): Readable {
  const encoding = (response.headers['content-encoding'] ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return response
  const decoder = decoders.get(encoding)?.()
  if (decoder === undefined)
    throw new ToolloopError('tool_failed', `${show(url.href)} has the content encoding ${show(encoding)}, which is not supported`)
  // Errors of both streams reach the reader of `decoder`, so the callback of `pipeline` ignores them.
  pipeline(response, decoder, () => {})
  return decoder
}

const decoders = new Map<string, () => ReturnType<typeof createGunzip> | ReturnType<typeof createBrotliDecompress>>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

function networkProblem(error: unknown, url: URL, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (ToolloopError.isInstance(error)) return error
  return new ToolloopError('tool_failed', `Could not fetch ${show(url.href)}: ${describeNetworkError(error)}`, { cause: error })
}
