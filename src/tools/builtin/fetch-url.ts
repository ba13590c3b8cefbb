import type { LookupAddress } from 'node:dns'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { show, ToolloopError } from '../../core/errors.ts'
import { type AnyTool, defineTool, type ToolContext } from '../tool.ts'
import type { HttpAnswer } from './web/http-get.ts'
import { AddressRule } from './web/public-address.ts'

/** Options of `fetch_url`: the addresses that it may reach, and its time limit. */
export interface FetchUrlOptions {
  /**
   * Also allows addresses of this machine and of private networks. `true` allows all of these addresses; a list allows only the addresses
   * in its ranges (`127.0.0.1/32`, `10.1.0.0/16`). Default false, because a model could otherwise reach services that only you should
   * reach.
   */
  allowPrivateAddresses?: boolean | readonly string[]
  /** Time limit for the whole fetch, including redirects, in milliseconds. Default 20,000. */
  timeoutMs?: number
  /**
   * Resolves a host to addresses, which are checked and then used for the connection. Default: the system's resolver.
   *
   * Contract: the function is awaited, within the time limit. If it rejects, the call fails.
   */
  resolveHost?: (host: string) => Promise<LookupAddress[]>
}

const optionNames: OptionNames<FetchUrlOptions> = { allowPrivateAddresses: true, timeoutMs: true, resolveHost: true }

/** The result of `fetch_url`. */
export interface FetchedPage {
  /** The address after redirects. */
  url: string
  /** The HTTP status. */
  status: number
  /** The content type that the server sent; `''` if the server sent no content type. */
  contentType: string
  /**
   * The text of the body. For HTML, this is the readable text of the page, starting with the title. For a body that is not text, this is a
   * note.
   */
  text: string
  /** The number of bytes of the body that were read, after decompression. For a body that is not text, its announced size. */
  bytes: number
  /** Set if the body was longer than `maxBytes`. */
  truncated?: true
}

const parameters = {
  type: 'object',
  properties: {
    url: { type: 'string', minLength: 1, maxLength: 8192, description: 'Address of the page, http or https.' },
    maxBytes: { type: 'integer', minimum: 1, maximum: 4_194_304, description: 'Most bytes to read. Default 262144.' },
  },
  required: ['url'],
  additionalProperties: false,
} as const

/** Creates the tool `fetch_url`, which returns the text at a web address. Throws `invalid_option` for invalid ranges. */
export function fetchUrlTool(options: FetchUrlOptions = {}): AnyTool {
  checkOptionNames(options, optionNames, '`fetchUrlTool`')
  const { allowPrivateAddresses = false, timeoutMs = 20_000, resolveHost } = options
  const rule = new AddressRule(allowPrivateAddresses)
  return defineTool({
    name: 'fetch_url',
    description: 'Fetches a web page or file by http or https and returns its text; of HTML the readable text, without tags and scripts.',
    parameters,
    effect: 'read',
    execute: ({ url, maxBytes = 262_144 }: { url: string; maxBytes?: number }, { signal }: ToolContext): Promise<FetchedPage> =>
      withDeadline(signal, timeoutMs, url, async (limited) => {
        // The import is delayed until the first fetch, because it loads HTTP, TLS and zlib.
        const { get } = await import('./web/http-get.ts')
        const found = resolveHost === undefined ? {} : { resolveHost }
        return pageOf(await get({ url, maxBytes, wants: mayBeText, rule, ...found, signal: limited }), limited)
      }),
  })
}

/** Runs `work` with a signal that is aborted when `signal` is aborted or when the time is up. */
async function withDeadline<T>(signal: AbortSignal, timeoutMs: number, url: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const controller = new AbortController()
  const abort = () => controller.abort(signal.reason)
  const late = () => controller.abort(new ToolloopError('tool_failed', `${show(url)} was not fetched within ${timeoutMs} ms`))
  const timer = setTimeout(late, timeoutMs)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

async function pageOf(
  { url, status, contentType, body, announcedBytes, truncated }: HttpAnswer,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const [{ decodeText, isHtml }, { htmlToText }] = await Promise.all([import('./web/decode-text.ts'), import('./web/html-text.ts')])
  const decoded = body === undefined ? undefined : decodeText(body, contentType)
  if (body === undefined || decoded === undefined) {
    const bytes = body?.length ?? announcedBytes ?? 0
    const size = truncated ? `more than ${bytes} bytes` : bytes > 0 ? `${bytes} bytes` : 'size unknown'
    return { url, status, contentType, text: `(not text: ${contentType || 'unknown type'}, ${size})`, bytes }
  }
  const cut = truncated ? { truncated } : {}
  if (!isHtml(contentType, decoded)) return { url, status, contentType, text: decoded, bytes: body.length, ...cut }
  const { title, text } = await htmlToText(decoded, signal)
  return { url, status, contentType, text: title === '' ? text : `Title: ${title}\n\n${text}`, bytes: body.length, ...cut }
}

/** Whether a content type may be text. The body of any other type need not be read. */
function mayBeText(contentType: string): boolean {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  return !/^(image\/(?!svg)|audio\/|video\/|font\/|model\/|application\/(pdf|zip|gzip|x-(tar|7z|bzip|xz|rar).*|msword|vnd\.(ms-|open)|wasm|java-archive))/.test(
    type,
  )
}
