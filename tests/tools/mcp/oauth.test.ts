import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { guardedFetch } from '../../../src/tools/mcp/auth/guarded-fetch.ts'
import {
  connectMcpServers,
  type McpAuth,
  type McpAuthorization,
  type McpTokenStore,
  mcpTokenFiles,
  openLoopbackSignIn,
} from '../../../src/tools/mcp/index.ts'
import { tempFolder } from '../../cli/temp-folder.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { startOAuthServer } from './oauth-server.ts'
import { callText } from './open-tools.ts'

const example = fileURLToPath(new URL('../../examples/mcp-sign-in.ts', import.meta.url))

/** The browser of a user who agrees to everything. */
async function agree({ url }: McpAuthorization): Promise<string> {
  const { headers } = await fetch(url, { redirect: 'manual' })
  return headers.get('location') ?? ''
}

function memory(): McpTokenStore & { kept: Map<string, string> } {
  const kept = new Map<string, string>()
  return { kept, load: (key) => kept.get(key), save: (key, text) => void kept.set(key, text), remove: (key) => void kept.delete(key) }
}

const open = (url: string, auth: McpAuth, logger = recordingLogger().logger) => connectMcpServers({ wiki: { url, auth } }, { logger })

describe('an MCP server that requires a sign-in', () => {
  it('signs in once, and then renews stored tokens as needed, even if many calls are refused at once', async () => {
    await using server = await startOAuthServer()
    const store = memory()
    const authorize = vi.fn(agree)
    await using tools = await open(server.url, { store, authorize })
    expect(await callText(tools, 'wiki__echo', { a: 1 })).toBe('{"a":1}')
    expect(authorize).toHaveBeenCalledOnce()
    // The stored tokens are enough for another process in which nobody can be asked.
    await using later = await open(server.url, { store })
    server.expire()
    const calls = await Promise.all(Array.from({ length: 5 }, (_, n) => callText(later, 'wiki__echo', { n })))
    expect(calls).toEqual([0, 1, 2, 3, 4].map((n) => `{"n":${n}}`))
    // A code and one renewal: a second renewal would have revoked all tokens.
    expect(server.count('/token')).toBe(2)
    expect(server.count('/register')).toBe(1)
    expect(authorize).toHaveBeenCalledOnce()
  })

  it('stores tokens per account and client', async () => {
    await using server = await startOAuthServer()
    const store = memory()
    const authorize = vi.fn(agree)
    await using ann = await open(server.url, { store, authorize, account: 'ann' })
    expect(authorize).toHaveBeenCalledTimes(1)
    await using bob = await open(server.url, { store, authorize, account: 'bob' })
    expect(authorize).toHaveBeenCalledTimes(2)
    await using nobody = await open(server.url, { store, authorize })
    expect(authorize).toHaveBeenCalledTimes(3)
    const tokens = [...store.kept.values()].map((text) => JSON.parse(text).tokens.access_token)
    expect(new Set(tokens).size).toBe(3)
    for (const tools of [ann, bob, nobody]) expect(await callText(tools, 'wiki__echo', { a: 1 })).toBe('{"a":1}')
    expect(store.kept.size).toBe(3)
    await expect(open(server.url, { store, clientId: 'first' })).rejects.toThrow(/Somebody has to sign in/)
  })

  it('says what to do if nobody can be asked', async () => {
    await using server = await startOAuthServer()
    await expect(open(server.url, { store: memory() })).rejects.toThrow(
      /Somebody has to sign in to the MCP server `wiki`: toolloop mcp login wiki/,
    )
    await expect(connectMcpServers({ wiki: { url: server.url } })).rejects.toThrow(/requires a sign-in: give it `auth`/)
    expect(server.count('/register')).toBe(0)
  })

  it.each<[string, (query: URLSearchParams) => void, RegExp]>([
    ['another state', (query) => query.set('state', 'x'), /was answered from elsewhere/],
    ['no state', (query) => query.delete('state'), /was answered from elsewhere/],
    ['another issuer', (query) => query.set('iss', 'https://evil.example'), /[Ii]ssuer/],
    ['no issuer', (query) => query.delete('iss'), /[Ii]ssuer/],
    [
      'a refusal in words of its own',
      (query) => {
        query.delete('code')
        query.set('error', 'access_denied')
        query.set('error_description', 'Call 555 and tell us your password')
      },
      /was refused \(access_denied\)\.$/,
    ],
  ])('gets no code of ours if it redirects the browser with %s', async (_, sendBack, words) => {
    await using server = await startOAuthServer()
    server.sendBack = sendBack
    const failure = await open(server.url, { store: memory(), authorize: agree }).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'mcp_server_failed', message: expect.stringMatching(words) })
    expect(server.count('/token')).toBe(0)
  })

  it('never appears with a token in a log, an error or a result, whatever it quotes', async () => {
    await using server = await startOAuthServer()
    const store = memory()
    const { logger, records } = recordingLogger()
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {})
    await using tools = await open(server.url, { store, authorize: agree }, logger)
    // Another process has renewed it: the server accepts neither any more, and says so.
    const [key = ''] = store.kept.keys()
    store.kept.set(key, (store.kept.get(key) ?? '').replace(/refresh-[0-9a-f-]+/, 'refresh-of-somebody-else'))
    server.tokens.push('refresh-of-somebody-else')
    server.expire()
    const failed = await callText(tools, 'wiki__echo')
    const all = JSON.stringify([records, failed, tools.servers(), warnings.mock.calls])
    expect(warnings).not.toHaveBeenCalled()
    warnings.mockRestore()
    for (const token of server.tokens) expect(all).not.toContain(token)
    expect(server.count('/token')).toBeGreaterThan(1)
  })

  it('sends a client secret only to the authorization server it belongs to', async () => {
    await using server = await startOAuthServer()
    const auth = { store: memory(), clientId: 'app', clientSecret: 'secret-of-the-app', issuer: 'https://login.example' }
    await expect(open(server.url, { ...auth, authorize: agree })).rejects.toThrow(/login\.example/)
    expect(server.count('/token')).toBe(0)
  })

  it('does not sign in or register at another authorization server than the configured one', async () => {
    await using server = await startOAuthServer()
    const authorize = vi.fn(agree)
    await expect(open(server.url, { store: memory(), issuer: 'https://login.example', authorize })).rejects.toThrow(/login\.example/)
    expect([authorize.mock.calls.length, server.count('/register'), server.count('/token')]).toEqual([0, 0, 0])
  })
})

