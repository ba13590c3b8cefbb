import { ModelError, type ModelErrorFields, messageOf, readableError } from '../../core/errors.ts'
import { jsonOrText } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { redactText } from '../../core/redaction/redact.ts'
import { withoutPage } from '../../core/text/html-page.ts'
import { type Kind, kindOf } from './error-kinds.ts'
import { type HeaderReader, headersIn, readLimitReset, readRetryAfter, readWaitIn } from './retry-after.ts'

/** The provider and model that were asked, and the secrets that messages must not contain. */
export interface ErrorContext {
  provider: string
  model: string
  /** Keys and tokens that were sent. A provider may quote them in its error. */
  secrets?: readonly string[]
  /** The part of the response that arrived before the failure. */
  partial?: ModelErrorFields['partial']
}

/** An error as a provider reported it: an HTTP status with a body, or only a body inside a response that started normally. */
export interface ProviderFailure {
  status?: number
  /** The response's headers, if known. */
  headers?: HeaderReader
  /** The parsed body, or its text if it is not JSON. */
  body: unknown
}

interface ErrorBody {
  message: string
  /** All of the provider's error codes and types, the most specific first. */
  codes: string[]
  /** The JSON objects that were found in the body, including nested errors. */
  parts: JsonObject[]
  /** The model's output, if the provider refused it as a malformed call. */
  written?: string
}

/** Converts a provider's error to a `ModelError`. */
export function providerError(failure: ProviderFailure, context: ErrorContext): ModelError {
  const { message, codes, parts, written } = readBody(failure.body)
  const isHttpError = failure.status !== undefined && failure.status >= 300
  // Some servers send "200 OK" with the error's status in the body: https://openrouter.ai/docs/api-reference/errors
  const status = isHttpError ? failure.status : codes.map(Number).find(isErrorStatus)
  const headers = headersIn(parts.map((part) => part.headers).find(isJsonObject), failure.headers)
  const askedWaitMs = readRetryAfter(headers) ?? readWaitIn(headers, parts, message)
  const kind = kindOf({ status, message, codes, retryAfterMs: askedWaitMs })
  const retryAfterMs = askedWaitMs ?? (kind.code === 'rate_limited' ? readLimitReset(headers) : undefined)
  const [providerCode] = codes
  const requestId = headers.get('x-request-id') ?? headers.get('request-id') ?? undefined
  const got = [
    isHttpError ? `HTTP ${failure.status}` : 'an error',
    providerCode === undefined ? '' : ` (${providerCode})`,
    message === '' ? ' without a message' : `: ${message}`,
    kind.isOutOfCredit ? ' — the account has no credit left, or has used up its quota' : '',
  ].join('')
  const error = new ModelError(kind.code, clean(`Expected a response from ${nameOf(context)}, got ${got}`, context), {
    ...fieldsOf(context),
    ...withoutUndefined({ status }),
    ...(providerCode === undefined ? {} : { providerCode: clean(providerCode, context) }),
    ...(requestId === undefined ? {} : { requestId: clean(requestId, context) }),
    ...withoutUndefined({ retryAfterMs }),
    retryable: mayRetry(kind, headers.get('x-should-retry')),
  })
  if (written !== undefined) writtenCalls.set(error, written)
  return error
}

/**
 * Whether to retry. The header `x-should-retry` of OpenAI decides, unless the kind of the error already shows whether a retry can succeed.
 */
function mayRetry({ code, retryable, isOutOfCredit }: Kind, shouldRetry: string | null): boolean {
  const isKnown = isOutOfCredit === true || code === 'context_overflow' || code === 'bad_response'
  return isKnown || (shouldRetry !== 'true' && shouldRetry !== 'false') ? retryable : shouldRetry === 'true'
}

/** The texts of malformed calls. They are stored outside the error, because errors are logged and a call may contain secrets. */
const writtenCalls = new WeakMap<ModelError, string>()

/** Returns the malformed call that the provider's error quotes. Undefined if it quotes none. */
export function writtenCallOf(error: ModelError): string | undefined {
  return writtenCalls.get(error) ?? (error.cause instanceof ModelError ? writtenCallOf(error.cause) : undefined)
}

/**
 * Maps undici's error codes to Node's. The codes mean that the server closed the connection, or did not answer when the connection was
 * opened.
 */
const nodeCodes: { [code: string]: string } = { UND_ERR_SOCKET: 'ECONNRESET', UND_ERR_CONNECT_TIMEOUT: 'ETIMEDOUT' }

