import { describe, expect, it } from 'vitest'
import { SignInLinks } from '../../src/service/http/sign-in-links.ts'
import { createService } from '../../src/service/index.ts'
import { startService, token } from './start-service.ts'

const operator = { name: 'operator', roles: ['run', 'admin'] } as const
const codeOf = (link: string) => link.slice(link.indexOf('#/sign-in/') + '#/sign-in/'.length)

async function signingIn(options: Parameters<typeof startService>[0] = {}) {
  const started = await startService({ model: 'demo', ...options })
  const { url, service } = started
  const redeem = async (code: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/admin/api/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ code }),
    })
    return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> }
  }
  const stateAs = async (session: unknown) =>
    (await fetch(`${url}/admin/api/state`, { headers: { authorization: `Bearer ${session}` } })).status
  return { ...started, redeem, stateAs, link: () => service.signInLink(url) }
}

describe('links that sign in', () => {
  it('sign in once, with a session that a sign-out ends, and no secret is in the log', async () => {
    const { redeem, stateAs, link, url, log } = await signingIn()
    const address = link()
    expect(address).toMatch(new RegExp(`^${url}/admin/#/sign-in/[\\w-]{43}$`))
    expect(address).not.toContain(token)
    const code = codeOf(address)
    const first = await redeem(code)
    expect(first).toMatchObject({ status: 200, body: { name: 'operator', roles: ['run', 'admin'] } })
    expect(first.headers.get('cache-control')).toBe('no-store')
    expect(first.headers.get('referrer-policy')).toBe('no-referrer')
    const session = String(first.body.token)
    expect(session).not.toBe(token)
    expect(await stateAs(session)).toBe(200)
    expect(await redeem(code)).toMatchObject({ status: 403, body: { error: { code: 'sign_in_link_refused' } } })
    const out = await fetch(`${url}/admin/api/session`, { method: 'DELETE', headers: { authorization: `Bearer ${session}` } })
    expect(out.status).toBe(204)
    expect(await stateAs(session)).toBe(401)
    expect(await stateAs(token)).toBe(200)
    expect(log()).toContain('a browser was signed in by a link')
    for (const secret of [code, session]) expect(log()).not.toContain(secret)
  })

  it('end the browser’s session when it uses another link; a refused link ends nothing', async () => {
    const { redeem, stateAs, link } = await signingIn()
    const [first, other] = [await redeem(codeOf(link())), await redeem(codeOf(link()))].map(({ body }) => body.token)
    const as = { authorization: `Bearer ${first}` }
    expect((await redeem('another', as)).status).toBe(403)
    expect(await stateAs(first)).toBe(200)
    const second = await redeem(codeOf(link()), as)
    expect([second.status, await stateAs(second.body.token), await stateAs(first), await stateAs(other)]).toEqual([200, 200, 401, 200])
    expect((await redeem(codeOf(link()), { authorization: `Bearer ${token}` })).status).toBe(200)
    expect(await stateAs(token)).toBe(200)
  })

  it('are not used up by previews: chat clients, scanners, proxies', async () => {
    const { redeem, link, url } = await signingIn()
    const address = link()
    const code = codeOf(address)
    const page = await fetch(address)
    expect([page.status, page.url]).toEqual([200, `${url}/admin/`])
    expect((await fetch(`${url}/admin/api/sign-in?code=${code}`)).status).toBe(405)
    expect((await fetch(`${url}/admin/api/sign-in`, { method: 'HEAD' })).status).toBe(405)
    expect((await redeem(code)).status).toBe(200)
  })

  it('admit one of many who use one at once', async () => {
    const { redeem, link } = await signingIn()
    const code = codeOf(link())
    const statuses = (await Promise.all(Array.from({ length: 20 }, () => redeem(code)))).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  })

  it('can’t be guessed: a guesser has to wait, and blocks nobody with a valid link', async () => {
    const { redeem, link } = await signingIn()
    const statuses: number[] = []
    for (let at = 0; at < 200; at++) statuses.push((await redeem(`guess-${at}`)).status)
    expect(statuses.filter((status) => status === 403)).toHaveLength(30)
    expect(statuses.filter((status) => status === 429)).toHaveLength(170)
    expect(Number((await redeem('one more')).headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await redeem(codeOf(link()))).status).toBe(200)
  })

  it('that are wrong are not logged without limit, even if it is the same one repeatedly', async () => {
    const { redeem, log } = await signingIn()
    for (let at = 0; at < 40; at++) await redeem('always the same')
    expect(log().match(/a sign-in link was refused/g)).toHaveLength(30)
  })

  it('admit no page of another site, and take nothing but a code', async () => {
    const { redeem, link, post } = await signingIn()
    const code = codeOf(link())
    expect((await redeem(code, { origin: 'https://evil.example' })).status).toBe(403)
    for (const body of [{}, { code: 1 }, { code: '' }, { code: [code] }, { code: 'x'.repeat(201) }])
      expect((await post('/admin/api/sign-in', body)).status).toBe(400)
    expect((await redeem(code)).status).toBe(200)
  })

  it('expire after 10 minutes, and their sessions after 12 hours', () => {
    let now = 0
    const links = new SignInLinks(() => now)
    const requestAs = (session: string) => new Request('http://127.0.0.1/', { headers: { authorization: `Bearer ${session}` } })
    const [late, inTime] = [links.issue(operator), links.issue(operator)]
    now = 10 * 60_000 - 1
    const session = links.redeem(inTime, undefined)
    now = 10 * 60_000
    expect(() => links.redeem(late, undefined)).toThrow('once, within 10 minutes')
    expect(links.callerOf(requestAs(session.token))).toEqual(operator)
    now = session.until - 1
    expect(links.callerOf(requestAs(session.token))).toEqual(operator)
    now = session.until
    expect(links.callerOf(requestAs(session.token))).toBeUndefined()
    for (const other of ['tls_', 'tls_x', session.token.slice(4)]) expect(links.callerOf(requestAs(other))).toBeUndefined()
  })

  it('lead to the page wherever it is mounted, and are made only for addresses', async () => {
    const service = createService({ model: 'demo', basePath: '/agent', token, env: {} })
    expect(service.signInLink('https://a.example/')).toMatch(/^https:\/\/a\.example\/agent\/admin\/#\/sign-in\/[\w-]{43}$/)
    expect(createService({ model: 'demo', token, env: {} }).signInLink('https://a.example/b/?c#d')).toContain(
      'https://a.example/b/admin/#/sign-in/',
    )
    for (const url of ['', 'a.example', 'javascript:alert(1)']) expect(() => service.signInLink(url)).toThrow('Expected `url`')
    const code = codeOf(service.signInLink('https://a.example'))
    await service.ready
    const asked = new Request('https://a.example/agent/admin/api/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/json', host: 'localhost' },
      body: JSON.stringify({ code }),
    })
    expect((await service.fetch(asked)).status).toBe(200)
    await service.drain(0)
  })
})
