import { STATUS_CODES } from 'node:http'
import { messageOf, show, ToolloopError } from '../../core/errors.ts'
import { redactText } from '../../core/logger.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { decodeText } from '../builtin/web/decode-text.ts'
import { type HttpAnswer, requestOnce } from '../builtin/web/http-get.ts'
import type { AddressRule } from '../builtin/web/public-address.ts'
import { addressOf } from './address.ts'
import { type OperationArguments, own } from './arguments.ts'
import type { Credentials } from './credentials.ts'
import type { Operation } from './operations.ts'
import { SecretFilter } from './secret-filter.ts'
import { encode, headerText, queryPairs } from './serialise.ts'

/** A response with a status of 200 to 299. */
export interface OpenApiResult {
  status: number
  /** JSON as a value, anything else as text; undefined when there was none. Integers too long for a number are texts. */
  body?: Json
  /** The body was longer than `maxResponseBytes`, and is the start of it as text. */
  truncated?: true
}

export interface SendOptions {
  base: URL
  headers: Readonly<Record<string, string>>
  rule: AddressRule
  maxResponseBytes: number
}

/** Makes one request. Throws `tool_failed` with status and text for any status but 200 to 299; redirects are not followed. */
export async function sendOperation(
  operation: Operation,
  mapping: OperationArguments,
  args: JsonObject,
  credentials: Credentials,
  { base, headers, rule, maxResponseBytes }: SendOptions,
  signal: AbortSignal,
): Promise<OpenApiResult> {
  const filter = new SecretFilter(credentials.secrets)
  const url = addressOf(base, operation, mapping, args, credentials)
  try {
    const body = bodyText(operation, mapping, args)
    const answer = await requestOnce({
      url,
      method: operation.method.toUpperCase(),
      headers: { ...headersOf(operation, mapping, args, headers, credentials, body), ...credentials.headers },
      ...(body === undefined ? {} : { body }),
      maxBytes: maxResponseBytes,
      wants: () => operation.method !== 'head',
      rule,
      signal,
    })
    return resultOf(answer, filter)
  } catch (error) {
    signal.throwIfAborted()
    const code = ToolloopError.isInstance(error) ? error.code : 'tool_failed'
    // Without the query, a part of a secret in which might be cut off; and not with the cause, which may hold the whole request.
    const message = messageOf(error).replaceAll(show(url), show(url.split('?')[0]))
    throw new ToolloopError(code, filter.clean(redactText(message)))
  }
}

function headersOf(
  { body }: Operation,
  { parameters }: OperationArguments,
  args: JsonObject,
  configured: Readonly<Record<string, string>>,
  credentials: Credentials,
  text: string | undefined,
): Record<string, string> {
  const headers: Record<string, string> = { accept: 'application/json, text/*;q=0.8, */*;q=0.1' }
  const cookies: string[] = []
  for (const [argument, parameter] of parameters) {
    const value = own(args, argument)
    if (value === undefined) continue
    if (parameter.place === 'header') headers[parameter.name.toLowerCase()] = headerText(parameter, value)
    if (parameter.place === 'cookie') cookies.push(...queryPairs(parameter, value))
  }
  for (const [name, value] of Object.entries(configured)) headers[name.toLowerCase()] = value
  const all = [...cookies, ...credentials.cookies]
  if (all.length > 0) headers.cookie = all.join('; ')
  if (text !== undefined && body !== undefined) {
    headers['content-type'] = body.mediaType
    headers['content-length'] = String(Buffer.byteLength(text))
  }
  return headers
}

function bodyText({ body }: Operation, mapping: OperationArguments, args: JsonObject): string | undefined {
  const value = body === undefined ? undefined : bodyValue(mapping, args, body.isRequired)
  if (body === undefined || value === undefined) return undefined
  if (body.form === 'text') return typeof value === 'string' ? value : JSON.stringify(value)
  if (body.form === 'json' || !isJsonObject(value)) return JSON.stringify(value)
  const fields = Object.entries(value).flatMap(([name, item]) =>
    (Array.isArray(item) ? item : [item]).map((one): [string, Json] => [name, one]),
  )
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

function resultOf(answer: HttpAnswer, filter: SecretFilter): OpenApiResult {
  const { status, body = Buffer.alloc(0), contentType, truncated, location } = answer
  const decoded = decodeText(body, contentType)
  const text =
    decoded === undefined
      ? `(not text: ${contentType || 'unknown type'}, ${body.length} bytes)`
      : redactText(truncated ? filter.cleanCut(decoded) : filter.clean(decoded))
  if (status < 200 || status > 299) {
    const where = location === undefined ? '' : ` It points to ${location}, which is not followed.`
    const excerpt = text.length > maxExcerpt ? `${text.slice(0, maxExcerpt)}… (${text.length} characters)` : text
    const said = excerpt.trim() === '' ? '' : `\n${excerpt}`
    const name = STATUS_CODES[status] === undefined ? '' : ` ${STATUS_CODES[status]}`
    throw new ToolloopError('tool_failed', `HTTP ${status}${name}.${where}${said}`)
  }
  if (text === '') return { status }
  if (truncated) return { status, body: text, truncated }
  return { status, body: /[/+]json\b/i.test(contentType) ? filter.cleanJson(parsed(text)) : text }
}

/** A server may say that it is JSON, and be wrong. */
function parsed(text: string): Json {
  try {
    return JSON.parse(text, keepingLongIntegers)
  } catch {
    return text
  }
}

/** An id of 19 digits would else come back as another one. */
function keepingLongIntegers(_key: string, value: unknown, context?: { source?: string }): unknown {
  const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
  return isRounded ? (context?.source ?? value) : value
}
