import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { tagsOf } from '../../src/agent/journal/store.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { Caller } from '../../src/service/http/auth.ts'
import { hashToken } from '../../src/service/index.ts'
import { ByTenant } from '../../src/service/tenants/by-tenant.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { modernPeer } from './mcp-peer.ts'
import { type Answer, configFile, framesOf, json, type StartedService, startService } from './start-service.ts'

const tokens = {
  'acme-boss': 'k3vQ9-of-the-acme-boss',
  'acme-clerk': 'p7Wd2-of-the-acme-clerk',
  'zeta-boss': 'x1Lz8-of-the-zeta-boss',
  'zeta-clerk': 'b5Rn4-of-the-zeta-clerk',
  app: 'q9Tf6-of-the-whole-app',
}
type Name = keyof typeof tokens

const entry = (name: Name, roles: string, tenant = '') =>
  `{ name: ${name}, roles: [${roles}], hash: '${hashToken(tokens[name])}'${tenant} }`
const auth = `auth:
    tokens:
      - ${entry('acme-boss', 'run, admin', ', tenant: { org: acme }')}
      - ${entry('acme-clerk', 'run', ', tenant: { org: acme }')}
      - ${entry('zeta-boss', 'run, admin', ', tenant: { org: zeta }')}
      - ${entry('zeta-clerk', 'run', ', tenant: { org: zeta }')}
      - ${entry('app', 'run')}
`
const yaml = (keepRuns: string) => `mcp: {}\nservice:\n  mcp: true\n  keepRuns: { recordingMegabytes: 10${keepRuns} }\n  ${auth}`

