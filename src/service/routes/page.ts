import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { etagOf, isKnown } from '../http/etag.ts'
import { HttpProblem } from '../http/problem.ts'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

/**
 * The content security policy of the page. Scripts and styles are files beside the page. The policy forbids inline code, content from other
 * origins, frames, and forms to other origins.
 */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** Matches a file name with a content hash. The content of such a file never changes. */
const hashed = /-[\w-]{8}\.(?:js|css)$/
type Encoding = 'br' | 'gzip'
/** Caches compressed files, by encoding and ETag, so that each file is compressed once. */
const compressed = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()
/** Maximum number of files in the cache. The limit is needed because files change during development. */
const mostCompressed = 300

/**
 * Reads a file of `folder`, or of the page's own folder. Resolves with undefined if the file doesn't exist. If the service is part of a
 * bundle, no file exists.
 */
async function readIn(folder: URL | undefined, name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return new Uint8Array(await readFile(new URL(name, folder ?? new URL('../page/', import.meta.url))))
  } catch {
    return undefined
  }
}

/** Serves a file of the admin page. Refuses names that could lead out of the folder. Rejects with an `HttpProblem` 404. */
export async function servePage(name: string, request: Request, folder?: URL): Promise<Response> {
  const type = /^[a-z0-9](?:\.?[\w-])*$/i.test(name) ? types[extname(name)] : undefined
  const content = type === undefined ? undefined : await readIn(folder, name)
  if (type === undefined || content === undefined) {
    const isThere = (await readIn(folder, 'index.html')) !== undefined
    // `import.meta.url` is undefined in a CommonJS bundle.
    const isSource = /\.ts$/.test(import.meta.url)
    const why = isThere
      ? 'has no such file'
      : isSource
        ? 'has not been built: run `node config/bundle-page.js`'
        : 'is not part of a bundle: to have it, an application must leave the package `toolloop` out'
    throw new HttpProblem(404, 'not_found', `The admin page ${why}`)
  }
  const etag = etagOf(content)
  const headers = {
    'content-type': type,
    'cache-control': hashed.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
    'content-security-policy': policy,
    'x-frame-options': 'DENY',
    vary: 'accept-encoding',
    etag,
  }
  if (isKnown(request, etag)) return new Response(null, { status: 304, headers })
  const accepted = (request.headers.get('accept-encoding') ?? '').split(',').map((one) => one.trim().split(';')[0])
  const encoding = (['br', 'gzip'] as const).find((one) => accepted.includes(one))
  if (encoding === undefined) return new Response(content, { headers })
  return new Response(await compress(content, encoding, etag), { headers: { ...headers, 'content-encoding': encoding } })
}

/** Compresses content in another thread, so that the event loop is not blocked. */
function compress(content: Uint8Array<ArrayBuffer>, encoding: Encoding, etag: string): Promise<Uint8Array<ArrayBuffer>> {
  const key = `${encoding} ${etag}`
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }
  const made =
    compressed.get(key) ??
    (encoding === 'br' ? promisify(brotliCompress)(content, options) : promisify(gzip)(content)).then((bytes) => new Uint8Array(bytes))
  if (compressed.size >= mostCompressed) compressed.clear()
  compressed.set(key, made)
  return made
}
