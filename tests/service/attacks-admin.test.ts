import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Guesses } from '../../src/service/http/guesses.ts'
import { createService } from '../../src/service/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { configFile, json, startService, token } from './start-service.ts'

const env = { DATABASE_URL: 'postgres://me:hunter22@db/x', INHOUSE_API_KEY: 'inhouse-key-1234', SEARCH_TOKEN: 'search-token-1234' }

const quirks = { toolCallId: { pattern: '^(a+)+$', length: 9 } }

const put = (config: object) => ({
  method: 'PUT',
  body: JSON.stringify({ config }),
  headers: { 'content-type': 'application/json', 'if-match': '*' },
})

describe('what an admin’s token can’t reach', () => {
  it('sends variables that the file doesn’t list nowhere, by a test or by a change', async () => {
    await using provider = await startStrictProvider({ script: Array.from({ length: 50 }, () => 'ready') })
    const { baseURL } = provider
    const known = {
      model: 'demo',
      providers: { inhouse: { driver: 'openai', baseURL, apiKeyEnv: 'INHOUSE_API_KEY' } },
      mcp: { servers: { search: { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: `Bearer \${SEARCH_TOKEN}` } } } },
      service: { variables: ['LISTED_API_KEY'] },
    }
    const { file } = await configFile(JSON.stringify({ ...known, mcp: undefined }))
    const { ask, post } = await startService({ configFile: file, env: { ...env, LISTED_API_KEY: 'listed-key-1234' } })
    const test = async (order: object) => (await post('/admin/api/providers/test', order)).text()
    const settings = { provider: 'custom', model: 'm', baseURL }
    for (const [variable, order] of [
      ['DATABASE_URL', { model: 'x/m', providers: { x: { driver: 'openai', baseURL, apiKeyEnv: 'DATABASE_URL' } } }],
      ['DATABASE_URL', { model: 'x/m', providers: { x: { driver: 'openai', baseURL, apiKeyEnv: ['NOT_SET', 'DATABASE_URL'] } } }],
      ['DATABASE_URL', { model: 'x/m', providers: { x: { driver: 'openai', baseURLEnv: 'DATABASE_URL', apiKeyOptional: true } } }],
      ['DATABASE_URL', { model: { ...settings, apiKey: `\${DATABASE_URL}` } }],
      ['DATABASE_URL', { model: { ...settings, headers: { 'x-a': `a \${DATABASE_URL:-b}` } } }],
      ['DATABASE_URL', { model: { ...settings, baseURL: `${baseURL}/\${DATABASE_URL}` } }],
      // A provider's own key, sent elsewhere.
      ['INHOUSE_API_KEY', { model: { provider: 'inhouse', model: 'm', baseURL } }],
      ['INHOUSE_API_KEY', { model: 'inhouse/m', providers: { inhouse: { ...known.providers.inhouse, baseURL: `${baseURL}/elsewhere` } } }],
      ['OPENAI_API_KEY', { model: { provider: 'openai', model: 'm', baseURL } }],
      ['OPENAI_API_KEY', { model: 'openai/m', providers: { openai: { baseURL } } }],
    ] as const)
      expect(await test(order)).toContain(
        `must not use the variable ${variable === 'DATABASE_URL' && JSON.stringify(order).includes('NOT_SET') ? 'NOT_SET' : variable}`,
      )
    const { mcp, ...others } = known
    for (const [path, config] of [
      ['/mcp/servers/search', { ...others, mcp }],
      ['/instructions', { ...others, instructions: `\${DATABASE_URL}` }],
      ['/models/a', { ...others, models: { a: { provider: 'inhouse', model: 'm', baseURL: 'http://127.0.0.1:9/v1' } } }],
      [
        '/service/auth/tokens /service',
        { ...others, service: { ...known.service, auth: { tokens: [{ name: 'a', roles: ['admin'], env: 'DATABASE_URL' }] } } },
      ],
    ] as const) {
      const refused = await ask('/admin/api/config', put(config))
      const { error } = await json(refused)
      expect([path, refused.status, error.problems.map((problem) => problem.path).join(' ')]).toEqual([path, 422, path])
      expect(JSON.stringify(error)).not.toContain('hunter22')
    }
    expect(provider.requests).toEqual([])
    // What the file says may stay, and what it lists may be named.
    const changed = { ...others, instructions: 'be kind', models: { a: 'inhouse/m', b: { ...settings, apiKey: `\${LISTED_API_KEY}` } } }
    expect((await ask('/admin/api/config', put(changed))).status).toBe(200)
    expect(await test({ model: { ...settings, apiKey: `\${LISTED_API_KEY}` } })).toContain('"ok":true')
    expect(provider.requests[0]?.headers.authorization).toBe('Bearer listed-key-1234')
  })

  it('sends a known model’s variables nowhere else if its provider’s section is changed', async () => {
    await using provider = await startStrictProvider({ script: Array.from({ length: 20 }, () => 'ready') })
    const key = `\${CORP_KEY}`
    const corp = { driver: 'openai', baseURL: 'http://127.0.0.1:9/v1' }
    const model = { provider: 'corp', model: 'x', apiKey: key }
    const preset = { provider: 'openai', model: 'x', apiKey: `\${LISTED_KEY}`, headers: { 'x-key': key } }
    const known = { model, models: { named: model, preset }, providers: { corp }, service: { variables: ['LISTED_KEY'] } }
    const { file } = await configFile(JSON.stringify(known))
    const { ask, post } = await startService({ configFile: file, env: { CORP_KEY: 'corp-key-1234', LISTED_KEY: 'listed-key-1234' } })
    const evil = { ...corp, baseURL: provider.baseURL }
    for (const [wanted, providers] of [
      [model, { corp: evil }],
      ['named', { corp: evil }],
      [preset, { openai: { baseURL: provider.baseURL, apiKeyEnv: 'LISTED_KEY' } }],
      ['preset', { openai: { baseURL: provider.baseURL, apiKeyEnv: 'LISTED_KEY' } }],
      [preset, { openai: { baseURL: provider.baseURL, apiKeyEnv: [] } }],
    ] as const) {
      const tested = await (await post('/admin/api/providers/test', { model: wanted, providers })).text()
      expect(tested).toMatch(/must not use the variable CORP_KEY|"invalid_request"/)
      const saved = await ask('/admin/api/config', put({ ...known, model: wanted, providers: { ...known.providers, ...providers } }))
      expect([wanted, saved.status]).toEqual([wanted, 422])
    }
    // Without its section a provider is another one.
    const { providers: _, ...others } = known
    expect((await ask('/admin/api/config', put(others))).status).toBe(422)
    // The name of a provider that is read from a variable could be any.
    const indirect = { provider: `\${LISTED_KEY:-openai}`, model: 'm', baseURL: provider.baseURL }
    expect(await (await post('/admin/api/providers/test', { model: indirect })).text()).toContain('must name a provider without variables')
    expect(provider.requests).toEqual([])
    expect((await ask('/admin/api/config', put({ ...known, model: 'named', instructions: 'be kind' }))).status).toBe(200)
  })

  it('sends what an SDK finds in the environment to no other address, unless the file lists it', async () => {
    for (const name of ['OPENAI_CUSTOM_HEADERS', 'ANTHROPIC_CUSTOM_HEADERS']) vi.stubEnv(name, 'x-internal: internal-1234')
    vi.stubEnv('OPENAI_ORG_ID', 'org-1234')
    onTestFinished(() => void vi.unstubAllEnvs())
    await using provider = await startStrictProvider({ script: ['ready', 'ready'] })
    const { baseURL } = provider
    const apiKey = `\${LISTED_KEY}`
    const { file } = await configFile('service: { variables: [LISTED_KEY] }\n')
    const { ask, post } = await startService({ configFile: file, env: { LISTED_KEY: 'listed-key-1234' } })
    for (const [variable, model, providers] of [
      ['OPENAI_CUSTOM_HEADERS', 'openai/m', { openai: { baseURL, apiKeyEnv: [], apiKeyOptional: true } }],
      ['OPENAI_CUSTOM_HEADERS', 'openai-responses/m', { 'openai-responses': { baseURL, apiKeyEnv: [], apiKeyOptional: true } }],
      ['OPENAI_CUSTOM_HEADERS', { provider: 'openai', model: 'm', baseURL, apiKey }, {}],
      ['ANTHROPIC_CUSTOM_HEADERS', 'anthropic/m', { anthropic: { baseURL, apiKeyEnv: [], apiKeyOptional: true } }],
      ['ANTHROPIC_CUSTOM_HEADERS', { provider: 'anthropic', model: 'm', baseURL, apiKey }, {}],
    ] as const) {
      expect(await (await post('/admin/api/providers/test', { model, providers })).text()).toContain(
        `must not use the variable ${variable}`,
      )
      const saved = await ask('/admin/api/config', put({ model, providers, service: { variables: ['LISTED_KEY'] } }))
      expect([model, saved.status]).toEqual([model, 422])
    }
    expect(provider.requests).toEqual([])
    // Where the SDK doesn't look there is nothing to send.
    for (const order of [
      { model: { provider: 'custom', model: 'm', baseURL, apiKey } },
      { model: 'openai/m', providers: { openai: { baseURL, apiKeyEnv: [], apiKeyOptional: true, sdkEnvironment: false } } },
    ])
      expect(await json(post('/admin/api/providers/test', order))).toMatchObject({ ok: true })
    expect(JSON.stringify(provider.requests.map(({ headers }) => headers))).not.toMatch(/internal-1234|org-1234/)
  })

  const search = { url: 'http://127.0.0.1:9/mcp', optional: true, tools: ['find', 'drop'], approval: ['drop'] }
  const base = {
    tools: { builtin: ['calculate', 'read_file'], approval: ['calculate'] },
    mcp: { allowed: { search__find: `sha256:${'0'.repeat(64)}` }, servers: { search } },
    service: {
      hosts: ['a.example', 'b.example'],
      origins: ['https://a.example'],
      variables: ['LISTED_API_KEY'],
      auth: { tokens: ['a', 'b'].map((name) => ({ name, roles: ['run'], env: `${name.toUpperCase()}_TOKEN` })) },
    },
  }
  const withSearch = (changed: object) => ({ mcp: { ...base.mcp, servers: { search: { ...search, ...changed } } } })
  const inService = (changed: object) => ({ service: { ...base.service, ...changed } })
  const inTools = (changed: object) => ({ tools: { ...base.tools, ...changed } })
  const tokenOf = (name: string, roles: string[]) => ({ name, roles, hash: `sha256:${'0'.repeat(64)}` })

  it.each([
    // What is opened.
    ['/tools/builtin', inTools({ builtin: true })],
    ['/tools/builtin', inTools({ builtin: ['calculate', 'read_file', 'list_files'] })],
    ['/tools/workspace', inTools({ workspace: '/' })],
    ['/skills', { skills: { paths: ['/'] } }],
    ['/service/keepRuns/folder', inService({ keepRuns: { folder: '/tmp/x' } })],
    ['/service/journal', inService({ journal: { kind: 'dbos', url: 'postgres://evil.example/runs' } })],
    ['/mcp/servers/a', { mcp: { ...base.mcp, servers: { search, a: { command: 'sh' } } } }],
    ['/mcp/servers/a', { mcp: { ...base.mcp, servers: { search, a: { url: 'http://127.0.0.1:9/mcp', optional: true } } } }],
    ['/mcp/servers/search', withSearch({ url: 'http://127.0.0.1:9/other' })],
    ['/mcp/servers/search', withSearch({ headers: { 'x-to': 'elsewhere' } })],
    ['/mcp/servers/search', withSearch({ tools: ['find', 'drop', 'pay'] })],
    ['/mcp/servers/search', withSearch({ tools: undefined })],
    ['/mcp/servers/search', withSearch({ command: 'sh', url: undefined })],
    // Who is asked.
    ['/mcp/servers/search', withSearch({ approval: false })],
    ['/mcp/servers/search', withSearch({ approval: [] })],
    ['/mcp/servers/search', withSearch({ approval: undefined })],
    ['/mcp/servers/search', withSearch({ trustAnnotations: true })],
    ['/mcp/servers/search', withSearch({ effects: { drop: 'read' } })],
    ['/mcp/servers/search', withSearch({ prefix: '' })],
    ['/mcp/unknownTools', { mcp: { ...base.mcp, unknownTools: 'ask' } }],
    ['/mcp/unknownTools', { mcp: { allowed: base.mcp.allowed, unknownTools: 'ask' } }],
    ['/mcp/allowed', { mcp: { servers: base.mcp.servers } }],
    ['/mcp/allowed', { mcp: { ...base.mcp, allowed: {} } }],
    ['/tools/approval', inTools({ approval: [] })],
    // Who is let in, and what is logged of it.
    ['/service/auth/tokens', inService({ auth: { tokens: [...base.service.auth.tokens, tokenOf('c', ['admin'])] } })],
    ['/service/auth/tokens', inService({ auth: { tokens: [tokenOf('a', ['run'])] } })],
    ['/service/host', inService({ host: '0.0.0.0' })],
    ['/service/hosts', inService({ hosts: ['*'] })],
    ['/service/origins', inService({ origins: ['https://evil.example'] })],
    ['/service/trustedProxies', inService({ trustedProxies: ['127.0.0.1'] })],
    ['/logging/level', { logging: { level: 'silent' } }],
    ['/telemetry', { telemetry: { endpoint: 'http://evil.example', content: true } }],
    // What may be sent, and what is held against a model's words.
    ['/service/variables', inService({ variables: ['LISTED_API_KEY', 'DATABASE_URL'] })],
    ['/providers/*/sdkEnvironment', { providers: { google: { sdkEnvironment: true } } }],
    ['/providers/*/quirks/toolCallId', { providers: { openai: { quirks } } }],
    ['/providers/*/models/*/quirks/toolCallId', { providers: { openai: { models: [{ match: '.', quirks }] } } }],
    ['/model/quirks/toolCallId', { model: { provider: 'openai', model: 'm', quirks } }],
    ['/models/*/quirks/toolCallId', { models: { a: { provider: 'openai', model: 'm', quirks } } }],
  ])('options that open, admit or skip a question are changed only in the file: %s', async (path, config) => {
    const { file } = await configFile(JSON.stringify(base))
    const { ask } = await startService({ configFile: file, env })
    const refused = await ask('/admin/api/config', put({ ...base, ...config }))
    const { error } = await json(refused)
    expect([refused.status, error.problems]).toEqual([422, [{ path, message: expect.stringContaining('can only be changed in the file') }]])
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(base)
  })

  it.each([
    ['a server', { mcp: { ...base.mcp, servers: {} } }],
    ['all servers', { mcp: undefined }],
    ['a tool of a server', withSearch({ tools: ['find'] })],
    ['a file tool', inTools({ builtin: ['calculate'] })],
    ['a token', inService({ auth: { tokens: base.service.auth.tokens.slice(1) } })],
    ['a host, an origin and a variable', inService({ hosts: ['a.example'], origins: [], variables: [] })],
    ['what is not asked about', { ...withSearch({ approval: true }), ...inTools({ approval: ['calculate', 'read_file'] }) }],
  ])('what is open can be closed over the API, and not be opened again: %s', async (_, config) => {
    const { file } = await configFile(JSON.stringify(base))
    const { ask } = await startService({ configFile: file, env })
    const less = { ...base, ...config }
    expect((await ask('/admin/api/config', put(less))).status).toBe(200)
    expect(await json(ask('/admin/api/config'))).toMatchObject({
      config: JSON.parse(JSON.stringify(less)),
      fileOnly: expect.arrayContaining(['/mcp']),
    })
    expect((await ask('/admin/api/config', put(base))).status).toBe(422)
    expect((await ask('/admin/api/config', put({ ...less, model: 'demo', limits: { tokens: 9 } }))).status).toBe(200)
  })

  it('logs every change and test: who, what, from where', async () => {
    const { file } = await configFile('model: demo\n')
    const { ask, post, log } = await startService({ configFile: file, env })
    await ask('/admin/api/config', put({ model: 'demo', limits: { tokens: 5 }, instructions: 'x' }))
    await ask('/admin/api/config', put({ tools: { builtin: true } }))
    await post('/admin/api/providers/test', { model: { provider: 'demo', model: 'demo' } })
    const lines = log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ caller }) => caller === 'operator')
    const by = { caller: 'operator', address: '127.0.0.1', requestId: expect.any(String) }
    expect(lines).toMatchObject([
      { ...by, changed: expect.arrayContaining(['/limits/tokens', '/instructions']), msg: 'the configuration was changed over the API' },
      { ...by, refused: ['/tools/builtin'], msg: 'a change of the configuration over the API was refused' },
      { ...by, provider: 'demo', model: 'demo', ok: true, msg: 'a provider was tested over the API' },
    ])
  })
})

