import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { servePage } from '../../src/service/routes/page.ts'

/** A server of the page as the package ships it, with the service at `url` behind it. */
export async function shippedPage(folder: string, url: string): Promise<string> {
  const from = fileURLToPath(new URL('../../src/page', import.meta.url))
  const { bundlePage } = await import(new URL('../../config/bundle-page.js', import.meta.url).href)
  await bundlePage(from, folder)
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', url)
    const headers = Object.entries({ ...request.headers, host: new URL(url).host }).flatMap(([name, value]) =>
      typeof value === 'string' && name !== 'connection' ? [[name, value] as [string, string]] : [],
    )
    const asked = new Request(url + request.url, { headers })
    const isFile = /^\/admin\/[^/]*$/.test(pathname)
    const answer = isFile
      ? await servePage(pathname.slice('/admin/'.length) || 'index.html', asked, pathToFileURL(`${folder}/`))
      : await fetch(asked)
    const sent = new Headers(answer.headers)
    if (!isFile) sent.delete('content-encoding')
    response.writeHead(answer.status, Object.fromEntries(sent))
    response.flushHeaders()
    if (answer.body === null) response.end()
    else
      Readable.fromWeb(answer.body as never)
        .on('error', () => response.destroy())
        .pipe(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
