import { token } from './session.ts'

/** The service's address: the page may be mounted anywhere. */
export const base = new URL('../', document.baseURI)

/** What is wrong with a value that was sent, and where it stands in it: a JSON Pointer. */
export interface Problem {
  path: string
  message: string
}

/** What the service refused, or that it could not be reached (`status` 0). */
export class ApiError extends Error {
  readonly status: number
  /** `''`: the service has said none. */
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

/** Told when the service no longer knows the token. */
let onSignedOut: () => void = () => {}

export function whenSignedOut(listener: () => void) {
  onSignedOut = listener
}

export interface RequestOptions {
  method?: string
  /** Sent as JSON. */
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Another token than the one that is kept; `''`: none. */
  as?: string
}

/**
 * A response of the service that is not an error. Throws an `ApiError`, or what `fetch` throws when it is aborted.
 * `path`: from the service's address, without a leading slash.
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
    throw new ApiError(0, unreachable)
  }
  if (response.ok || response.status === 304) return response
  const { error } = await response.json().catch(() => ({}))
  if (response.status === 401 && as === undefined) onSignedOut()
  throw new ApiError(response.status, error?.message ?? `The service answered ${response.status}`, error)
}

/** Its JSON. */
export async function ask(path: string, options?: RequestOptions): Promise<Answer> {
  return jsonOf(await send(path, options))
}

/** Something else may answer in the service's place, and a connection may be lost in the middle of an answer. */
async function jsonOf(response: Response): Promise<Answer> {
  try {
    return await response.json()
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw new ApiError(0, 'Something other than the service has answered')
    throw thrown instanceof TypeError ? new ApiError(0, unreachable) : thrown
  }
}

/** JSON of the service: whoever asks knows its shape. */
type Answer = Awaited<ReturnType<Response['json']>>

/** What was answered last, by path. */
const answers: Map<string, { etag: string; value: Answer }> = new Map()

/** What one user was told is nothing for the next. */
export function forgetAnswers(): void {
  answers.clear()
}

/** Its JSON, of one of few paths: the same value as before where nothing has changed, which takes hardly anything to ask. */
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

/** What went wrong, for the reader's eyes. */
export function messageOf(error: unknown) {
  return error instanceof Error ? error.message : String(error)
}