describe('tokens', () => {
  it('are refused if they are short, wherever they come from', async () => {
    expect(() => createService({ token: 'x', env: {} })).toThrow('Expected `token` to be at least 16 characters')
    const { file } = await configFile('service: { auth: { tokens: [{ name: a, roles: [run], env: A_TOKEN }] } }\n')
    const service = createService({ configFile: file, env: { A_TOKEN: 'short-word' } })
    await expect(service.ready).rejects.toThrow('/service/auth/tokens/0/env must name a variable with at least 16 characters')
    await expect(service.ready).rejects.not.toThrow('short-word')
  })

  it.each(['x'.repeat(16), 'abababababababab', 'passwordpassword', '0123456789abcdef', '1234567890123456789', 'aaaaaaaaaaaaaaaaaaaaaaab'])(
    'that follow a pattern are refused, however long they are: %s',
    async (pattern) => {
      expect(() => createService({ token: pattern, env: {} })).toThrow('Expected `token` to be at least 16 characters without a pattern')
      const { file } = await configFile('service: { auth: { tokens: [{ name: a, roles: [run], env: A_TOKEN }] } }\n')
      const service = createService({ configFile: file, env: { A_TOKEN: pattern } })
      await expect(service.ready).rejects.toThrow(
        '/service/auth/tokens/0/env must name a variable with at least 16 characters without a pattern',
      )
      await expect(service.ready).rejects.not.toThrow(pattern)
    },
  )

  it('are accepted if they are random, whatever their alphabet', async () => {
    const { file } = await configFile('')
    const digits = () => Array.from(randomBytes(16), (byte) => byte % 10).join('')
    const random = () => [randomBytes(8).toString('hex'), randomBytes(12).toString('base64url'), randomUUID(), digits()]
    for (const token of Array.from({ length: 50 }, random).flat()) {
      const service = createService({ configFile: file, token, env: {} })
      await service.drain(0)
    }
  })

  it('can’t be guessed: after 30 different wrong ones an address has to wait, but not with a right one', async () => {
    const { file } = await configFile('service: { trustedProxies: [127.0.0.0/8, 198.51.100.7] }\n')
    const { url } = await startService({ configFile: file })
    const ask = (one: string, address: string) =>
      fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${one}`, 'x-forwarded-for': `192.0.2.9, ${address}, 198.51.100.7` } })
    // An old one that is sent again and again is one.
    for (let i = 0; i < 60; i++) expect((await ask('an-old-token', '192.0.2.1')).status).toBe(401)
    for (let i = 0; i < 30; i++) expect((await ask(`guess-${i}`, '192.0.2.2')).status).toBe(401)
    const refused = await ask('guess-30', '192.0.2.2')
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, expect.toSatisfy((s: number) => s > 0 && s <= 60)])
    expect((await ask(token, '192.0.2.2')).status).toBe(200)
    expect((await ask('another', '192.0.2.1')).status).toBe(401)
  })

  it('can’t be guessed from forged addresses', async () => {
    const { url } = await startService({})
    const ask = (one: string, address: string) =>
      fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${one}`, 'x-forwarded-for': address } })
    for (let i = 0; i < 30; i++) expect((await ask(`guess-${i}`, `192.0.2.${i}`)).status).toBe(401)
    expect((await ask('guess-30', '192.0.2.30')).status).toBe(429)
  })

  it('invalid proxies are refused, with their path in the file', async () => {
    const { file } = await configFile('service: { trustedProxies: [10.0.0.1, 10.0.0.0/99] }\n')
    const service = createService({ configFile: file, env: {} })
    await expect(service.ready).rejects.toThrow('/service/trustedProxies/1 must be an IP address, or a range such as `10.0.0.0/8`')
  })

  it('of one IPv6 network are counted together, however its addresses are written', () => {
    const guesses = new Guesses()
    for (let i = 0; i < 30; i++) guesses.miss(`2001:db8::${i}`, Buffer.from(`${i}`))
    for (const address of ['2001:db8::ffff', '2001:0db8:0:0:1::2']) expect(() => guesses.admit(address)).toThrow('Too many wrong tokens')
    for (const address of ['2001:db8:0:1::1', '2001:db8:1::1', 'no address']) guesses.admit(address)
  })

  it('of an address that has waited are checked again, and very many addresses are forgotten', () => {
    let now = 0
    const guesses = new Guesses(() => now)
    for (let i = 0; i < 40; i++) guesses.miss('2001:db8:1:2::1', Buffer.from(`${i}`))
    expect(() => guesses.admit('2001:db8:1:2:ffff::2')).toThrow('Too many wrong tokens')
    now = 60_000
    guesses.admit('2001:db8:1:2::1')
    for (let i = 0; i < 20_000; i++) guesses.miss(`192.0.2.${i}`, Buffer.from('x'))
    guesses.admit('192.0.2.1')
  })
})