/** Requests with a token of its own. */
function as({ url }: Pick<StartedService, 'url'>, name: Name) {
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${tokens[name]}`, ...init.headers } })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })
  return { ask, post }
}

/** Pays if somebody approves it, hangs, or asks an agent that pays; what it is told is in its answer. */
function paying() {
  const paid: { euros: number; org: unknown }[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    approval: true,
    parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
    execute: ({ euros }, { metadata }) => {
      paid.push({ euros, org: metadata?.org })
      return `paid ${euros}`
    },
  })
  const tenant = defineTool({
    name: 'tenant',
    description: 'Whose run it is.',
    effect: 'read',
    execute: (_args, { metadata = {}, context }) => ({ ...metadata, context }),
  })
  const payCall = { toolCalls: [{ name: 'pay', args: { euros: 5 } }] }
  const inner = scriptedModel(({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'paid' : payCall))
  const cashier = asTool(new AgentRunner({ model: inner, tools: [pay] }), { name: 'cashier', description: 'Pays for you.' })
  const model = scriptedModel(({ messages }) => {
    const said = messages.findLast(({ role }) => role === 'user')?.content
    const results = messages.slice(messages.findLastIndex(({ role }) => role === 'user')).filter(({ role }) => role === 'tool')
    if (results.length > 0) return `done: ${said}`
    if (String(said).startsWith('pay')) return payCall
    if (String(said).startsWith('nest')) return { toolCalls: [{ name: 'cashier', args: { task: 'pay' } }] }
    if (String(said).startsWith('hang')) return { text: String(said), hang: true }
    return `You said ${said}`
  })
  return { paid, options: { model, modelIsFixed: true, tools: [pay, cashier, tenant] } }
}

const decisionsOn = ({ pending }: Answer) => ({
  decisions: pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: true })),
})
const message = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] })

/** What one tenant has in the service: ids that the other may know, and words that it may not see. */
async function fill(service: StartedService) {
  const clerk = as(service, 'acme-clerk')
  const run = (input: string, more = {}) => json(clerk.post('/v1/runs', { input, ...more }, { 'idempotency-key': input }))
  const answered = await run('ACMEWORD one')
  const paused = await run('pay ACMEWORD two')
  const nested = await run('nest ACMEWORD three')
  const running = await run('hang ACMEWORD four', { background: true })
  const chat = await clerk.post('/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content: 'ACMEWORD five' }] })
  await chat.text()
  const response = (await (await clerk.post('/v1/responses', { model: 'toolloop', input: 'ACMEWORD six' })).json()) as {
    id: string
    output: { id: string }[]
  }
  const thread = 'acme-chat'
  const ui = await clerk.post('/ui/chat', { id: thread, messages: [{ id: 'm1', ...message('pay ACMEWORD seven') }] })
  await ui.text()
  const agUi = { threadId: thread, runId: 'r1', messages: [{ id: '1', role: 'user', content: 'pay ACMEWORD eight' }] }
  const agui = await clerk.post('/agui', agUi)
  await agui.text()
  const task = await modernPeer(clerk.post)('tools/call', { name: 'ask_toolloop', arguments: { task: 'pay ACMEWORD nine' } })
  const ids = [
    answered.id,
    paused.id,
    nested.id,
    running.id,
    String(task.taskId),
    ...[chat, ui, agui].map((one) => String(one.headers.get('x-run-id'))),
  ]
  return { answered, paused, nested, running, response, thread, agUi, task: String(task.taskId), ids }
}

/** A response as far as it can be compared: what is different each time, and the id that was asked for, left out. */
async function seen(response: Response, id?: string) {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const text = isStream && response.status === 200 ? await untilEnd(response) : await response.text()
  return { status: response.status, text: id === undefined ? text : text.replaceAll(id, 'ID') }
}

async function untilEnd(response: Response): Promise<string> {
  let text = ''
  for await (const { event, data } of framesOf(response)) text += `${event} ${data}\n`
  return text
}

describe('P3.7 the tenant of a token', () => {
  const start = async () => {
    const { folder, file } = await configFile(yaml(', folder: runs'))
    const { paid, options } = paying()
    const given = { ...options, configFile: file, cwd: folder }
    return { paid, folder, given, service: await startService(given) }
  }

  it('keeps every route from showing or changing anything of another tenant', async () => {
    const { service, paid } = await start()
    // Before anything happens: what comes later is in its feed.
    const feed = await as(service, 'zeta-boss').ask('/admin/api/feed')
    const acme = await fill(service)
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as { paths: Record<string, Record<string, unknown>> }
    const secret = [...acme.ids, acme.response.id, ...acme.response.output.map(({ id }) => id), 'ACMEWORD', 'acme']
    const bodies: Record<string, (id: string) => unknown> = {
      '/v1/runs/{id}/messages': () => ({ input: 'x' }),
      '/v1/runs/{id}/decisions': () => decisionsOn(acme.paused),
      '/admin/api/tools/{name}/calls': () => ({ arguments: {} }),
    }
    const own: Record<string, unknown> = {
      '/v1/runs': { input: 'mine' },
      '/v1/chat/completions': { model: 'toolloop', messages: [{ role: 'user', content: 'mine' }] },
      '/v1/responses': { model: 'toolloop', input: 'mine' },
      '/ui/chat': { id: acme.thread, messages: [{ id: 'm1', ...message('mine') }] },
      '/agui': { ...acme.agUi, messages: [{ id: '1', role: 'user', content: 'mine' }] },
      '/admin/api/providers/test': { model: 'demo' },
      '/admin/api/sign-in': { code: 'x' },
      '/mcp': {},
    }
    const visited = new Set<string>()
    for (const name of ['zeta-boss', 'zeta-clerk'] as const) {
      const { ask, post } = as(service, name)
      const send = async (method: string, path: string, body: unknown) => {
        // With a key that the other tenant has used.
        if (method === 'POST') return post(path, body ?? {}, { 'idempotency-key': 'ACMEWORD one' })
        return ask(path, {
          method,
          ...(method === 'PUT' ? { body: '{"config":{}}', headers: { 'content-type': 'application/json', 'if-match': '*' } } : {}),
        })
      }
      for (const [path, operations] of Object.entries(document.paths)) {
        for (const method of Object.keys(operations).map((one) => one.toUpperCase())) {
          visited.add(`${method} ${path}`)
          if (path === '/admin/api/feed') continue
          const parameter = /\{(\w+)\}/.exec(path)?.[1]
          if (parameter === undefined) {
            const response = await send(method, path, own[path])
            const { text } = await seen(response)
            for (const word of secret.filter((one) => one !== 'acme'))
              expect([name, method, path, text.includes(word)]).toEqual([name, method, path, false])
            continue
          }
          const known = parameter === 'thread' ? [acme.thread] : parameter === 'name' ? ['pay'] : [...acme.ids, acme.response.id]
          const unknown = parameter === 'thread' ? 'no-chat' : parameter === 'name' ? 'no_tool' : 'run_none-such'
          const expected = await seen(await send(method, path.replace(`{${parameter}}`, unknown), bodies[path]?.(unknown)), unknown)
          for (const id of known) {
            const got = await seen(await send(method, path.replace(`{${parameter}}`, id), bodies[path]?.(id)), id)
            expect([name, method, path, id, got]).toEqual([name, method, path, id, expected])
          }
        }
      }
    }
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((one) => `${one.toUpperCase()} ${path}`),
    )
    expect([...visited].sort()).toEqual(documented.sort())

    const zeta = as(service, 'zeta-boss')
    // By what can be asked for beside a path.
    for (const query of [
      `id=${acme.ids.join(',')}`,
      'q=acmeword',
      'owner=acme-clerk',
      'owner=acme-boss',
      'metadata.org=acme',
      'status=waiting',
      'status=running',
    ])
      expect([query, (await json(zeta.ask(`/v1/runs?${query}`))).data]).toEqual([query, []])
    const again = { model: 'toolloop', input: 'x', previous_response_id: acme.response.id }
    expect((await zeta.post('/v1/responses', again)).status).toBe(404)
    const item = { model: 'toolloop', input: [{ type: 'item_reference', id: acme.response.output[0]?.id }] }
    expect((await zeta.post('/v1/responses', item)).status).toBe(404)
    const peer = modernPeer(zeta.post)
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      expect(await peer(method, { taskId: acme.task, inputResponses: {} })).toEqual(
        JSON.parse(
          JSON.stringify(await peer(method, { taskId: 'run_none-such', inputResponses: {} })).replaceAll('run_none-such', acme.task),
        ),
      )
    // No count.
    expect(await json(zeta.ask('/admin/api/state'))).toMatchObject({ waiting: 0, pending: [], providers: [], config: { file: null } })
    const { runs, running, waiting } = (await (await zeta.ask('/admin/api/overview')).json()) as Record<string, number>
    const mine = (await json(zeta.ask('/v1/runs'))).data.length
    expect([mine > 3, runs, running, waiting]).toEqual([true, mine, 0, 0])
    // No event: the ids of its own follow each other, but for pieces of a text that come as one.
    const { id: lastRun } = await json(zeta.post('/v1/runs', { input: 'last' }))
    let last = 0
    for await (const { id, event, data } of framesOf(feed)) {
      last = event?.endsWith('_DELTA') ? Math.max(last + 1, Number(id)) : last + 1
      expect([Number(id), secret.filter((word) => data.includes(word))]).toEqual([last, []])
      if (event === 'RUN_END' && data.includes(lastRun)) break
    }
    // Nothing has happened to what it has tried to change.
    const boss = as(service, 'acme-boss')
    for (const [id, status] of [
      [acme.answered.id, 'ended'],
      [acme.paused.id, 'waiting'],
      [acme.nested.id, 'waiting'],
      [acme.running.id, 'running'],
      [acme.task, 'waiting'],
    ] as const)
      expect((await json(boss.ask(`/v1/runs/${id}`))).status).toBe(status)
    expect(paid).toEqual([])
  })

  it('lets an admin of the tenant see and decide on all its runs, including those of agents inside calls, and nobody else', async () => {
    const { service, paid } = await start()
    const [boss, clerk, zeta, app] = (['acme-boss', 'acme-clerk', 'zeta-boss', 'app'] as const).map((name) => as(service, name)) as [
      ReturnType<typeof as>,
      ReturnType<typeof as>,
      ReturnType<typeof as>,
      ReturnType<typeof as>,
    ]
    const paused = await json(clerk.post('/v1/runs', { input: 'pay' }))
    const nested = await json(clerk.post('/v1/runs', { input: 'nest', metadata: { org: 'acme', ticket: 'T-1' } }))
    const ofApp = await json(app.post('/v1/runs', { input: 'pay for acme', metadata: { org: 'acme' } }))
    const ofNobody = await json(app.post('/v1/runs', { input: 'pay for nobody' }))
    const ofBoss = await json(boss.post('/v1/runs', { input: 'hello' }))
    const idsOf = async ({ ask }: typeof boss, query = '') => (await json(ask(`/v1/runs${query}`))).data.map(({ id }) => id)
    expect(await idsOf(boss)).toEqual([ofBoss.id, ofApp.id, nested.id, paused.id])
    // With the role `run`, a token sees its own runs, as without a tenant.
    expect(await idsOf(clerk)).toEqual([nested.id, paused.id])
    expect((await clerk.ask(`/v1/runs/${ofBoss.id}`)).status).toBe(404)
    expect(await idsOf(zeta)).toEqual([])
    expect(await idsOf(app)).toEqual([ofNobody.id, ofApp.id])
    expect(await idsOf(boss, '?metadata.ticket=T-1')).toEqual([nested.id])
    expect(await idsOf(boss, `?owner=app&status=waiting`)).toEqual([ofApp.id])
    expect(await json(boss.ask('/admin/api/state'))).toMatchObject({
      waiting: 3,
      pending: [{ runId: ofApp.id }, { runId: nested.id }, { runId: paused.id }],
    })
    for (const run of [paused, nested, ofApp]) {
      expect((await zeta.post(`/v1/runs/${run.id}/decisions`, decisionsOn(run))).status).toBe(404)
      expect(await json(boss.post(`/v1/runs/${run.id}/decisions`, decisionsOn(run)))).toMatchObject({
        status: 'ended',
        decisions: [{ by: 'acme-boss' }],
      })
    }
    expect((await boss.post(`/v1/runs/${ofNobody.id}/decisions`, decisionsOn(ofNobody))).status).toBe(404)
    expect(paid).toEqual([1, 2, 3].map(() => ({ euros: 5, org: 'acme' })))
    expect((await boss.ask(`/v1/runs/${paused.id}/recording`)).status).toBe(200)
    const overview = (await (await boss.ask('/admin/api/overview')).json()) as Record<string, number>
    expect([overview.runs, overview.waiting]).toEqual([4, 0])
  })

  it('is in the metadata of every run, and no request can change it', async () => {
    const { service } = await start()
    const { ask, post } = as(service, 'acme-clerk')
    const chat = { model: 'toolloop', messages: [{ role: 'user', content: 'x' }] }
    const requests = [
      ['/v1/runs', { input: 'x' }],
      ['/v1/chat/completions', chat],
      ['/v1/responses', { model: 'toolloop', input: 'x' }],
    ] as const
    for (const [path, body] of requests) {
      for (const org of ['zeta', 'Acme', '']) {
        const refused = await post(path, { ...body, metadata: { ticket: 'T-1', org } })
        const message = 'Expected `metadata.org` to be `acme` or absent: this token belongs to that tenant'
        expect([path, refused.status, (await json(refused)).error]).toEqual([
          path,
          403,
          { message, type: 'permission_error', code: 'forbidden', param: 'metadata.org' },
        ])
      }
      expect((await post(path, { ...body, metadata: { ticket: 'T-1', org: 'acme' } })).status).toBe(200)
      expect((await post(path, body)).status).toBe(200)
    }
    await (await post('/ui/chat', { id: 'c', messages: [{ id: 'm', ...message('x') }] })).text()
    await (await post('/agui', { threadId: 't', runId: 'r', messages: [{ id: '1', role: 'user', content: 'x' }] })).text()
    await modernPeer(post, {})('tools/call', { name: 'ask_toolloop', arguments: { task: 'x' } })
    const { data } = await json(as(service, 'acme-boss').ask('/v1/runs'))
    expect(data).toHaveLength(9)
    for (const { id } of data) {
      for await (const { event, data: told } of framesOf(await ask(`/v1/runs/${id}/events`)))
        if (event !== 'RESULT') expect(JSON.parse(told).meta.metadata).toMatchObject({ org: 'acme' })
    }
    // A tool that an MCP client calls is in no run, and gets the same metadata.
    const called = await modernPeer(post, {})('tools/call', { name: 'tenant', arguments: {} })
    expect(called).toMatchObject({ content: [{ text: expect.stringContaining('"org":"acme"') }] })
  })
})

it('P3.7 the tenant of a token applies to runs from before a restart, ended or waiting', async () => {
  const { folder: cwd, file } = await configFile(yaml(', folder: runs'))
  const given = () => ({ ...paying().options, configFile: file, cwd })
  const first = await startService(given())
  const acme = await fill(first)
  await first.listening.close(0)
  const second = await startService(given())
  const [boss, zeta] = [as(second, 'acme-boss'), as(second, 'zeta-boss')]
  for (const { id } of [acme.answered, acme.paused, acme.nested, acme.running]) {
    expect((await boss.ask(`/v1/runs/${id}`)).status).toBe(200)
    for (const path of [`/v1/runs/${id}`, `/v1/runs/${id}/events`, `/v1/runs/${id}/recording`])
      expect((await zeta.ask(path)).status).toBe(404)
    expect((await zeta.post(`/v1/runs/${id}/cancel`, {})).status).toBe(404)
  }
  expect((await json(zeta.ask('/v1/runs'))).data).toEqual([])
  const stored = [acme.answered, acme.paused, acme.nested, acme.running].map(({ id }) => id)
  const listed = (await json(boss.ask('/v1/runs'))).data.map(({ id }) => id)
  expect(stored.every((id) => listed.includes(id))).toBe(true)
  expect((await zeta.ask(`/v1/responses/${acme.response.id}`)).status).toBe(404)
  expect((await as(second, 'acme-clerk').ask(`/v1/responses/${acme.response.id}`)).status).toBe(200)
  expect((await zeta.post(`/v1/runs/${acme.paused.id}/decisions`, decisionsOn(acme.paused))).status).toBe(404)
  expect(await json(boss.post(`/v1/runs/${acme.paused.id}/decisions`, decisionsOn(acme.paused)))).toMatchObject({ status: 'ended' })
  const overview = async ({ ask }: typeof boss) => ((await (await ask('/admin/api/overview')).json()) as { runs: number }).runs
  // Two runs that have ended, and two chats.
  expect([await overview(boss), await overview(zeta)]).toEqual([4, 0])
})

it('P3.7 the example of the docs accepts its tokens, each for its tenant', async () => {
  const { file } = await configFile(await readFile('tests/examples/service-tenants.yaml', 'utf8'))
  const env = { ACME_APP_TOKEN: tokens['acme-clerk'], ACME_BOSS_TOKEN: tokens['acme-boss'], ZETA_BOSS_TOKEN: tokens['zeta-boss'] }
  const service = await startService({ ...paying().options, configFile: file, env })
  const { id } = await json(as(service, 'acme-clerk').post('/v1/runs', { input: 'x' }))
  const statuses = (['acme-clerk', 'acme-boss', 'zeta-boss'] as const).map(
    async (name) => (await as(service, name).ask(`/v1/runs/${id}`)).status,
  )
  expect(await Promise.all(statuses)).toEqual([200, 200, 404])
})

it('P3.7 requests about the whole service are refused to a token with a tenant, with the reason', async () => {
  const { file } = await configFile(yaml(''))
  const service = await startService({ ...paying().options, configFile: file })
  const { ask, post } = as(service, 'acme-boss')
  const before = await readFile(file, 'utf8')
  const put = { method: 'PUT', body: '{"text":"model: demo"}', headers: { 'content-type': 'application/json', 'if-match': '*' } }
  const refused = [
    ask('/metrics'),
    ask('/admin/api/config'),
    ask('/admin/api/config', put),
    ask('/admin/api/config/schema'),
    ask('/admin/api/skills'),
    ask('/admin/api/tools'),
    post('/admin/api/tools/tenant/calls', { arguments: {} }),
    post('/admin/api/providers/test', { model: 'demo' }),
  ]
  for (const response of await Promise.all(refused))
    expect([response.status, (await json(response)).error.message]).toEqual([
      403,
      'This concerns the whole service: it needs a token without a `tenant`',
    ])
  expect(await readFile(file, 'utf8')).toBe(before)
  const { paths } = (await (await ask('/openapi.json')).json()) as { paths: Record<string, Record<string, { description?: string }>> }
  expect(paths['/admin/api/config']?.put?.description).toBe('Needs a token with the role `admin` and no tenant.')
  expect(paths['/v1/runs/{id}/recording']?.get?.description).toBe('Needs a token with the role `admin`.')
})

it.each([
  ['tenant: {}', '/service/auth/tokens/0/tenant'],
  ['tenant: acme', '/service/auth/tokens/0/tenant'],
  ['tenant: { org: 7 }', '/service/auth/tokens/0/tenant/org'],
  ["tenant: { org: '' }", '/service/auth/tokens/0/tenant/org'],
  ['tenant: { org: acme }, roles: [metrics]', '/service/auth/tokens/0/tenant'],
])('P3.7 a token with `%s` is refused', async (fields, path) => {
  const roles = fields.includes('roles') ? '' : ', roles: [run]'
  const { file } = await configFile(`service: { auth: { tokens: [{ name: a, hash: '${hashToken('x')}', ${fields}${roles} }] } }`)
  await expect(startService({ configFile: file })).rejects.toMatchObject({
    problems: expect.arrayContaining([expect.objectContaining({ path })]),
  })
})

it('P3.7 of the tenants whose feeds nobody reads, the least recently requested are dropped', () => {
  const parts = new ByTenant<{ org: string | undefined }>(
    (tenant) => ({ org: tenant?.org }),
    ({ org }) => org === 'read',
  )
  const read = parts.of({ org: 'read' })
  const idle = parts.of({ org: 'idle' })
  for (let n = 0; n < 98; n++) parts.of({ org: `org${n}` })
  expect([parts.of({ org: 'read' }) === read, parts.of({ org: 'idle' }) === idle]).toEqual([true, true])
  for (let n = 0; n < 100; n++) parts.of({ org: `other${n}` })
  expect([parts.of({ org: 'read' }) === read, parts.of({ org: 'idle' }) === idle]).toEqual([true, false])
  const tags = tagsOf({ org: 'read', more: 1 })
  expect([parts.with({ tags }), parts.with({ tags: [] }), parts.with({})]).toEqual([[parts.whole, read], [parts.whole], [parts.whole]])
})

describe('P3.7 a program that knows its users', () => {
  const scoped = (more: object = {}) => ({
    ...paying().options,
    authenticate: (request: Request): Caller => {
      const tenant = request.headers.get('x-org')
      return { name: 'gateway', roles: ['run', 'admin'], ...(tenant === null ? {} : { tenant: JSON.parse(tenant) }) }
    },
    ...more,
  })
  const from = ({ url }: StartedService, tenant: unknown) => {
    const headers = { 'x-org': JSON.stringify(tenant), 'content-type': 'application/json' }
    const ask = (path: string, init: RequestInit = {}) => fetch(url + path, { ...init, headers: { ...headers, ...init.headers } })
    const post = (path: string, body: unknown, more: Record<string, string> = {}) =>
      ask(path, { method: 'POST', body: JSON.stringify(body), headers: more })
    return { ask, post }
  }

  it('separates callers of one name: threads, responses, keys and tasks are not shared', async () => {
    const service = await startService(scoped({ mcp: true }))
    const [acme, zeta] = [from(service, { org: 'acme', region: 'eu' }), from(service, { org: 'zeta', region: 'eu' })]
    const key = { 'idempotency-key': 'the same' }
    const mine = await json(acme.post('/v1/runs', { input: 'pay' }, key))
    const theirs = await json(zeta.post('/v1/runs', { input: 'pay' }, key))
    expect(theirs.id).not.toBe(mine.id)
    // The order of the fields makes no difference.
    expect((await json(from(service, { region: 'eu', org: 'acme' }).post('/v1/runs', { input: 'pay' }, key))).id).toBe(mine.id)
    expect((await zeta.ask(`/v1/runs/${mine.id}`)).status).toBe(404)
    // Every field counts.
    expect((await from(service, { org: 'acme', region: 'us' }).ask(`/v1/runs/${mine.id}`)).status).toBe(404)
    expect((await from(service, { org: 'acme' }).ask(`/v1/runs/${mine.id}`)).status).toBe(200)
    const ui = await acme.post('/ui/chat', { id: 'c', messages: [{ id: 'm', ...message('pay') }] })
    await ui.text()
    const other = await zeta.post('/ui/chat', { id: 'c', messages: [{ id: 'm', ...message('hello') }] })
    await other.text()
    expect((await json(acme.ask(`/v1/runs/${ui.headers.get('x-run-id')}`))).status).toBe('waiting')
    const response = await json(acme.post('/v1/responses', { model: 'toolloop', input: 'x' }))
    expect((await zeta.ask(`/v1/responses/${response.id}`)).status).toBe(404)
    expect((await zeta.ask(`/v1/responses/${response.id}`, { method: 'DELETE' })).status).toBe(404)
    expect((await acme.ask(`/v1/responses/${response.id}`)).status).toBe(200)
    const { taskId } = await modernPeer(acme.post)('tools/call', { name: 'ask_toolloop', arguments: { task: 'pay' } })
    expect(await modernPeer(zeta.post)('tasks/get', { taskId: String(taskId) })).toHaveProperty('error')
  })

  it('supplies the context of a run with the tenant of its owner', async () => {
    const seen: unknown[] = []
    const service = await startService(scoped({ context: (_request: Request | undefined, identity: Caller) => void seen.push(identity) }))
    const run = await json(from(service, { org: 'acme' }).post('/v1/runs', { input: 'pay' }))
    await json(
      fetch(`${service.url}/v1/runs/${run.id}/decisions`, {
        method: 'POST',
        body: JSON.stringify(decisionsOn(run)),
        headers: { 'content-type': 'application/json' },
      }),
    )
    expect(seen).toEqual([1, 2].map(() => ({ name: 'gateway', roles: ['run', 'admin'], tenant: { org: 'acme' } })))
  })

  it.each([[{}], [null], [[]], ['acme'], [{ org: 7 }], [{ org: '' }], [{ org: null }], [[['org', 'acme']]]])(
    'refuses the invalid tenant %j',
    async (tenant) => {
      const service = await startService(scoped())
      expect((await from(service, tenant).ask('/v1/runs')).status).toBe(401)
      expect(service.log()).toContain('`authenticate` failed')
    },
  )
})

it('P3.7 the list of runs is filtered by fields of `metadata`, and an empty filter is refused', async () => {
  const service = await startService(paying().options)
  const start = async (metadata: object) => (await json(service.post('/v1/runs', { input: 'x', metadata }))).id
  const [one, two] = [await start({ org: 'acme', tier: 7, 'a.b': true }), await start({ org: 'acme', tier: '8' })]
  await json(service.post('/v1/runs', { input: 'x' }))
  const ids = async (query: string) => (await json(service.ask(`/v1/runs?${query}`))).data.map(({ id }) => id)
  expect(await ids('metadata.org=acme')).toEqual([two, one])
  expect(await ids('metadata.org=acme&metadata.tier=7')).toEqual([one])
  expect(await ids('metadata.a.b=true')).toEqual([one])
  expect(await ids('metadata.org=ac')).toEqual([])
  expect(await ids('metadata.__proto__=x')).toEqual([])
  const many = Array.from({ length: 17 }, (_, n) => `metadata.f${n}=x`).join('&')
  for (const query of ['metadata.org=acme&metadata.org=zeta', 'metadata.=x', many])
    expect((await service.ask(`/v1/runs?${query}`)).status).toBe(400)
})
