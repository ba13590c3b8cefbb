import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { HttpProblem } from '../http/problem.ts'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

/** Scripts and styles are files beside the page; nothing inline, nothing from elsewhere, no frames, no forms to elsewhere. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** Undefined for a file that is not there, as none is where the service is part of a bundle. */
async function readBeside(name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return new Uint8Array(await readFile(new URL(`../page/${name}`, import.meta.url)))
  } catch {
    return undefined
  }
}

/** A file of the admin page. A name is a name: whatever could lead out of the folder is none. Rejects with an `HttpProblem` 404. */
export async function servePage(name: string): Promise<Response> {
  const type = /^(?:(?:data|ui|views)\/)?[a-z0-9]+(?:[.-][a-z0-9]+)*$/i.test(name) ? types[extname(name)] : undefined
  const content = type === undefined ? undefined : await readBeside(name)
  if (type === undefined || content === undefined) {
    const isThere = (await readBeside('index.html')) !== undefined
    const why = isThere ? 'has no such file' : 'is not part of a bundle: to have it, an application must leave the package `toolloop` out'
    throw new HttpProblem(404, 'not_found', `The admin page ${why}`)
  }
  const headers = { 'content-type': type, 'cache-control': 'no-cache', 'content-security-policy': policy, 'x-frame-options': 'DENY' }
  return new Response(content, { headers })
}
