import { isSetupFault, ToolloopError } from '../../core/errors.ts'
import { redactText } from '../../core/redaction/redact.ts'

/** An invalid value. `path` is a JSON Pointer, and `message` says what was expected. Secrets are never quoted. */
export interface Problem {
  path: string
  message: string
}

/** Returns the JSON Pointer of `key` in the value at `path`. https://www.rfc-editor.org/rfc/rfc6901#section-3 */
export function pointerTo(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

export interface ProblemFields {
  /** The part of the request that caused the problem. */
  param?: string
  /** All problems. Set if the message doesn't mention all of them. */
  problems?: readonly Problem[]
  headers?: Readonly<Record<string, string>>
  cause?: unknown
}

/** An error that becomes the response to a request. Its message is shown to the caller. */
export class HttpProblem extends Error {
  readonly status: number
  readonly code: string
  readonly fields: ProblemFields

  constructor(status: number, code: string, message: string, fields: ProblemFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.status = status
    this.code = code
    this.fields = fields
  }
}

/** OpenAI's error format, which its clients parse. https://platform.openai.com/docs/guides/error-codes */
export interface ErrorBody {
  error: { message: string; type: string; code: string; param: string | null; problems?: readonly Problem[] }
}

export function errorBody({ status, code, message, fields }: HttpProblem): ErrorBody {
  const { param = null, problems } = fields
  return { error: { message: redactText(message), type: typeOf(status), code, param, problems } }
}

export function errorResponse(problem: HttpProblem): Response {
  return Response.json(errorBody(problem), { status: problem.status, headers: { ...problem.fields.headers } })
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 404) return 'not_found_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}

/**
 * Converts the error of a run to the response of the request that started the run. The header `x-should-retry` prevents clients from
 * starting the run again.
 */
export function problemOfRun(error: ToolloopError | undefined): HttpProblem {
  if (error === undefined) return new HttpProblem(502, 'model_error', 'The model failed', { headers: noRetry })
  const status = runStatus[error.code] ?? (error.fault === 'provider' || error.fault === 'model' ? 502 : 500)
  const wait = 'retryAfterMs' in error && typeof error.retryAfterMs === 'number' ? error.retryAfterMs : undefined
  const headers = { ...noRetry, ...(wait === undefined ? {} : { 'retry-after': String(Math.ceil(wait / 1000)) }) }
  return new HttpProblem(status, openAICodes[error.code] ?? error.code, error.message, { headers, cause: error })
}

/** The error codes that clients of OpenAI's API know, keyed by toolloop's own codes. */
const openAICodes: Partial<Record<ToolloopError['code'], string>> = {
  context_overflow: 'context_length_exceeded',
  rate_limited: 'rate_limit_exceeded',
}
const noRetry = { 'x-should-retry': 'false' }
const runStatus: Partial<Record<ToolloopError['code'], number>> = {
  rate_limited: 429,
  stream_idle: 504,
  context_overflow: 400,
  content_filter: 400,
  invalid_message: 400,
  guardrail: 400,
  aborted: 499,
}

/** Converts an error to a response if the request is at fault, or if the model is not set up. Returns undefined for any other error. */
export function problemOfRequest(thrown: unknown): HttpProblem | undefined {
  if (thrown instanceof HttpProblem) return thrown
  if (!ToolloopError.isInstance(thrown)) return undefined
  const isRequests = ['invalid_option', 'invalid_message', 'invalid_tool'].includes(thrown.code)
  if (isRequests) return new HttpProblem(400, thrown.code, thrown.message, { cause: thrown })
  return isSetupFault(thrown) ? problemOfRun(thrown) : undefined
}

/** Calls `work`. If the request caused an error, converts the error to an `HttpProblem`. */
export function blamingRequest<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw problemOfRequest(error) ?? error
  }
}