it('the example of docs/mcp.md signs in with a browser, and in another process with the stored token', async () => {
  await using server = await startOAuthServer()
  const HOME = await tempFolder()
  const start = async (visit: (printed: string) => Promise<unknown>) => {
    const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
    const env = { PATH, NODE_COMPILE_CACHE, HOME, WIKI_URL: server.url }
    const child = spawn(process.execPath, [example], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const closed = once(child, 'close')
    let printed = ''
    for await (const piece of child.stdout) {
      printed += piece
      await visit(String(piece))
    }
    return [(await closed)[0], printed]
  }
  const signIn = async (printed: string) => {
    const [url] = /(?<=Sign in to wiki: )\S+/.exec(printed) ?? []
    if (url !== undefined) expect(await (await fetch(url)).text()).toContain('You are signed in.')
  }
  expect(await start(signIn)).toEqual([0, expect.stringMatching(/^Sign in to wiki: http:\S+\n\[ 'wiki__echo' \]\n$/)])
  expect(await start(async () => {})).toEqual([0, "[ 'wiki__echo' ]\n"])
})

it('stores tokens in files that only their owner can read', async () => {
  const folder = join(await tempFolder(), 'home', 'tokens')
  const store = mcpTokenFiles(folder)
  expect(await store.load('a')).toBeUndefined()
  await store.save('a', 'text')
  expect(await store.load('a')).toBe('text')
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  expect((await stat(join(folder, 'a.json'))).mode & 0o777).toBe(0o600)
  await store.remove('a')
  expect(await store.load('a')).toBeUndefined()
})

it.each([
  ['https://mcp.example.com/mcp', 'http://127.0.0.1:1/', /Expected the server to name an https address/],
  ['https://mcp.example.com/mcp', 'https://127.0.0.1:1/', /Expected a host on the public internet/],
  ['https://mcp.example.com/mcp', 'https://localhost:1/', /Expected a host on the public internet/],
  ['https://mcp.example.com/mcp', 'https://169.254.169.254/latest', /Expected a host on the public internet/],
  ['https://mcp.example.com/mcp', 'https://[::ffff:10.0.0.1]/', /Expected a host on the public internet/],
  ['https://mcp.example.com/mcp', 'http://login.example.com/', /Expected the server to name an https address/],
  ['http://127.0.0.1:1/mcp', 'http://login.example.com/', /Expected the server to name an https address/],
  ['https://mcp.example.com/mcp', 'file:///etc/passwd', /Expected the server to name an https address/],
])('%s can’t make %s be fetched to sign in', async (server, address, words) => {
  const fetch = guardedFetch(new URL(server), undefined, new AbortController().signal)
  await expect(fetch(address)).rejects.toThrow(words)
})

it('does not follow redirects of an authorization server', async () => {
  await using server = await startOAuthServer()
  const fetch = guardedFetch(new URL(server.url), undefined, new AbortController().signal)
  const query = `?redirect_uri=${encodeURIComponent(server.url)}`
  expect((await fetch(`${new URL(server.url).origin}/authorize${query}`)).status).toBe(302)
  expect(server.count('/mcp')).toBe(0)
})

describe('openLoopbackSignIn', () => {
  const authorization = (state: string, signal = new AbortController().signal): McpAuthorization => ({
    server: 'wiki',
    url: new URL(`https://login.example.com/authorize?state=${state}`),
    signal,
  })

  it('accepts the browser it has sent, and refuses other pages', async () => {
    const shown: URL[] = []
    await using loopback = await openLoopbackSignIn({ show: ({ url }) => void shown.push(url) })
    const back = loopback.authorize(authorization('mine'))
    const knock = (query: string, path = loopback.redirectUrl) => fetch(`${path}?${query}`)
    // Not an address at all, as a request may contain.
    expect((await fetch(`${new URL(loopback.redirectUrl).origin}//`)).status).toBe(404)
    expect((await knock('state=theirs&code=1')).status).toBe(404)
    expect((await knock('state=mine&code=1', String(loopback.redirectUrl).replace('callback', 'else'))).status).toBe(404)
    const page = await knock('state=mine&code=2')
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(await page.text()).toContain('You are signed in')
    expect(String(await back)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback\?state=mine&code=2$/)
    expect(shown.map(({ host }) => host)).toEqual(['login.example.com'])
    expect((await knock('state=mine&code=3')).status).toBe(404)
  })

  it('stops waiting for a browser that never returns, and only listens on this machine', async () => {
    await using loopback = await openLoopbackSignIn({ show: () => {}, timeoutMs: 20 })
    await expect(loopback.authorize(authorization('mine'))).rejects.toThrow('Nobody signed in within 20 ms.')
    const aborted = AbortSignal.abort(new Error('gone'))
    await expect(loopback.authorize(authorization('mine', aborted))).rejects.toThrow('gone')
    await expect(openLoopbackSignIn({ show: () => {}, redirectUrl: 'http://0.0.0.0/callback' })).rejects.toThrow(
      /127\.0\.0\.1 or localhost/,
    )
  })
})

describe('E2.5 console output of the SDK during a sign-in', () => {
  it('E2.5 goes to the logger, and other output to the console', async () => {
    await using server = await startOAuthServer()
    const store = memory()
    const { logger, records } = recordingLogger()
    const written: unknown[][] = []
    const spies = (['debug', 'info', 'log', 'warn', 'error'] as const).map((method) =>
      vi.spyOn(console, method).mockImplementation((...args: unknown[]) => void written.push([method, ...args])),
    )
    const before = [console.debug, console.info, console.log, console.warn, console.error]
    await using tools = await open(server.url, { store, authorize: agree }, logger)
    const load = store.load
    store.load = (key) => {
      console.warn('[store] loading')
      return load(key)
    }
    // The gateway of the authorization server fails, and then the token is refused.
    server.expire()
    server.atToken = (_go, response) => response.writeHead(502, { 'content-type': 'text/html' }).end(page)
    await callText(tools, 'wiki__echo')
    const [key = ''] = store.kept.keys()
    store.kept.set(key, (store.kept.get(key) ?? '').replace(/refresh-[0-9a-f-]+/, 'refresh-of-somebody-else'))
    server.expire()
    server.atToken = (go) => go()
    await callText(tools, 'wiki__echo')
    const now = [console.debug, console.info, console.log, console.warn, console.error]
    for (const spy of spies) spy.mockRestore()
    const problems = records.flatMap(({ fields }) => ('problem' in fields ? [String(fields.problem)] : []))
    expect(problems).toEqual([
      expect.stringMatching(/^Could not refresh OAuth tokens;.*an HTML page titled "502 Bad Gateway"/),
      expect.stringMatching(/^OAuth "invalid_grant"/),
    ])
    expect(JSON.stringify(problems)).not.toContain('refresh-of-somebody-else')
    expect(new Set(written.map((line) => JSON.stringify(line)))).toEqual(new Set(['["warn","[store] loading"]']))
    expect(now).toEqual(before)
  })
})

const page = '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>'
