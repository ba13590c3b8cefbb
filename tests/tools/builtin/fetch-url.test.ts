import { getEventListeners, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type FetchedPage, type FetchUrlOptions, fetchUrlTool } from '../../../src/tools/builtin/fetch-url.ts'
import { closeServer } from '../../close-server.ts'
import { callTool, errorOf } from './workbench.ts'

interface TestServer {
  url: string
  requests: IncomingMessage[]
}

/** A server on 127.0.0.1 for one test. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<TestServer> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => closeServer(server))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

const here = { allowPrivateAddresses: ['127.0.0.1/32'] }

function fetchUrl(args: { url: string; maxBytes?: number }, options: FetchUrlOptions = here, signal?: AbortSignal): Promise<FetchedPage> {
  return callTool<FetchedPage>(fetchUrlTool(options), args, signal)
}

const say =
  (content: string | Buffer, headers: Record<string, string> = {}) =>
  (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/plain', ...headers }).end(content)
  }

describe('fetch_url', () => {
  it('returns a text unchanged', async () => {
    const { url, requests } = await serve(say('{"a": "ü"}', { 'content-type': 'application/json' }))
    expect(await fetchUrl({ url: `${url}/data?x=1` })).toEqual({
      url: `${url}/data?x=1`,
      status: 200,
      contentType: 'application/json',
      text: '{"a": "ü"}',
      bytes: 11,
    })
    expect(requests[0]).toMatchObject({ method: 'GET', url: '/data?x=1' })
    expect(requests[0]?.headers).toMatchObject({ 'user-agent': 'toolloop', connection: 'close' })
  })

  it('returns the readable text of HTML, starting with the title', async () => {
    const html = '<title>News</title><script>no()</script><h1>Top</h1><p>One &amp; two</p>'
    const { url } = await serve(say(html, { 'content-type': 'text/html; charset=utf-8' }))
    expect(await fetchUrl({ url })).toMatchObject({ text: 'Title: News\n\n# Top\n\nOne & two', bytes: html.length })
    const { url: untyped } = await serve((_, response) => response.end('<!DOCTYPE html><p>x</p>'))
    expect(await fetchUrl({ url: untyped })).toMatchObject({ contentType: '', text: 'x' })
  })

  it('returns an error page with its status', async () => {
    const { url } = await serve((_, response) => response.writeHead(404, { 'content-type': 'text/plain' }).end('no such page'))
    expect(await fetchUrl({ url })).toMatchObject({ status: 404, text: 'no such page' })
  })

  it.each([
    ['the content type', 'text/plain; charset=ISO-8859-1', Buffer.from('gr\xfc\xdfe', 'latin1')],
    ['quotes around it', 'text/plain; charset="windows-1252"', Buffer.from('gr\xfc\xdfe', 'latin1')],
    ['a byte order mark', 'text/plain', Buffer.from('\ufeffgrüße', 'utf16le')],
    ['a meta element', 'text/html', Buffer.from('<meta charset="latin1"><p>gr\xfc\xdfe', 'latin1')],
    ['an XML declaration', 'application/xml', Buffer.from('<?xml version="1.0" encoding="iso-8859-1"?>gr\xfc\xdfe', 'latin1')],
    ['nothing, so UTF-8', 'text/plain', Buffer.from('grüße')],
    ['a name nobody knows, so UTF-8', 'text/plain; charset=klingon', Buffer.from('grüße')],
  ])('uses the encoding in %s', async (_, contentType, body) => {
    const { url } = await serve(say(body, { 'content-type': contentType }))
    expect((await fetchUrl({ url })).text).toMatch(/grüße$/)
  })

  it.each([
    ['gzip', gzipSync('packed text')],
    ['br', brotliCompressSync('packed text')],
    ['deflate', deflateSync('packed text')],
  ])('decompresses %s', async (encoding, body) => {
    const { url } = await serve(say(body, { 'content-encoding': encoding }))
    expect(await fetchUrl({ url })).toMatchObject({ text: 'packed text', bytes: 11 })
  })

  it('describes a body that is not text without reading it', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 5_000_000_000 }).write('x')
    })
    expect(await fetchUrl({ url })).toMatchObject({ contentType: 'image/png', text: '(not text: image/png, 5000000000 bytes)' })
    const { url: untyped } = await serve(say(Buffer.from([1, 0, 2]), { 'content-type': 'application/octet-stream' }))
    expect(await fetchUrl({ url: untyped })).toMatchObject({ text: '(not text: application/octet-stream, 3 bytes)', bytes: 3 })
  })

  it('reads at most `maxBytes`, and no partial characters', async () => {
    const { url } = await serve(say('üüüü'))
    expect(await fetchUrl({ url, maxBytes: 5 })).toMatchObject({ text: 'üü', bytes: 5, truncated: true })
    expect(await fetchUrl({ url, maxBytes: 8 })).not.toHaveProperty('truncated')
  })

  it('stops reading an endless body', async () => {
    let closed: Promise<unknown> = Promise.resolve()
    const { url } = await serve((_, response) => {
      closed = once(response, 'close')
      response.writeHead(200, { 'content-type': 'text/plain' })
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    const page = await fetchUrl({ url })
    expect(page).toMatchObject({ bytes: 262_144, truncated: true })
    expect(page.text).toHaveLength(262_144)
    await closed
  })

  it('decompresses at most `maxBytes` of a zip bomb', async () => {
    const zeros = Buffer.alloc(1024 * 1024, 'a')
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
      const packed = createGzip({ level: 9 })
      packed.pipe(response)
      // 2 GB if it were read to the end.
      let left = 2048
      const more = () => {
        while (left-- > 0 && !response.destroyed && packed.write(zeros));
        if (left <= 0 || response.destroyed) packed.end()
      }
      packed.on('drain', more)
      more()
    })
    const before = process.memoryUsage().rss
    expect(await fetchUrl({ url })).toMatchObject({ bytes: 262_144, truncated: true })
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
  })

  it('says what is wrong with a body', async () => {
    const { url } = await serve(say('not packed', { 'content-encoding': 'gzip' }))
    expect((await errorOf(fetchUrl({ url }))).message).toBe(`Could not fetch "${url}/": its content is not compressed as its headers say`)
    const { url: strange } = await serve(say('x', { 'content-encoding': 'zip' }))
    expect((await errorOf(fetchUrl({ url: strange }))).message).toContain('has the content encoding "zip", which is not supported')
    const { url: cut } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 100 }).write('half', () => response.destroy())
    })
    expect((await errorOf(fetchUrl({ url: cut }))).message).toBe(`Could not fetch "${cut}/": the connection broke`)
  })
})

describe('fetch_url: address checks', () => {
  it.each([
    ['this machine', 'http://127.0.0.1/', 'http://localhost/', 'http://[::1]/', 'http://0.0.0.0/', 'http://127.1/'],
    ['this machine, written otherwise', 'http://2130706433/', 'http://0x7f000001/', 'http://0177.0.0.1/', 'http://①②⑦.0.0.1/', 'http://0/'],
    [
      'the metadata of clouds',
      'http://169.254.169.254/latest/meta-data/',
      'http://[fd00:ec2::254]/',
      'http://100.100.100.200/',
      'http://168.63.129.16/',
    ],
    [
      'private networks',
      'http://10.0.0.1/',
      'http://172.16.5.4/',
      'https://192.168.1.1/',
      'http://[fe80::1]/',
      'http://[fc00::1]/',
      'http://100.64.0.1/',
    ],
    [
      'IPv4 in IPv6',
      'http://[::ffff:127.0.0.1]/',
      'http://[::ffff:a9fe:a9fe]/',
      'http://[64:ff9b::7f00:1]/',
      'http://[2002:7f00:1::]/',
      'http://[::127.0.0.1]/',
    ],
  ])('refuses %s', async (_, ...urls) => {
    for (const url of urls) {
      const error = await errorOf(fetchUrl({ url }, {}))
      expect(error, url).toMatchObject({ code: 'tool_denied' })
      expect(error.message).toMatch(/^Expected a host on the public internet, got /)
    }
  })

  it('refuses other schemes, credentials and invalid URLs', async () => {
    for (const url of ['file:///etc/passwd', 'ftp://example.com/', 'data:text/plain,x', 'javascript:1', 'gopher://127.0.0.1:25/']) {
      expect((await errorOf(fetchUrl({ url }))).message).toBe(`Expected \`url\` to be an http or https URL, got ${JSON.stringify(url)}`)
    }
    const error = await errorOf(fetchUrl({ url: 'http://user:hunter2@example.com/' }))
    expect(error.message).toBe('Expected `url` to be a URL without a user name or password in it')
    expect((await errorOf(fetchUrl({ url: 'example.com' }))).message).toBe('Expected `url` to be an absolute URL, got "example.com"')
  })

  it('refuses a host name if any of its addresses is private', async () => {
    const { url, requests } = await serve(say('secret'))
    const { port } = new URL(url)
    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['169.254.169.254'], ['::ffff:10.0.0.1']]) {
      const resolveHost = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      const error = await errorOf(fetchUrl({ url: `http://intranet.test:${port}/` }, { resolveHost }))
      expect(error).toMatchObject({ code: 'tool_denied' })
      expect(error.message).toBe('Expected a host on the public internet, got "intranet.test", which has a private or reserved address')
    }
    expect(requests).toEqual([])
  })

  it('connects to the address that it has checked: a name is resolved once', async () => {
    const { url, requests } = await serve(say('hello'))
    const asked: string[] = []
    // Harmless in the first answer, but not in the second, as in a rebinding attack.
    const resolveHost = async (host: string) => {
      asked.push(host)
      return [{ address: asked.length === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }]
    }
    const { port } = new URL(url)
    expect(await fetchUrl({ url: `http://rebind.test:${port}/` }, { ...here, resolveHost })).toMatchObject({ text: 'hello' })
    expect(asked).toEqual(['rebind.test'])
    expect(requests[0]?.headers.host).toBe(`rebind.test:${port}`)
    expect(await errorOf(fetchUrl({ url: `http://rebind.test:${port}/` }, { ...here, resolveHost }))).toMatchObject({ code: 'tool_denied' })
  })

  it('follows redirects, including relative ones', async () => {
    const { url, requests } = await serve((request, response) => {
      const next: Record<string, string> = { '/a': '/b?x=1', '/b?x=1': './c' }
      const location = next[request.url ?? '']
      if (location === undefined) say('arrived')(request, response)
      else response.writeHead(request.url === '/a' ? 301 : 307, { location }).end('moved')
    })
    expect(await fetchUrl({ url: `${url}/a` })).toMatchObject({ url: `${url}/c`, status: 200, text: 'arrived' })
    expect(requests).toHaveLength(3)
  })

  it.each([
    ['http://169.254.169.254/latest/meta-data/', 'tool_denied'],
    ['http://localhost:1/', 'tool_denied'],
    ['//[::1]/', 'tool_denied'],
    ['http://0xa9fea9fe/', 'tool_denied'],
    ['file:///etc/passwd', 'invalid_arguments'],
    ['http://user:password@example.com/', 'invalid_arguments'],
    ['http://[bad', 'invalid_arguments'],
  ])('checks the target of a redirect: %s', async (location, code) => {
    const { url, requests } = await serve((_, response) => response.writeHead(302, { location }).end())
    // Resolves `localhost` to an address that is not allowed.
    const resolveHost = async () => [{ address: '127.0.0.2', family: 4 }]
    expect(await errorOf(fetchUrl({ url }, { ...here, resolveHost }))).toMatchObject({ code })
    expect(requests).toHaveLength(1)
  })

  it('stops following a redirect loop', async () => {
    const { url, requests } = await serve((_, response) => response.writeHead(302, { location: '/' }).end())
    expect((await errorOf(fetchUrl({ url }))).message).toBe(`"${url}" was redirected more than 5 times`)
    expect(requests).toHaveLength(6)
  })

  it('returns a redirect without a location as the response', async () => {
    const { url } = await serve((_, response) => response.writeHead(304).end())
    expect(await fetchUrl({ url })).toMatchObject({ status: 304, text: '' })
  })
})

describe('fetch_url: time limits', () => {
  it.each([
    ['never answers', () => {}],
    [
      'never ends',
      (_: IncomingMessage, response: ServerResponse) => void response.writeHead(200, { 'content-type': 'text/plain' }).write('x'),
    ],
  ])('stops a request to a server that %s', async (_, answer) => {
    const { url } = await serve(answer)
    const error = await errorOf(fetchUrl({ url }, { ...here, timeoutMs: 50 }))
    expect(error.message).toBe(`"${url}" was not fetched within 50 ms`)
  })

  it('applies the time limit to all redirects together', async () => {
    const { url } = await serve((_, response) => void setTimeout(() => response.writeHead(302, { location: '/' }).end(), 30))
    expect((await errorOf(fetchUrl({ url }, { ...here, timeoutMs: 70 }))).message).toContain('was not fetched within 70 ms')
  })

  it('rejects with the reason of its signal immediately, and leaves no socket, timer or listener', async () => {
    let arrived: () => void = () => {}
    const arrival = new Promise<void>((resolve) => (arrived = resolve))
    let closed: Promise<unknown> = Promise.resolve()
    const { url } = await serve((_, response) => {
      closed = once(response, 'close')
      arrived()
    })
    const controller = new AbortController()
    const reason = new Error('enough')
    const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const fetching = errorOf(fetchUrl({ url }, here, controller.signal))
    await arrival
    controller.abort(reason)
    expect(await fetching).toBe(reason)
    await closed
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    // A timer of an earlier test may have expired meanwhile.
    expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBeLessThanOrEqual(before)
    expect(await errorOf(fetchUrl({ url }, here, AbortSignal.abort(reason)))).toBe(reason)
  })

  it('removes its listener from a signal that is not aborted', async () => {
    const { url } = await serve(say('x'))
    const { signal } = new AbortController()
    await fetchUrl({ url }, here, signal)
    await errorOf(fetchUrl({ url: 'http://10.0.0.1/' }, {}, signal))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('stops during a name lookup', async () => {
    const resolveHost = () => new Promise<never>(() => {})
    const controller = new AbortController()
    const reason = new Error('enough')
    const fetching = errorOf(fetchUrl({ url: 'http://slow.test/' }, { resolveHost }, controller.signal))
    setImmediate(() => controller.abort(reason))
    expect(await fetching).toBe(reason)
  })

  it('says why a host can’t be reached, without addresses', async () => {
    const server = createTcpServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const refused = await errorOf(fetchUrl({ url: `http://127.0.0.1:${port}/` }))
    expect(refused.message).toBe(`Could not fetch "http://127.0.0.1:${port}/": the host refused the connection`)
    const resolveHost = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND nothing.test'), { code: 'ENOTFOUND' })
    }
    expect((await errorOf(fetchUrl({ url: 'http://nothing.test/' }, { resolveHost }))).message).toBe(
      'Could not fetch "http://nothing.test/": no such host is known',
    )
    const empty = await errorOf(fetchUrl({ url: 'http://nothing.test/' }, { resolveHost: async () => [] }))
    expect(empty.message).toBe('The host "nothing.test" has no address')
  })

  it('survives a server that does not speak HTTP', async () => {
    const server = createTcpServer((socket) => void socket.end('SSH-2.0-OpenSSH\r\n')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    expect((await errorOf(fetchUrl({ url: `http://127.0.0.1:${port}/` }))).message).toContain('the request failed (HPE_')
  })
})
