import { token } from './session.ts'

/** The address of the service. It is derived from the page's address, because the page may be mounted anywhere. */
export const base = new URL('../', document.baseURI)

/** An error in a value that was sent. `path` is the place of the error, as a JSON Pointer. */
export interface Problem {
  path: string
  message: string
}

/** The error of a request that the service refused, or that did not reach the service (`status` 0). */
export class ApiError extends Error {
  readonly status: number
  /** The code of the error. `''` if the service sent no code. */
  readonly code: string
  readonly param: string | null
  readonly problems: readonly Problem[]

  constructor(
    status: number,
    message: string,
    { code = '', param = null, problems = [] }: { code?: string; param?: string | null; problems?: Problem[] } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
    this.problems = problems
  }
}

const unreachable = 'The service can’t be reached'

/** Called when the service no longer accepts the token. */
let onSignedOut: () => void = () => {}

export function whenSignedOut(listener: () => void) {
  onSignedOut = listener
}

/** Called when a request gets no response. */
let onUnreachable: () => void = () => {}

export function whenUnreachable(listener: () => void) {
  onUnreachable = listener
}

export interface RequestOptions {
  method?: string
  /** Sent as JSON. */
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
  /** The token to use instead of the stored one. `''` sends no token. */
  as?: string
}

/**
 * Sends a request. Resolves with the response if it is not an error. Otherwise rejects with an `ApiError`, or with the error of `fetch` if
 * the request was aborted. `path` is relative to the service's address, without a leading slash.
 */
export async function send(path: string, { method = 'GET', body, headers = {}, signal, as }: RequestOptions = {}) {
  let response: Response
  try {
    response = await fetch(new URL(path, base), {
      method,
      headers: {
        ...(as === '' ? {} : { authorization: `Bearer ${as ?? token() ?? ''}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
      cache: 'no-store',
      credentials: 'omit',
    })
  } catch (error) {
    if (signal?.aborted) throw error
    onUnreachable()
    throw new ApiError(0, unreachable)
  }
  if (response.ok || response.status === 304) return response
  const { error } = await response.json().catch(() => ({}))
  if (response.status === 401 && as === undefined) onSignedOut()
  throw new ApiError(response.status, error?.message ?? `The service answered ${response.status}`, error)
}

/** Sends a request. Resolves with the JSON of the response. */
export async function ask(path: string, options?: RequestOptions): Promise<Answer> {
  return jsonOf(await send(path, options))
}

/**
 * Parses the JSON of a response. Parsing may fail, because another server may have responded instead of the service, or because the
 * connection may be lost during the response.
 */
async function jsonOf(response: Response): Promise<Answer> {
  try {
    return await response.json()
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw new ApiError(0, 'Something other than the service has answered')
    throw thrown instanceof TypeError ? new ApiError(0, unreachable) : thrown
  }
}

/** JSON from the service. The type is `any`: the caller knows the shape. */
type Answer = Awaited<ReturnType<Response['json']>>

/** Caches the latest responses, by path. */
const answers: Map<string, { etag: string; value: Answer }> = new Map()

/** Clears the cache, because the next user must not see the responses. */
export function forgetAnswers(): void {
  answers.clear()
}

/**
 * Resolves with the JSON at a path, or with the same object as before if the JSON has not changed. Use this function only for a small
 * number of paths, because their responses stay in the cache.
 */
export async function askIfChanged(path: string): Promise<Answer> {
  const known = answers.get(path)
  const response = await send(path, known === undefined ? {} : { headers: { 'if-none-match': known.etag } })
  if (response.status === 304 && known !== undefined) return known.value
  const value = await jsonOf(response)
  const etag = response.headers.get('etag')
  if (etag === null) answers.delete(path)
  else answers.set(path, { etag, value })
  return value
}

export function post(path: string, body: unknown, signal?: AbortSignal) {
  return ask(path, { method: 'POST', body, signal })
}

/** Returns the message of an error for the user. */
export function messageOf(error: unknown) {
  // The browser could not load a script. Its message contains the address of the script, so it is not shown.
  if (error instanceof TypeError && /module/i.test(error.message)) return unreachable
  return error instanceof Error ? error.message : String(error)
}
