import { STATUS_CODES } from 'node:http'
import { messageOf, show, ToolloopError } from '../../core/errors.ts'
import { jsonOrText } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { redactText, redactTokens } from '../../core/redaction/redact.ts'
import { SecretTexts } from '../../core/redaction/secret-texts.ts'
import { decidedPart } from '../../core/redaction/spans.ts'
import { withoutPage } from '../../core/text/html-page.ts'
import { decodeText } from '../builtin/web/decode-text.ts'
import { type HttpAnswer, requestOnce } from '../builtin/web/http-get.ts'
import type { AddressRule } from '../builtin/web/public-address.ts'
import { addressOf, type OperationCall } from './address.ts'
import { type OperationArguments, own } from './arguments.ts'
import { encode, headerText, queryPairs } from './serialize.ts'

/** A response with a status of 200 to 299. */
export interface OpenApiResult {
  /** The HTTP status. */
  status: number
  /**
   * The body: the parsed value if it is JSON, otherwise a string. Undefined if the response has no body. JSON integers that are too large
   * for JavaScript become strings.
   */
  body?: Json
  /** Set if the body was longer than `maxResponseBytes`. `body` is then its beginning, as text. */
  truncated?: true
}

export interface OperationRequest extends OperationCall {
  headers: Readonly<Record<string, string>>
  rule: AddressRule
  maxResponseBytes: number
  signal: AbortSignal
}

/** Sends one request. Does not follow redirects. Throws `tool_failed`, with the status and the text, for any other status than 2xx. */
export async function sendOperation(request: OperationRequest): Promise<OpenApiResult> {
  const { operation, credentials, rule, maxResponseBytes, signal } = request
  const secrets = new SecretTexts(credentials.secrets)
  const url = addressOf(request)
  try {
    const body = bodyText(request)
    const answer = await requestOnce({
      url,
      method: operation.method.toUpperCase(),
      headers: headersOf(request, body),
      body,
      maxBytes: maxResponseBytes,
      wants: () => operation.method !== 'head',
      rule,
      signal,
    })
    return resultOf(answer, secrets)
  } catch (error) {
    signal.throwIfAborted()
    const code = ToolloopError.isInstance(error) ? error.code : 'tool_failed'
    // Removes the query from the message, because `redactText` would not recognize a secret in a shortened URL. Drops the cause, because it
    // may contain the whole request.
    const message = messageOf(error).replaceAll(show(url), show(url.split('?')[0]))
    throw new ToolloopError(code, redactText(message, secrets))
  }
}

function headersOf(request: OperationRequest, body: string | undefined): Record<string, string> {
  const { operation, mapping, args, credentials } = request
  const headers: Record<string, string> = { accept: 'application/json, text/*;q=0.8, */*;q=0.1' }
  const cookies: string[] = []
  for (const [argument, parameter] of mapping.parameters) {
    const value = own(args, argument)
    if (value === undefined) continue
    if (parameter.place === 'header') headers[parameter.name.toLowerCase()] = headerText(parameter, value)
    if (parameter.place === 'cookie') cookies.push(...queryPairs(parameter, value))
  }
  for (const [name, value] of Object.entries(request.headers)) headers[name.toLowerCase()] = value
  const all = [...cookies, ...credentials.cookies]
  if (all.length > 0) headers.cookie = all.join('; ')
  if (body !== undefined && operation.body !== undefined) {
    headers['content-type'] = operation.body.mediaType
    headers['content-length'] = String(Buffer.byteLength(body))
  }
  return { ...headers, ...credentials.headers }
}

function bodyText({ operation: { body }, mapping, args }: OperationRequest): string | undefined {
  const value = body === undefined ? undefined : bodyValue(mapping, args, body.isRequired)
  if (body === undefined || value === undefined) return undefined
  if (body.form === 'text') return typeof value === 'string' ? value : JSON.stringify(value)
  if (body.form === 'json' || !isJsonObject(value)) return JSON.stringify(value)
  const fields = Object.entries(value).flatMap(([name, item]) => [item].flat().map((one) => [name, one] as const))
  return fields.map(([name, item]) => `${encode(name)}=${encode(typeof item === 'string' ? item : JSON.stringify(item))}`).join('&')
}

function bodyValue({ body }: OperationArguments, args: JsonObject, isRequired: boolean): Json | undefined {
  if (body === undefined) return undefined
  if ('argument' in body) return own(args, body.argument)
  const given = body.properties.flatMap(([argument, property]): [string, Json][] => {
    const value = own(args, argument)
    return value === undefined ? [] : [[property, value]]
  })
  return given.length === 0 && !isRequired ? undefined : Object.fromEntries(given)
}

const maxExcerpt = 2_000

function resultOf(answer: HttpAnswer, secrets: SecretTexts): OpenApiResult {
  const { status, body = Buffer.alloc(0), contentType, truncated, location } = answer
  const decoded = decodeText(body, contentType)
  const text =
    decoded === undefined
      ? `(not text: ${contentType || 'unknown type'}, ${body.length} bytes)`
      : redactTokens(truncated ? withoutBeginning(decoded, secrets) : decoded, secrets)
  if (status < 200 || status > 299) {
    const where = location === undefined ? '' : ` It points to ${location}, which is not followed.`
    const excerpt = text.length > maxExcerpt ? `${text.slice(0, maxExcerpt)}… (${text.length} characters)` : text
    const told = withoutPage(text)
    const said = told !== text ? ` It sent ${told.trim()}.` : excerpt.trim() === '' ? '' : `\n${excerpt}`
    const name = STATUS_CODES[status] === undefined ? '' : ` ${STATUS_CODES[status]}`
    throw new ToolloopError('tool_failed', `HTTP ${status}${name}.${where}${said}`)
  }
  if (text === '') return { status }
  if (truncated) return { status, body: text, truncated }
  return { status, body: /[/+]json\b/i.test(contentType) ? jsonOrText(text, keepingLongIntegers) : text }
}

/** Removes the end of a truncated text if a secret may begin there. */
export function withoutBeginning(text: string, secrets: SecretTexts): string {
  // Removes the remains of a character that was cut in two.
  const whole = secrets.isEmpty ? text : text.replace(/\ufffd{1,3}$/, '')
  return whole.slice(0, decidedPart(secrets.lookAt(whole)))
}

/** Keeps long integers as text, because JavaScript would round an id of 19 digits. */
function keepingLongIntegers(_key: string, value: unknown, context?: { source?: string }): unknown {
  const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
  return isRounded ? (context?.source ?? value) : value
}
