import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { messageOf } from '../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { AddressRule } from '../builtin/web/public-address.ts'
import { resultText } from '../result-text.ts'
import { openForeign } from '../schema/foreign/foreign-schema.ts'
import type { AnyTool, Tool, ToolEffect } from '../tool.ts'
import { fromOrigin, legalToolNames } from '../tool-names.ts'
import { checkPath } from './address.ts'
import { type OperationArguments, operationArguments } from './arguments.ts'
import { Security } from './credentials.ts'
import { loadDocument, problem } from './document.ts'
import { listOperations, type Method, methods, type Operation } from './operations.ts'
import type { OpenApiResult } from './send-operation.ts'

/** Options of `openApiTools`. */
export interface OpenApiOptions {
  /** The only address to which requests are sent. Default: the first server in the document. */
  baseURL?: string | URL
  /** The operations that become tools, by `operationId`, or by method and path (`get /pets`). Default: all. */
  operations?: readonly string[]
  /** Only operations with one of these tags become tools. Default: all operations. */
  tags?: readonly string[]
  /** Only operations with these methods become tools. Default: `get`, `head`, `put`, `delete`, `post`, `patch`. */
  methods?: readonly Method[]
  /** Prefix of each tool's name, followed by `__`. Default: none. */
  prefix?: string
  /**
   * Names of environment variables, by security scheme of the document. Each variable holds a key, a token, or `user:password`. Variables
   * are read for each request.
   */
  auth?: Readonly<Record<string, string>>
  /** The environment variables. Default: `process.env`. */
  env?: Readonly<Record<string, string | undefined>>
  /** Headers to send with every request. They override headers from the model's arguments. */
  headers?: Readonly<Record<string, string>>
  /** The calls that need approval: all, none, or calls of the operations with these ids. Default: none. */
  approval?: boolean | readonly string[]
  /**
   * The private addresses that requests may use: all (`true`), none (`false`), or a list of ranges. Default: all if `baseURL` is given,
   * otherwise none.
   */
  allowPrivateAddresses?: boolean | readonly string[]
  /** Time limit of one call, in milliseconds. Default: the run's time limit. */
  timeoutMs?: number
  /** Maximum number of bytes to read of a response. Default 1,048,576. */
  maxResponseBytes?: number
  /** Receives a warning if an operation is left out or its schema is repaired. Default: the package's own logger. */
  logger?: Logger
}

const optionNames: OptionNames<OpenApiOptions> = {
  baseURL: true,
  operations: true,
  tags: true,
  methods: true,
  prefix: true,
  auth: true,
  env: true,
  headers: true,
  approval: true,
  allowPrivateAddresses: true,
  timeoutMs: true,
  maxResponseBytes: true,
  logger: true,
}

/**
 * Creates a tool for each operation of an OpenAPI 3.0 or 3.1 document. `source`: the document as an object or as JSON or YAML text, or the
 * path of its file. Unsupported operations are left out with a warning.
 *
 * Rejects with `invalid_option` for an invalid document or option. Rejects with `missing_dependency` if
 * `@apidevtools/json-schema-ref-parser` is not installed. A call fails if the response has no 2xx status. The error contains the status and
 * the text of the response.
 */
export async function openApiTools(source: string | URL | object, options: OpenApiOptions = {}): Promise<AnyTool[]> {
  checkOptionNames(options, optionNames, '`openApiTools`')
  const { auth = {}, env = process.env, logger = defaultLogger } = options
  const document = await loadDocument(source)
  const security = new Security(document, auth, env)
  const log = redacting(logger)
  const warn = (operation: string, reason: string) => log.warn({ operation, reason }, 'an API operation is left out')
  const chosen = chooseOperations(listOperations(document, warn), options)
  const rule = new AddressRule(options.allowPrivateAddresses ?? options.baseURL !== undefined)
  const prefix = options.prefix === undefined || options.prefix === '' ? '' : `${options.prefix}__`
  const names = legalToolNames(chosen.map(({ id }) => `${prefix}${id}`))
  const base = chosen.some(({ servers }) => servers === undefined) ? baseOf(document.root.servers, options) : undefined
  const tools: AnyTool[] = []
  for (const [index, operation] of chosen.entries()) {
    try {
      const name = names[index] ?? ''
      const mapping = operationArguments(document, operation)
      const { schema, notes } = await openForeign(mapping.schema, name)
      const own = operation.servers === undefined ? base : undefined
      const at = own ?? baseOf(operation.servers, options)
      const calling = { security, rule, base: at, options, title: titleOf(document.root.info) ?? at.host }
      checkPath(calling.base, operation.path)
      tools.push(operationTool(name, operation, { ...mapping, schema }, calling))
      if (notes.length > 0) log.warn({ operation: operation.id, tool: name, notes }, 'the schema of an API operation was repaired')
      if (!security.covers(operation.security) && options.headers === undefined) {
        log.warn({ operation: operation.id, security: operation.security }, 'an API operation needs `auth`, but none is given')
      }
    } catch (error) {
      warn(operation.id, messageOf(error))
    }
  }
  if (tools.length === 0) throw problem('Expected the OpenAPI document to have operations that can be called, got none; the log says why')
  return tools
}