/**
 * Creates the error for a request without an answer: the connection was refused or reset, the host was not found, TLS failed, or undici
 * could not send the request.
 */
export function connectionError(thrown: unknown, context: ErrorContext): ModelError {
  const cause = readableError(thrown)
  const root = rootCause(cause)
  const own = typeof root === 'object' && root !== null && 'code' in root && typeof root.code === 'string' ? root.code : undefined
  if (own === 'UND_ERR_INVALID_ARG' || own === 'UND_ERR_NOT_SUPPORTED') return requestError(cause, context)
  const code = own === undefined ? undefined : (nodeCodes[own] ?? own)
  const message = messageOf(root)
  return new ModelError('connection_failed', clean(`Expected a connection to ${nameOf(context)}, got: ${message}`, context), {
    ...fieldsOf(context),
    ...withoutUndefined({ providerCode: code }),
    retryable: true,
    cause,
  })
}

/** Creates the `invalid_option` error for a request that can't be sent, for example because a header contains a line break. */
function requestError(cause: unknown, context: ErrorContext): ModelError {
  // The message of `Headers` quotes the value, which may be a secret.
  const got = messageOf(rootCause(cause)).replace(/".*"/s, 'a value that')
  const message = clean(`Expected headers and an address that can be sent to ${nameOf(context)}, got: ${got}`, context)
  return new ModelError('invalid_option', message, { ...fieldsOf(context), retryable: false, cause })
}

/** Creates the error for a request that the SDK did not send. Either the SDK could not get a token, or the request is invalid. */
export function accessError(thrown: unknown, context: ErrorContext): ModelError {
  const error = readableError(thrown)
  const { status } = typeof error === 'object' && error !== null ? { status: undefined, ...error } : {}
  const root = rootCause(error)
  const code = typeof root === 'object' && root !== null && 'code' in root ? String(root.code) : ''
  // The service that issues the token may be down or overloaded, like a provider.
  if (typeof status === 'number' && (status >= 500 || status === 429)) return providerError({ status, body: messageOf(error) }, context)
  if (/^(E(CONN|HOST|NET|NOTFOUND|AI_AGAIN|PIPE|TIMEDOUT)|UND_ERR_)/.test(code)) return connectionError(error, context)
  if (error instanceof TypeError) return requestError(error, context)
  return new ModelError('unauthorized', clean(`Expected credentials for ${nameOf(context)}, got: ${messageOf(error)}`, context), {
    ...fieldsOf(context),
    retryable: false,
    cause: error,
  })
}

/** Creates the `ModelError` for an invalid response. `expected` and `got` complete "Expected … from …, got …". */
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
  return { provider, model, ...withoutUndefined({ partial }) }
}

function clean(message: string, { secrets }: ErrorContext): string {
  // A text that was cut may end with half a surrogate pair, which `toWellFormed` replaces.
  return redactText(withoutPage(message), secrets).toWellFormed()
}

function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status < 600
}

/** Whether an object that arrived instead of a response is an error. */
export function isError(value: JsonObject): boolean {
  const { error, errors, type, object, status, success, error_code, error_msg, base_resp } = value
  if (error || type === 'error' || object === 'error' || status === 'error' || success === false) return true
  if ((Array.isArray(errors) && errors.length > 0) || error_code || error_msg) return true
  if (isJsonObject(base_resp)) return Boolean(base_resp.status_code)
  return messageIn(value) !== undefined && codesOf(value).some((code) => !successCodes.test(code))
}

/** Whether an object that arrived instead of a response contains a message that can be quoted in an error. */
export function tellsError(value: JsonObject): boolean {
  return isError(value) || messageIn(value) !== undefined
}

const successCodes = /^(0|200|ok|success|succeeded)$/i

/** Maximum depth of nested errors. */
const mostNested = 4

/**
 * Finds the message and the codes in the known shapes of errors: `{error: {…}}`, `{error: "…"}`, `{errors: […]}`, `{base_resp: {…}}`, an
 * object that has the message and code as its own fields, or an HTML page. A message may be the JSON of another error.
 */
