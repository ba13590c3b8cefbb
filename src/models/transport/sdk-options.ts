import type { HttpExchange } from './http-exchange.ts'

/** Options of a request that the SDKs of OpenAI and Anthropic pass on to their `fetch`. */
interface ExchangeInit extends RequestInit {
  exchange?: HttpExchange
}

/** The longest timeout that Node's timers support, in milliseconds. */
const longestTimeout = 2 ** 31 - 1

/** The options of a request. They turn off the SDK's timeouts and retries. */
export function requestOptions(exchange: HttpExchange): { timeout: number; maxRetries: number; fetchOptions: object } {
  const fetchOptions: ExchangeInit = { exchange }
  return { timeout: longestTimeout, maxRetries: 0, fetchOptions }
}

/** The `fetch` for an SDK's client. Sends each request over the exchange in its options. */
export async function exchangeFetch(url: string | URL | Request, { exchange, ...init }: ExchangeInit = {}): Promise<Response> {
  if (exchange === undefined) throw new TypeError('Expected the SDK to pass on `fetchOptions`')
  return exchange.fetch(url, init)
}

/** Calls `make` without a variable in the environment. An SDK would send the headers in it to any server. */
export function withoutVariable<T>(name: string, make: () => T): T {
  const value = process.env[name]
  delete process.env[name]
  try {
    return make()
  } finally {
    if (value !== undefined) process.env[name] = value
  }
}

/** Calls `call` and redirects what it prints as a warning to `warn`. */
export function quietly<T>(call: () => T, warn?: (warning: string) => void): T {
  const { debug, warn: print } = console
  Object.assign(console, { debug() {}, warn: (...parts: unknown[]) => warn?.(parts.join(' ')) })
  try {
    return call()
  } finally {
    Object.assign(console, { debug, warn: print })
  }
}
