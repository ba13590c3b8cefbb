import type { HttpExchange } from './http-exchange.ts'

/** What the SDKs of OpenAI and Anthropic pass on from a request's options to their `fetch`. */
interface ExchangeInit extends RequestInit {
  exchange?: HttpExchange
}

/** The longest that Node's timers wait, in milliseconds. */
const longestTimeout = 2 ** 31 - 1

/** The options of a request: timeouts and retries are not the SDK's. */
export function requestOptions(exchange: HttpExchange): { timeout: number; maxRetries: number; fetchOptions: object } {
  const fetchOptions: ExchangeInit = { exchange }
  return { timeout: longestTimeout, maxRetries: 0, fetchOptions }
}

/** The `fetch` of an SDK's client, which sends each request over the exchange of its options. */
export async function exchangeFetch(url: string | URL | Request, { exchange, ...init }: ExchangeInit = {}): Promise<Response> {
  if (exchange === undefined) throw new TypeError('Expected the SDK to pass on `fetchOptions`')
  return exchange.fetch(url, init)
}

/** Calls `make` as if the environment had no such variable: an SDK would send the headers it holds to any server. */
export function withoutVariable<T>(name: string, make: () => T): T {
  const value = process.env[name]
  delete process.env[name]
  try {
    return make()
  } finally {
    if (value !== undefined) process.env[name] = value
  }
}

/** Calls `call`; what it prints as a warning goes to `warn` instead. */
export function quietly<T>(call: () => T, warn?: (warning: string) => void): T {
  const { debug, warn: print } = console
  Object.assign(console, { debug() {}, warn: (...parts: unknown[]) => warn?.(parts.join(' ')) })
  try {
    return call()
  } finally {
    Object.assign(console, { debug, warn: print })
  }
}