function readBody(body: unknown, depth = 0): ErrorBody {
  if (typeof body === 'string') return { message: cut(body.trim()), codes: [], parts: [] }
  if (Array.isArray(body)) return readBody(body[0], depth)
  if (!isJsonObject(body)) return { message: '', codes: [], parts: [] }
  const error = firstOf(body.error) || body.base_resp || firstOf(body.errors) || body
  if (!isJsonObject(error)) {
    // In errors of Spring and OAuth, `error` is a title, and the message is in another field.
    const told = [error, messageIn(body)].filter((text) => typeof text === 'string')
    return { message: cut([...new Set(told)].join(': ')), codes: codesOf(body), parts: [body] }
  }
  const { failed_generation: generation, ...quoted } = error
  const message = messageIn(error) ?? messageIn(body) ?? JSON.stringify(quoted)
  // A gateway wraps the error of the provider behind it: https://openrouter.ai/docs/api-reference/errors. LiteLLM puts its own words before
  // the provider's error.
  const metadata = isJsonObject(error.metadata) ? error.metadata : {}
  const raw = typeof metadata.raw === 'string' ? metadata.raw : undefined
  const behind = raw === undefined ? '' : ` — ${raw}`
  const within = jsonOrText((raw ?? message).replace(/^[^{]*/, ''))
  const inner = isJsonObject(within) && depth < mostNested ? readBody(within, depth + 1) : undefined
  const written = typeof generation === 'string' && generation.trim() !== '' ? generation : inner?.written
  const details = (Array.isArray(error.details) ? error.details : []).filter(isJsonObject)
  const innererror = isJsonObject(error.innererror) ? codesOf(error.innererror) : []
  return {
    message: cut(`${message}${behind}`),
    codes: [
      ...codesOf(error),
      ...(error === body.base_resp ? [`base_resp_${String(error.status_code)}`] : []),
      ...innererror,
      ...codesInDetails(details),
      ...(error === body ? [] : codesOf(body)),
      ...(inner?.codes ?? []),
    ],
    parts: [error, body, metadata, ...details, ...(inner?.parts ?? [])],
    ...withoutUndefined({ written }),
  }
}

function firstOf(value: Json | undefined): Json | undefined {
  return Array.isArray(value) ? value[0] : value
}

/**
 * Returns the message of an error. Fields: `detail` (a list) of FastAPI, `Message` of API Gateway, `status_msg` of MiniMax, `errmsg` of
 * Qianfan, `fault.faultstring` of Apigee, `header.message` of iFlytek, `Response.Error.Message` of Tencent, `title` of RFC 9457.
 */
function messageIn(error: JsonObject, depth = 0): string | undefined {
  const { detail } = error
  const listed = firstOf(detail)
  const told = [
    error.message,
    error.Message,
    error.error_message,
    error.error_msg,
    error.msg,
    error.status_msg,
    error.error_description,
    error.errorMessage,
    error.ErrorMessage,
    error.errmsg,
    error.err_msg,
    error.faultstring,
    detail,
    isJsonObject(listed) ? listed.msg : listed,
    error.title,
  ]
  const found = told.find((text) => typeof text === 'string' && text !== '')
  if (typeof found === 'string') return found
  if (depth === mostNested) return undefined
  const { message, fault, header, Response, Error: inner, errors, data } = error
  const within = [message, detail, error.error, fault, header, Response, inner, errors, data].filter(isJsonObject)
  return within.map((part) => messageIn(part, depth + 1)).find((text) => text !== undefined)
}

/** Google's errors list a reason and a quota in their details: https://cloud.google.com/apis/design/errors#error_details */
function codesInDetails(details: readonly JsonObject[]): string[] {
  const quotas = details.flatMap(({ violations }) => (Array.isArray(violations) ? violations.filter(isJsonObject) : []))
  return [...details.map(({ reason }) => reason), ...quotas.map(({ quotaId }) => quotaId)]
    .filter((code) => typeof code === 'string')
    .map(cut)
}

function codesOf(error: { [key: string]: unknown }): string[] {
  const found = [error.code, error.type, error.status, error.error_code, error.errorCode, error.status_code]
    .filter((code) => typeof code === 'string' || typeof code === 'number')
    .map((code) => cut(String(code)))
  const isNumber = (code: string) => Number.isFinite(Number(code))
  const words = found.filter((code) => code !== 'error' && !isNumber(code))
  return [...new Set([...words, ...found.filter((code) => code !== '' && isNumber(code))])]
}

/** Returns the title of an HTML page, or the start of any other text. */
function cut(whole: string): string {
  const text = withoutPage(whole)
  return text.length > 1000 ? `${text.slice(0, 1000)}… (${text.length} characters)` : text
}

/**
 * Returns the innermost cause of an error, which is usually Node's error with the actual reason. If a host has several addresses, a failed
 * connection is an AggregateError without a message.
 */
function rootCause(thrown: unknown): unknown {
  let at = thrown
  for (let depth = 0; depth < 8; depth++) {
    if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0]
    else if (at instanceof Error && at.cause !== undefined) at = at.cause
    else break
  }
  return at
}
