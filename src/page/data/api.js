import { token } from './session.js'

/** The service's address: the page may be mounted anywhere. */
export const base = new URL('../', document.baseURI)

/** @typedef {{ path: string, message: string }} Problem */

/** What the service refused, or that it could not be reached (`status` 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {{ code?: string, param?: string | null, problems?: Problem[] }} [fields]
   */
  constructor(status, message, { code = '', param = null, problems = [] } = {}) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
    this.problems = problems
  }
}

/** Told when the service no longer knows the token. @type {() => void} */
let onSignedOut = () => {}

/** @param {() => void} listener */
export function whenSignedOut(listener) {
  onSignedOut = listener
}

/**
 * @typedef {object} RequestOptions
 * @property {string} [method]
 * @property {unknown} [body] Sent as JSON.
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 * @property {string} [as] Another token than the one that is kept; `''`: none.
 */

/**
 * A response of the service that is not an error. Throws an `ApiError`, or what `fetch` throws when it is aborted.
 * @param {string} path From the service's address, without a leading slash.
 * @param {RequestOptions} [options]
 */
export async function send(path, { method = 'GET', body, headers = {}, signal, as } = {}) {
  /** @type {Response} */
  let response
  try {
    response = await fetch(new URL(path, base), {
      method,
      headers: {
        ...(as === '' ? {} : { authorization: `Bearer ${as ?? token() ?? ''}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      cache: 'no-store',
      credentials: 'omit',
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'The service can’t be reached')
  }
  if (response.ok || response.status === 304) return response
  const { error } = await response.json().catch(() => ({}))
  if (response.status === 401 && as === undefined) onSignedOut()
  throw new ApiError(response.status, error?.message ?? `The service answered ${response.status}`, error)
}

/**
 * @param {string} path
 * @param {RequestOptions} [options]
 * @returns {Promise<any>} Its JSON.
 */
export async function ask(path, options) {
  return (await send(path, options)).json()
}

/** What was answered last, by path. @type {Map<string, { etag: string, value: any }>} */
const answers = new Map()

/**
 * Its JSON: the same value as before where nothing has changed, which takes hardly anything to ask.
 * @param {string} path One of few.
 * @returns {Promise<any>}
 */
export async function askIfChanged(path) {
  const known = answers.get(path)
  const response = await send(path, known === undefined ? {} : { headers: { 'if-none-match': known.etag } })
  if (response.status === 304 && known !== undefined) return known.value
  const value = await response.json()
  const etag = response.headers.get('etag')
  if (etag === null) answers.delete(path)
  else answers.set(path, { etag, value })
  return value
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 */
export function post(path, body, signal) {
  return ask(path, { method: 'POST', body, signal })
}

/**
 * What went wrong, for the reader's eyes.
 * @param {unknown} error
 */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error)
}
