import { type ErrorCode, ModelError, type ModelErrorFields } from '../../core/errors.ts'
import { redactText } from '../../core/logger.ts'
import { isJsonObject } from '../../core/messages.ts'

/** Who was asked, and what must not be quoted in a message. */
export interface ErrorContext {
  provider: string
  model: string
  /** Keys and tokens that were sent: a provider may quote them. */
  secrets?: readonly string[]
  /** What had arrived before. */
  partial?: ModelErrorFields['partial']
}

/** An error as a provider told it: an HTTP status with a body, or a body alone inside a response that began well. */
export interface ProviderFailure {
  status?: number
  /** The response's headers, as far as they are known. */
  headers?: { get(name: string): string | null }
  /** The parsed body, or its text when it is not JSON. */
  body: unknown
}

interface Told {
  message: string
  /** All of the provider's own codes and types, most telling first. */
  codes: string[]
  retryAfterMs?: number
}

/** The `ModelError` for what a provider answered instead of a response. */
export function providerError(failure: ProviderFailure, context: ErrorContext): ModelError {
  const { headers, body } = failure
  const told = whatWasTold(body)
  // Some put the status into the body of a response that is "200 OK": https://openrouter.ai/docs/api-reference/errors
  const status = failure.status !== undefined && failure.status >= 300 ? failure.status : told.codes.map(Number).find(isErrorStatus)
  const { code, retryable } = classify(status, told)
  const [providerCode] = told.codes
  const requestId = headers?.get('x-request-id') ?? headers?.get('request-id') ?? undefined
  const retryAfterMs = (headers === undefined ? undefined : readRetryAfter(headers)) ?? told.retryAfterMs
  const shouldRetry = headers?.get('x-should-retry')
  const got = [
    failure.status !== undefined && failure.status >= 300 ? `HTTP ${failure.status}` : 'an error',
    providerCode === undefined ? '' : ` (${providerCode})`,
    told.message === '' ? ' without a message' : `: ${told.message}`,
  ].join('')
  return new ModelError(code, clean(`Expected a response from ${nameOf(context)}, got ${got}`, context), {
    ...fieldsOf(context),
    ...(status === undefined ? {} : { status }),
    ...(providerCode === undefined ? {} : { providerCode: clean(providerCode, context) }),
    ...(requestId === undefined ? {} : { requestId: clean(requestId, context) }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    retryable: shouldRetry === 'true' ? true : shouldRetry === 'false' ? false : retryable,
  })
}

/** undici's words for what Node has codes for: a server has closed the connection, or has not answered when it was opened. */
const nodeCodes: { [code: string]: string } = { UND_ERR_SOCKET: 'ECONNRESET', UND_ERR_CONNECT_TIMEOUT: 'ETIMEDOUT' }

/** The error for a request that got no answer: refused, not found, reset, no TLS; or that undici found none to send. */
export function connectionError(cause: unknown, context: ErrorContext): ModelError {
  const root = rootCause(cause)
  const own = typeof root === 'object' && root !== null && 'code' in root && typeof root.code === 'string' ? root.code : undefined
  if (own === 'UND_ERR_INVALID_ARG' || own === 'UND_ERR_NOT_SUPPORTED') return requestError(cause, context)
  const code = own === undefined ? undefined : (nodeCodes[own] ?? own)
  const message = messageOf(root)
  return new ModelError('connection_failed', clean(`Expected a connection to ${nameOf(context)}, got: ${message}`, context), {
    ...fieldsOf(context),
    ...(code === undefined ? {} : { providerCode: code }),
    retryable: true,
    cause,
  })
}

/** The `invalid_option` for a request that can't be sent as it is, such as one with a line break in a header. */
export function requestError(cause: unknown, context: ErrorContext): ModelError {
  // `Headers` quotes the value, which may be a secret.
  const got = messageOf(rootCause(cause)).replace(/".*"/s, 'a value which')
  const message = clean(`Expected headers and an address that can be sent to ${nameOf(context)}, got: ${got}`, context)
  return new ModelError('invalid_option', message, { ...fieldsOf(context), retryable: false, cause })
}

/** The `ModelError` for a response that is none. `expected` and `got` complete "Expected … from …, got …". */
export function responseError(
  code: 'bad_response' | 'stream_cut' | 'stream_idle',
  expected: string,
  got: string,
  context: ErrorContext,
  { providerCode, ...fields }: { retryable: boolean; providerCode?: string; cause?: unknown },
): ModelError {
  return new ModelError(code, clean(`Expected ${expected} from ${nameOf(context)}, got ${got}`, context), {
    ...fieldsOf(context),
    ...fields,
    ...(providerCode === undefined ? {} : { providerCode: clean(providerCode, context) }),
  })
}

function nameOf({ provider, model }: ErrorContext): string {
  return `\`${provider}/${model}\``
}

function fieldsOf({ provider, model, partial }: ErrorContext): Pick<ModelErrorFields, 'provider' | 'model' | 'partial'> {
  return { provider, model, ...(partial === undefined ? {} : { partial }) }
}

function clean(message: string, { secrets }: ErrorContext): string {
  return redactText(message, secrets)
}

// `PerDay`: Gemini's quotas that no wait of ours outlasts.
const quotaCodes = /insufficient_quota|exceeded_current_quota|billing|insufficient.balance|credit|PerDay/i
// `request_too_large`: Anthropic's body limit. A shorter conversation helps against either.
const overflowCodes = /context_length_exceeded|exceed_context_size|context_window_exceeded|model_context_window|request_too_large/i
// Wordings of OpenAI, vLLM, Groq, xAI, Mistral, llama.cpp, Moonshot, OpenRouter, Ark, Anthropic and Gemini, in that order.
const overflowWords =
  /maximum context length|context.{0,12}(length|window|size)|reduce the length of the (messages|prompt)|maximum prompt length|too large for model with|exceeded model token limit|too many (input )?tokens|(prompt|input)( length)?( \d+)? (is too long|exceeds)|max message tokens|exceeds? context limit|input token count/i
const filterWords =
  /content[_ ]?filter|content_?policy|invalid_prompt|(bio|cyber|misalignment)_policy|ResponsibleAI|moderation|SensitiveContent|data_inspection_failed|Content Exists Risk/i

function classify(status: number | undefined, { message, codes }: Told): { code: ErrorCode; retryable: boolean } {
  const has = (pattern: RegExp) => codes.some((code) => pattern.test(code))
  const isRequestFault = status === undefined || (status >= 400 && status < 500)
  if (has(overflowCodes) || (status !== 429 && isRequestFault && overflowWords.test(message))) {
    return { code: 'context_overflow', retryable: false }
  }
  if (isRequestFault && (has(filterWords) || filterWords.test(message))) return { code: 'content_filter', retryable: false }
  if (status === 402 || has(quotaCodes)) return { code: 'rate_limited', retryable: false }
  if (status === 429 || has(/rate.?limit|too_many_requests/i)) return { code: 'rate_limited', retryable: status !== 413 }
  if (status === 401 || status === 403 || has(/invalid_api_key|api_key_invalid|authentication_error|permission/i)) {
    return { code: 'unauthorized', retryable: false }
  }
  const isPassing = status === undefined ? has(/server_error|api_error|overloaded|unavailable|timeout|internal/i) : passingStatus(status)
  return { code: 'provider_error', retryable: isPassing }
}

function passingStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || (status >= 500 && status !== 501)
}

