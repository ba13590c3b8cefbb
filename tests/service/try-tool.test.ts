import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { openApiTools } from '../../src/tools/openapi/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { configFile, payTool, startService } from './start-service.ts'

interface Listed {
  function: { name: string }
  source: { kind: string; name?: string }
  runsHere: boolean
  calls: { total: number; failed: number; recent: { outcome: string; errorCode?: string; runId?: string; durationMs: number }[] }
}

const order = defineTool({
  name: 'order',
  description: 'Orders.',
  effect: 'idempotent',
  secrets: ['pin'],
  parameters: {
    type: 'object',
    properties: {
      lines: {
        type: 'array',
        items: { type: 'object', properties: { sku: { type: 'string' }, count: { type: 'integer' } }, required: ['sku'] },
      },
      pin: { type: 'string' },
    },
    required: ['lines'],
    additionalProperties: false,
  },
  execute: ({ pin, lines }) => ({ ordered: lines.length, note: `with ${pin}`, pin }),
})

async function withTools(...[options]: Parameters<typeof startService>) {
  const { file } = await configFile('service: { auth: { tokens: [{ name: app, roles: [run], env: APP_TOKEN }] } }\n')
  const env = { APP_TOKEN: 'a-token-of-an-app-17' }
  const started = await startService({ model: scriptedModel([]), configFile: file, env, ...options })
  const run = async (name: string, args: unknown, more: object = {}) => {
    const response = await started.post(`/admin/api/tools/${name}/calls`, { arguments: args, ...more })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const list = async () => (await (await started.ask('/admin/api/tools')).json()) as { data: Listed[] }
  const one = async (name: string) => (await list()).data.find((tool) => tool.function.name === name)
  return { ...started, run, list, one, appToken: env.APP_TOKEN }
}

it('a tried tool takes as many values as the agent’s `maxArgumentValues`, and the events of its runs show them', async () => {
  const many = Array.from({ length: 12_000 }, (_, at) => at)
  const count = defineTool({
    ...{ name: 'count', description: 'Counts.', effect: 'read', parameters: { type: 'object' } },
    execute: ({ many, pin }) => `${(many as number[]).length} ${pin}`,
    secrets: ['pin'],
  })
  const call = { name: 'count', arguments: { many, pin: 'swordfish' } }
  for (const maxArgumentValues of [20_000, undefined]) {
    const model = scriptedModel([{ toolCalls: [call] }, 'done'])
    const agent = maxArgumentValues === undefined ? {} : { maxArgumentValues }
    const { run, post } = await withTools({ tools: [count], model, agent })
    const isRaised = maxArgumentValues !== undefined
    expect(await run('count', call.arguments)).toMatchObject(
      isRaised ? { status: 200, body: { content: '12000 [redacted]' } } : { status: 200, body: { outcome: 'rejected' } },
    )
    const ran = await post('/v1/runs', { input: 'go' })
    const { result } = (await ran.json()) as { result: { messages: { toolCalls?: { function: { arguments: string } }[] }[] } }
    const shown = result.messages.flatMap(({ toolCalls = [] }) => toolCalls)[0]?.function.arguments
    if (isRaised) expect(JSON.parse(String(shown))).toEqual({ many, pin: '[redacted]' })
    else expect(shown).toMatch(/^\[redacted\]/)
  }
})

it('a tried tool is checked, run, counted and logged as a model’s call is; its secrets are not shown', async () => {
  const { run, one, log } = await withTools({ tools: [order] })
  const lines = [{ sku: 'a', count: 2 }]
  const { status, body } = await run('order', { lines, pin: '4711-4711' })
  expect([status, body.outcome]).toEqual([200, 'ok'])
  expect(JSON.parse(String(body.content))).toMatchObject({ ordered: 1 })
  expect(String(body.content)).not.toContain('4711')
  expect(log()).toContain('a tool was tried over the API')
  expect(log()).not.toContain('4711')

  const wrong = await run('order', { lines: [{ count: 'two' }], pim: '' })
  expect(wrong).toMatchObject({ status: 422, body: { error: { code: 'invalid_arguments' } } })
  const { problems } = wrong.body.error as { problems: { path: string; message: string }[] }
  expect(problems.map(({ path }) => path).sort()).toEqual(['', '/lines/0/count', '/lines/0/sku'])
  expect(problems.find(({ path }) => path === '/lines/0/sku')?.message).toBe('is required')
  expect(await one('order')).toMatchObject({ runsHere: true, calls: { total: 1, failed: 0, recent: [{ outcome: 'ok' }] } })
})

it('a tool with side effects or an approval runs only if confirmed; tools of a run are distinguished from those of others', async () => {
  const { tool, paid } = payTool()
  const unsafe = defineTool({ name: 'send', description: 'Sends.', parameters: { type: 'object' }, execute: () => 'sent' })
  const { run, one, ask, appToken, url } = await withTools({ tools: [tool, unsafe] })
  for (const [name, args] of [
    ['pay', { euros: 3 }],
    ['send', {}],
  ] as const) {
    expect(await run(name, args)).toMatchObject({ status: 409, body: { error: { code: 'approval_needed' } } })
    expect(await run(name, args, { approved: false })).toMatchObject({ status: 409 })
  }
  expect(paid).toEqual([])
  expect((await one('pay'))?.calls.total).toBe(0)
  expect(await run('pay', { euros: 3 }, { approved: true })).toMatchObject({ status: 200, body: { outcome: 'ok', content: 'paid 3' } })
  expect(paid).toEqual([{ euros: 3 }])
  expect(await run('nothing', {}, { approved: true })).toMatchObject({ status: 404 })
  for (const body of [{}, { arguments: [] }, { arguments: {}, approved: 'yes' }, { arguments: {}, other: 1 }])
    expect(
      (
        await ask('/admin/api/tools/pay/calls', {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(400)
  // A token of the role `run` may do neither.
  const headers = { authorization: `Bearer ${appToken}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ arguments: { euros: 1 }, approved: true })
  expect((await fetch(`${url}/admin/api/tools/pay/calls`, { method: 'POST', headers, body })).status).toBe(403)
  expect((await fetch(`${url}/admin/api/tools`, { headers })).status).toBe(403)
  expect(paid).toHaveLength(1)
})

it('a tried tool gets the admin’s own context, ends with its time limit or its client, and counts among the runs of its token', async () => {
  const started = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<unknown>()
  const slow = defineTool({
    name: 'slow',
    description: 'Waits.',
    effect: 'read',
    parameters: { type: 'object' },
    execute: (_args, { signal, context }) =>
      new Promise((resolve) => {
        started.resolve()
        signal.addEventListener('abort', () => {
          ended.resolve(context)
          resolve('late')
        })
      }),
  })
  const late = { ...slow, name: 'late', timeoutMs: 20 }
  const { file } = await configFile('service: { concurrentRuns: 1 }\n')
  const { run, ask, one } = await withTools({
    tools: [slow, late],
    configFile: file,
    context: (_request, caller) => ({ for: caller.name }),
  })
  expect(await run('late', {})).toMatchObject({ status: 200, body: { outcome: 'timeout', errorCode: 'tool_timeout' } })
  const client = new AbortController()
  const headers = { 'content-type': 'application/json' }
  const asked = ask('/admin/api/tools/slow/calls', { method: 'POST', body: '{"arguments":{}}', headers, signal: client.signal })
  await started.promise
  expect((await run('late', {})).status).toBe(429)
  client.abort()
  await expect(asked).rejects.toThrow()
  expect(await ended.promise).toEqual({ for: 'operator' })
  await expect.poll(async () => (await one('slow'))?.calls.recent[0]?.outcome).toBe('cancelled')
  expect((await one('late'))?.calls).toMatchObject({ total: 1, failed: 1, recent: [{ errorCode: 'tool_timeout' }] })
})

it('each tool has its source, and the outcomes of its calls in runs', async () => {
  const pets = await openApiTools({
    openapi: '3.1.0',
    info: { title: 'Pets', version: '1' },
    servers: [{ url: 'http://127.0.0.1:9' }],
    paths: { '/pets': { get: { operationId: 'listPets', responses: { 200: { description: 'All' } } } } },
  })
  const { list, one, post } = await withTools({
    tools: [order, ...pets],
    builtinTools: ['calculate'],
    model: scriptedModel([
      {
        toolCalls: [
          { name: 'calculate', arguments: { expression: '1+1' } },
          { name: 'calculate', arguments: {} },
        ],
      },
      'done',
    ]),
  })
  const { data } = await list()
  expect(Object.fromEntries(data.map(({ function: { name }, source }) => [name, source]))).toEqual({
    order: { kind: 'registered' },
    listPets: { kind: 'openapi', name: 'Pets' },
    calculate: { kind: 'builtin' },
  })
  const { id } = (await (await post('/v1/runs', { input: 'x' })).json()) as { id: string }
  expect((await one('calculate'))?.calls).toMatchObject({ total: 2, failed: 1 })
  const recent = (await one('calculate'))?.calls.recent ?? []
  expect(recent.map(({ runId }) => runId)).toEqual([id, id])
  expect(recent.map(({ outcome }) => outcome).sort()).toEqual(['ok', 'rejected'])
})

describe('a service that shuts down', () => {
  const trying = async () => {
    const begun = Promise.withResolvers<void>()
    const may = Promise.withResolvers<void>()
    const seen: string[] = []
    const slow = defineTool({
      name: 'slow',
      description: 'Waits.',
      effect: 'read',
      parameters: { type: 'object' },
      async execute(_args, { signal }) {
        signal.addEventListener('abort', () => seen.push('aborted'))
        begun.resolve()
        await may.promise
        seen.push('ended')
        return 'done'
      },
    })
    const { run, service, ask } = await withTools({ tools: [slow] })
    const tried = run('slow', {})
    await begun.promise
    return { tried, finish: may.resolve, seen, service, ask }
  }

  it('waits for a call that is tried', async () => {
    const { tried, finish, seen, service, ask } = await trying()
    const drained = service.drain(10_000).then(() => seen.push('drained'))
    expect((await ask('/admin/api/tools')).status).toBe(200)
    finish()
    await drained
    expect(seen).toEqual(['ended', 'drained'])
    expect(await tried).toMatchObject({ status: 200, body: { outcome: 'ok' } })
  })

  it('cancels it when its time is over', async () => {
    const { tried, seen, service } = await trying()
    await service.drain(0)
    expect(seen).toEqual(['aborted'])
    expect(await tried).toMatchObject({ status: 200, body: { outcome: 'cancelled' } })
  })
})
