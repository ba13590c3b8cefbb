import { ModelError, type ModelErrorFields } from '../../core/errors.ts'
import { redactText } from '../../core/logger.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { type Kind, kindOf } from './error-kinds.ts'
import { type HeaderReader, headersIn, readLimitReset, readRetryAfter, readToldWait } from './told-wait.ts'

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
  headers?: HeaderReader
  /** The parsed body, or its text when it is not JSON. */
  body: unknown
}

/** The body of an error, read. */
interface ErrorBody {
  message: string
  /** All of the provider's own codes and types, most telling first. */
  codes: string[]
  /** The objects it consists of. */
  parts: JsonObject[]
  /** What the model wrote, of which the provider could make no call. */
  written?: string
}

/** The `ModelError` for what a provider answered instead of a response. */
export function providerError(failure: ProviderFailure, context: ErrorContext): ModelError {
  const { message, codes, parts, written } = readBody(failure.body)
  const isHttpError = failure.status !== undefined && failure.status >= 300
  // Some put the status into the body of a response that is "200 OK": https://openrouter.ai/docs/api-reference/errors
  const status = isHttpError ? failure.status : codes.map(Number).find(isErrorStatus)
  const headers = headersIn(parts.map((part) => part.headers).find(isJsonObject), failure.headers)
  const toldWaitMs = readRetryAfter(headers) ?? readToldWait(headers, parts, message)
  const kind = kindOf({ status, message, codes, retryAfterMs: toldWaitMs })
  const retryAfterMs = toldWaitMs ?? (kind.code === 'rate_limited' ? readLimitReset(headers) : undefined)
  const [providerCode] = codes
  const requestId = headers.get('x-request-id') ?? headers.get('request-id') ?? undefined
  const got = [
    isHttpError ? `HTTP ${failure.status}` : 'an error',
    providerCode === undefined ? '' : ` (${providerCode})`,
    message === '' ? ' without a message' : `: ${message}`,
    kind.code === 'quota_exhausted' ? ' — the account has no credit left, or has used up its quota' : '',
  ].join('')
  const error = new ModelError(kind.code, clean(`Expected a response from ${nameOf(context)}, got ${got}`, context), {
    ...fieldsOf(context),
    ...(status === undefined ? {} : { status }),
    ...(providerCode === undefined ? {} : { providerCode: clean(providerCode, context) }),
    ...(requestId === undefined ? {} : { requestId: clean(requestId, context) }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    retryable: mayRetry(kind, headers.get('x-should-retry')),
  })
  if (written !== undefined) writtenCalls.set(error, written)
  return error
}

/** OpenAI's `x-should-retry` decides, except where the cause says whether the same request can succeed. */
function mayRetry({ code, retryable }: Kind, shouldRetry: string | null): boolean {
  const isKnown = code === 'quota_exhausted' || code === 'context_overflow' || code === 'bad_response'
  return isKnown || (shouldRetry !== 'true' && shouldRetry !== 'false') ? retryable : shouldRetry === 'true'
}

/** Beside the error, not in it: errors are logged, and a call may hold secrets. */
const writtenCalls = new WeakMap<ModelError, string>()

/** What the model wrote, if the provider refused it as a malformed call and quotes it. */
export function writtenCallOf(error: ModelError): string | undefined {
  return writtenCalls.get(error)
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
  code: 'bad_response' | 'stream_cut' | 'stream_idle' | 'context_overflow',
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

function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status < 600
}

/** Finds message and codes in the shapes errors have: `{error: {…}}`, `{error: "…"}`, the fields themselves, or a page of HTML. */
function readBody(body: unknown): ErrorBody {
  if (typeof body === 'string') return { message: textOfPage(body), codes: [], parts: [] }
  if (Array.isArray(body)) return readBody(body[0])
  if (!isJsonObject(body)) return { message: '', codes: [], parts: [] }
  const error = body.error ?? body
  if (!isJsonObject(error)) return { message: typeof error === 'string' ? cut(error) : '', codes: codesOf(body), parts: [body] }
  const { failed_generation: written, ...quoted } = error
  const inner = isJsonObject(error.innererror) ? codesOf(error.innererror) : []
  const message = [error.message, error.detail, error.msg].find((text) => typeof text === 'string') ?? JSON.stringify(quoted)
  // A gateway wraps what the provider behind it said: https://openrouter.ai/docs/api-reference/errors
  const metadata = isJsonObject(error.metadata) ? error.metadata : {}
  const behind = typeof metadata.raw === 'string' ? ` — ${metadata.raw}` : ''
  const details = (Array.isArray(error.details) ? error.details : []).filter(isJsonObject)
  return {
    message: cut(`${String(message)}${behind}`),
    codes: [...codesOf(error), ...inner, ...codesInDetails(details)],
    parts: [error, body, metadata, ...details],
    ...(typeof written === 'string' && written.trim() !== '' ? { written } : {}),
  }
}

/** Google's errors name a reason and a quota in a list: https://cloud.google.com/apis/design/errors#error_details */
function codesInDetails(details: readonly JsonObject[]): string[] {
  const quotas = details.flatMap(({ violations }) => (Array.isArray(violations) ? violations.filter(isJsonObject) : []))
  return [...details.map(({ reason }) => reason), ...quotas.map(({ quotaId }) => quotaId)].filter((code) => typeof code === 'string')
}

function codesOf(error: { [key: string]: unknown }): string[] {
  const found = [error.code, error.type, error.status, error.status_code]
    .filter((code) => typeof code === 'string' || typeof code === 'number')
    .map(String)
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