interface Calling {
  security: Security
  rule: AddressRule
  base: URL
  options: OpenApiOptions
  title: string
}

const defaultResponseBytes = 1_048_576

function operationTool(
  name: string,
  operation: Operation,
  mapping: OperationArguments,
  { security, rule, base, options, title }: Calling,
): AnyTool {
  const { headers = {}, maxResponseBytes = defaultResponseBytes, approval = false, timeoutMs } = options
  const needsApproval = typeof approval === 'boolean' ? approval : approval.includes(operation.id)
  const tool: Tool<unknown> = {
    name,
    description: operation.description,
    parameters: mapping.schema,
    effect: effectOf(operation.method),
    timeoutMs,
    ...(needsApproval ? { approval: true } : {}),
    ...(mapping.secrets.length === 0 ? {} : { secrets: mapping.secrets }),
    toContent: ({ status, body, truncated }: OpenApiResult) => {
      if (body === undefined) return `HTTP ${status}, no content`
      return truncated
        ? `${resultText(body)}\n\n(… the response is longer than ${maxResponseBytes} bytes and was cut here …)`
        : resultText(body)
    },
    execute: async (args: JsonObject, { signal }) => {
      // The import is delayed until the first call, because it loads HTTP, TLS and zlib.
      const { sendOperation } = await import('./send-operation.ts')
      const credentials = security.forRequest(operation.security)
      return sendOperation({ operation, mapping, args, credentials, base, headers, rule, maxResponseBytes, signal })
    },
  }
  return fromOrigin(tool as AnyTool, { kind: 'openapi', name: title })
}

function titleOf(info: Json | undefined): string | undefined {
  return isJsonObject(info) && typeof info.title === 'string' && info.title !== '' ? info.title.slice(0, 100) : undefined
}

/** Returns the effect of a method according to the semantics of HTTP (https://www.rfc-editor.org/rfc/rfc9110.html#section-9.2). */
function effectOf(method: Method): ToolEffect {
  if (method === 'get' || method === 'head') return 'read'
  return method === 'put' || method === 'delete' ? 'idempotent' : 'unsafe'
}

function chooseOperations(all: readonly Operation[], options: OpenApiOptions): Operation[] {
  const { operations, tags, methods: wanted = methods } = options
  const strange = wanted.filter((method) => !methods.includes(method))
  if (strange.length > 0) throw problem(`Expected \`methods\` to be of ${methods.join(', ')}, got \`${strange.join(', ')}\``)
  for (const id of operations ?? []) {
    if (all.some((operation) => isCalled(operation, id))) continue
    throw problem(`Expected \`operations\` to name operations of the document (${all.map((one) => one.id).join(', ')}), got \`${id}\``)
  }
  const chosen = all
    .filter((operation) => operations === undefined || operations.some((id) => isCalled(operation, id)))
    .filter((operation) => tags === undefined || operation.tags.some((tag) => tags.includes(tag)))
    .filter(({ method }) => wanted.includes(method))
  if (chosen.length === 0) throw problem(`Expected the options to select operations of the document, got none of its ${all.length}`)
  return chosen
}

function isCalled({ id, method, path }: Operation, name: string): boolean {
  return id === name || `${method} ${path}` === name
}

/** Returns the API's base address. Throws `invalid_option` if it is invalid or relative. */
function baseOf(servers: Json | undefined, { baseURL }: OpenApiOptions): URL {
  if (baseURL !== undefined) return checkedBase(String(baseURL), '`baseURL`')
  const [first] = [servers].flat()
  if (!isJsonObject(first) || typeof first.url !== 'string') {
    throw problem('Expected `baseURL` to say where the API is: the OpenAPI document names no server')
  }
  return checkedBase(withVariables(first.url, first.variables), "the OpenAPI document's server")
}

function withVariables(url: string, variables: Json | undefined): string {
  return url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = isJsonObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined
    return isJsonObject(variable) && variable.default !== undefined ? String(variable.default) : whole
  })
}

function checkedBase(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // The error does not show an invalid `baseURL`, because it may contain a key.
    throw problem(`Expected ${what} to be an http or https URL${what === '`baseURL`' ? '' : `, got \`${text}\`: give \`baseURL\``}`)
  }
  if (url.username !== '' || url.password !== '') throw problem(`Expected ${what} to be a URL without a user name or password in it`)
  if (url.search !== '' || url.hash !== '') throw problem(`Expected ${what} to be a URL without query and fragment`)
  return url
}