function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status < 600
}

/** Finds message and codes in the shapes errors have: `{error: {…}}`, `{error: "…"}`, the fields themselves, or a page of HTML. */
function whatWasTold(body: unknown): Told {
  if (typeof body === 'string') return { message: textOfPage(body), codes: [] }
  if (Array.isArray(body)) return whatWasTold(body[0])
  if (!isJsonObject(body)) return { message: '', codes: [] }
  const error = body.error ?? body
  if (typeof error === 'string') return { message: error, codes: codesOf(body) }
  if (!isJsonObject(error)) return { message: '', codes: codesOf(body) }
  const inner = isJsonObject(error.innererror) ? codesOf(error.innererror) : []
  const message = [error.message, error.detail, error.msg].find((text) => typeof text === 'string') ?? JSON.stringify(error)
  // A gateway wraps what the provider behind it said: https://openrouter.ai/docs/api-reference/errors
  const behind = isJsonObject(error.metadata) && typeof error.metadata.raw === 'string' ? ` — ${error.metadata.raw}` : ''
  const details = readDetails(error.details)
  return {
    message: cut(`${String(message)}${behind}`),
    codes: [...codesOf(error), ...inner, ...details.codes],
    ...(details.retryAfterMs === undefined ? {} : { retryAfterMs: details.retryAfterMs }),
  }
}

/** Google's errors say more in a list: a reason, a quota, how long to wait. https://cloud.google.com/apis/design/errors#error_details */
function readDetails(details: unknown): Pick<Told, 'codes' | 'retryAfterMs'> {
  const found = (Array.isArray(details) ? details : []).filter(isJsonObject)
  const quotas = found.flatMap(({ violations }) => (Array.isArray(violations) ? violations.filter(isJsonObject) : []))
  const codes = [...found.map(({ reason }) => reason), ...quotas.map(({ quotaId }) => quotaId)].filter((code) => typeof code === 'string')
  const [seconds] = found.map(({ retryDelay }) => Number.parseFloat(String(retryDelay))).filter((delay) => delay >= 0)
  return { codes, ...(seconds === undefined ? {} : { retryAfterMs: seconds * 1000 }) }
}

function codesOf(error: { [key: string]: unknown }): string[] {
  const found = [error.code, error.type, error.status].filter((code) => typeof code === 'string' || typeof code === 'number').map(String)
  const isNumber = (code: string) => Number.isFinite(Number(code))
  const words = found.filter((code) => code !== 'error' && !isNumber(code))
  return [...new Set([...words, ...found.filter((code) => code !== '' && isNumber(code))])]
}

/** A page of HTML by its title, anything else by its beginning. */
function textOfPage(text: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim()
  if (title) return `an HTML page titled "${cut(title)}"`
  return cut(text.trim())
}

function cut(text: string): string {
  return text.length > 1000 ? `${text.slice(0, 1000)}… (${text.length} characters)` : text
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date: https://www.rfc-editor.org/rfc/rfc9110#field.retry-after */
function readRetryAfter(headers: { get(name: string): string | null }): number | undefined {
  const ms = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (ms >= 0) return ms
  const after = headers.get('retry-after')
  if (after === null) return undefined
  const seconds = Number(after)
  const wait = Number.isNaN(seconds) ? Date.parse(after) - Date.now() : seconds * 1000
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error)
}

/** Clients wrap Node's error, the one that says what happened; several tried addresses are gathered in one that has no message. */
function rootCause(thrown: unknown): unknown {
  let at = thrown
  for (let depth = 0; depth < 8; depth++) {
    if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0]
    else if (at instanceof Error && at.cause !== undefined) at = at.cause
    else break
  }
  return at
}
