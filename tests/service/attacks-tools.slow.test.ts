import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { startOddHttpServer } from '../tools/mcp/odd-http-server.ts'
import { listed, odd } from '../tools/mcp/open-tools.ts'
import { type MeasuredService, maxStallMs, measuredService, stallOf } from './measured-service.ts'
import { configFile, json } from './start-service.ts'

const call = (tool: string, args: object = {}) => ({ input: `call ${tool} ${JSON.stringify(args)}` })

/** Returns how long each call blocked the service, if that is too long, and the results of the calls. */
async function attack(service: MeasuredService, calls: readonly (readonly [tool: string, args?: object, what?: string])[]) {
  const tooLong: [string, number][] = []
  const outcomes: Record<string, unknown> = {}
  for (const [tool, args = {}, what = JSON.stringify(args).slice(0, 40)] of calls) {
    const { value, stallMs } = await stallOf(service, () => callRunning(service, tool, args))
    const name = `${tool} ${what}`
    outcomes[name] = value?.outcome
    if (stallMs > maxStallMs) tooLong.push([name, stallMs])
  }
  return { tooLong, outcomes }
}

/** Once its server is there again, which may have been ended by the call before. */
async function callRunning(service: MeasuredService, tool: string, args?: object) {
  return vi.waitFor(
    async () => {
      const { result } = await json(service.post('/v1/runs', call(tool, args)))
      expect(JSON.stringify(result?.toolCalls[0])).not.toContain('is not running')
      return result?.toolCalls[0]
    },
    // Longer than the longest call.
    { timeout: 45_000, interval: 50 },
  )
}

const scripts = {
  'values.mjs': `export default () => JSON.parse('${'[[],'.concat('[],'.repeat(349_000), '[]]')}')`,
  'entries.mjs': 'export default () => Object.fromEntries(Array.from({ length: 70000 }, (_, n) => ["k" + n, n]))',
  'secrets.mjs': 'export default () => ({ password: Array.from({ length: 60000 }, (_, n) => "secret" + n) })',
  'text.mjs': 'export default () => "x".repeat(1_040_000)',
  'escapes.mjs': 'export default () => "\\u0001".repeat(170_000)',
  'large.mjs': 'export default () => "x".repeat(60_000_000)',
  'uncut.mjs': 'String.prototype.slice = function () { return this }\nexport default () => { throw new Error("x".repeat(50_000_000)) }',
  'output.mjs': 'export default () => { for (;;) console.log("x".repeat(1000)) }',
  'flood.sh': 'yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n',
}

const answer = (result: string) => `{"jsonrpc":"2.0","id":ID,"result":${result}}`
const [before = '', after = ''] = answer('{"content":[],"structuredContent":{"a":[HERE]}}').split('HERE')
const [beforeParts = '', afterParts = ''] = answer('{"content":[HERE]}').split('HERE')

/** What an MCP server may print or send instead of an answer: `unit` again and again. */
type Sent = { head?: string; unit: string; count: number; tail?: string }

/** For these it is ended. */
const tooMuch: Readonly<Record<'raw' | 'json' | 'events', readonly Sent[]>> = {
  raw: [
    { unit: '{}\n', count: 400_000 },
    { unit: '{"jsonrpc":"2.0"}\n', count: 100_000 },
    { head: before, unit: '[],', count: 3_000_000, tail: `[]${after}\n` },
    { head: before, unit: '[', count: 5_000_000 },
  ],
  json: [
    { head: '[', unit: '{"jsonrpc":"2.0","method":"x"},', count: 8_000, tail: '{}]' },
    { head: before, unit: '[],', count: 3_000_000, tail: `[]${after}` },
    { head: before, unit: '[', count: 5_000_000 },
  ],
  events: [
    { unit: 'data: {}\n\n', count: 200_000 },
    { unit: 'data: {"jsonrpc":"2.0","method":"x"}\n\n', count: 200_000 },
    { head: ': "\ndata: ', unit: '[],', count: 3_000_000 },
    { head: before, unit: '[],', count: 3_000_000, tail: `[]${after}` },
  ],
}
const answers: Readonly<Record<string, Sent>> = {
  'as many values as there may be': { head: before, unit: '[],', count: 49_900, tail: `[]${after}` },
  'as many fields as there may be': { head: before, unit: '{"a":{}},', count: 24_900, tail: `[]${after}` },
  'as many levels as there may be': { head: before, unit: '[', count: 49_000, tail: `${']'.repeat(49_000)}${after}` },
  'parts that are none': { head: beforeParts, unit: '1,', count: 49_900, tail: `1${afterParts}` },
  'parts of a kind that is none': { head: beforeParts, unit: '{"type":"x"},', count: 24_900, tail: `1${afterParts}` },
  'pictures that are none': {
    head: beforeParts,
    unit: '{"type":"image","mimeType":"x","data":"!"},',
    count: 12_400,
    tail: `{"type":"text","text":""}${afterParts}`,
  },
  'parts with something wrong beside them': {
    head: beforeParts,
    unit: '{"type":"text","text":"","annotations":5,"_meta":1},',
    count: 9_900,
    tail: `{"type":"text","text":""}${afterParts}`,
  },
  'parts with something wrong': { head: beforeParts, unit: '{"type":"image"},', count: 24_900, tail: `1${afterParts}` },
  'a part as large as there may be': {
    head: `${beforeParts}{"type":"text","text":"`,
    unit: 'x',
    count: 5_400_000,
    tail: `"}${afterParts}`,
  },
  'a part of escapes': { head: `${beforeParts}{"type":"text","text":"`, unit: '\\u0001', count: 900_000, tail: `"}${afterParts}` },
  'a large picture': {
    head: `${beforeParts}{"type":"image","mimeType":"image/png","data":"`,
    unit: 'AAAA',
    count: 1_340_000,
    tail: `"}${afterParts}`,
  },
}

const large = [{ type: 'text', text: 'x'.repeat(5_000_000) }]
const picture = (length: number) => ({ type: 'image', mimeType: 'image/png', data: 'A'.repeat(length) })
/** As large as a question to the model may be, or nearly. */
const larges: Readonly<Record<string, readonly object[]>> = {
  'a long text': [{ type: 'text', text: 'x'.repeat(1_990_000) }],
  'a text of escapes': [{ type: 'text', text: '\u0001'.repeat(300_000) }],
  'a picture': [picture(1_980_000)],
  'very many messages': Array.from({ length: 4_500 }, () => ({ type: 'text', text: 'x' })),
}
const contents: Readonly<Record<string, readonly object[]>> = {
  'x:text': [{ uri: 'x:text', text: 'x'.repeat(5_000_000) }],
  'x:picture': [{ uri: 'x:picture', mimeType: 'image/png', blob: 'A'.repeat(5_000_000) }],
  'x:file': [{ uri: 'x:file', blob: 'A'.repeat(5_000_000) }],
  'x:text-as-blob': [{ uri: 'x:text-as-blob', mimeType: 'text/plain', blob: 'eHh4'.repeat(1_250_000) }],
  'x:parts': Array.from({ length: 9_000 }, () => ({ uri: 'x:parts', text: 'x' })),
}
const many = Array.from({ length: 4_900 }, (_, n) => ({ uri: `x:${n}`, name: `n${n}`, description: 'x'.repeat(550) }))

describe('tools block nobody for more than 50 ms', () => {
  it('whatever a script of a Skill returns or prints', async () => {
    const { folder, file } = await configFile('skills: { paths: [skills] }\nservice: { keepRuns: { folder: kept } }\n')
    const skill = join(folder, 'skills/big')
    await mkdir(skill, { recursive: true })
    const names = Object.keys(scripts)
    const tools = names.map((script) => ({ name: script.replace(/\..*/, ''), description: 'd', script }))
    await writeFile(join(skill, 'SKILL.md'), '---\nname: big\ndescription: d\nmetadata: { toolloop-tools: tools.yaml }\n---\nx')
    await writeFile(join(skill, 'tools.yaml'), JSON.stringify({ tools }))
    for (const [name, source] of Object.entries(scripts)) await writeFile(join(skill, name), source, { mode: 0o755 })
    const service = await measuredService({ cwd: folder, configFile: file })
    const { tooLong, outcomes } = await attack(
      service,

      tools.map(({ name }) => [name] as const),
    )
    expect(outcomes).toMatchObject({ 'values {}': 'ok', 'entries {}': 'ok', 'secrets {}': 'ok', 'text {}': 'ok', 'large {}': 'failed' })
    expect(tooLong).toEqual([])
    // A script that changes what cuts its texts changes nothing of what comes out.
    const { result } = await json(service.post('/v1/runs', call('uncut')))
    expect(JSON.stringify(result.toolCalls).length).toBeLessThan(10_000)
  })

  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, {}]))
  const part = { type: 'object', properties: fields(60) }

  it.each<[string, object]>([
    ['of very many fields', { type: 'object', properties: fields(5_000) }],
    [
      'that refer to each other again and again',
      {
        type: 'object',
        $defs: { a: part, b: { allOf: Array(60).fill({ $ref: '#/$defs/a' }) } },
        allOf: Array(1_000).fill({ $ref: '#/$defs/b' }),
      },
    ],
    ['of very many alternatives', { type: 'object', anyOf: Array.from({ length: 3_000 }, (_, at) => ({ required: [`p${at}`] })) }],
    ['as large as there may be', { type: 'object', properties: fields(400) }],
  ])('whatever schemas the tools of its Skills have when a configuration is loaded: one %s', async (_, parameters) => {
    const { folder, file } = await configFile('model: demo\n')
    const service = await measuredService({ cwd: folder, configFile: file })
    const { stallMs } = await stallOf(service, async () => {
      // Another one each time: what is read once is read again.
      const name = `s-${randomUUID()}`
      const skill = join(folder, name, 'big')
      await mkdir(skill, { recursive: true })
      await writeFile(join(skill, 'SKILL.md'), '---\nname: big\ndescription: d\nmetadata: { toolloop-tools: tools.yaml }\n---\nx')
      await writeFile(join(skill, 'a.mjs'), 'export default () => 1')
      await writeFile(
        join(skill, 'tools.yaml'),
        JSON.stringify({ tools: [{ name: 'big', description: name, script: 'a.mjs', parameters }] }),
      )
      await writeFile(file, `model: demo\nskills: { paths: [${name}] }\n`)
      await expect.poll(async () => (await service.ask('/admin/api/skills')).text()).toContain(name)
    })
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('whatever an MCP server sends', { timeout: 240_000 }, async () => {
    const text = (length: number) => ({ content: [{ type: 'text', text: 'x'.repeat(length) }] })
    const secrets = {
      content: [{ type: 'text', text: JSON.stringify({ password: Array.from({ length: 20_000 }, (_, n) => `secret${n}`) }) }],
    }
    const floods = ['notices', 'unknown', 'pings', 'answers'] as const
    await using http = await startOddHttpServer([listed('pings')], (response) => {
      response.setHeader('content-type', 'text/event-stream')
      const drop = Array.from({ length: 1_000 }, (_, n) => `data: {"jsonrpc":"2.0","id":"p${n}","method":"ping"}\n\n`).join('')
      const pour = (): void => void response.write(drop, (error) => error ?? setImmediate(pour))
      pour()
    })
    await using answering = await startOddHttpServer([listed('json'), listed('events')], (response, { message: { id, params } }) => {
      const { head = '', unit = '', count, tail = '' } = params?.arguments ?? {}
      const sent = `${head}${String(unit).repeat(Number(count))}${tail}`.replaceAll('ID', String(id))
      const isEvents = params?.name === 'events'
      response.setHeader('content-type', isEvents ? 'text/event-stream' : 'application/json')
      response.end(isEvents && sent.startsWith('{') ? `data: ${sent}\n\n` : sent)
    })
    const bad = odd({ tools: [...floods, 'any', 'big', 'parts', 'lively', 'grow', 'raw'].map((name) => listed(name)) })
    const web = { url: answering.url }
    // One each for those that are ended, which then start again later and later.
    const ended = [
      ...floods.map((name) => [name, name, {}] as const),
      ...Object.entries(tooMuch).flatMap(([tool, all]) => all.map((sent, at) => [`${tool}${at}`, tool, sent] as const)),
    ]
    const others = ended.map(([server, tool]) => [server, tool === 'json' || tool === 'events' ? web : bad] as const)
    const servers = { bad, web, http: { url: http.url }, ...Object.fromEntries(others) }
    const { folder, file } = await configFile(JSON.stringify({ mcp: { servers } }))
    const service = await measuredService({ cwd: folder, configFile: file })
    // Its list of tools is read again, and what of it takes too long is left out.
    const { stallMs } = await stallOf(service, async () => {
      const last = `last_${randomUUID()}`
      await service.post('/v1/runs', call('bad__grow', { counts: [5_000, 200, 5_000, 200, 5_000], last }))
      await expect.poll(async () => (await service.ask('/admin/api/state')).text()).toContain(`bad__${last}`)
    })
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
    const { tooLong, outcomes } = await attack(service, [
      ['bad__lively'],
      ['bad__big', { size: 5_000_000 }],
      ['bad__any', { result: text(500_000) }],
      ['bad__parts', { count: 16_000 }],
      ['bad__any', { result: secrets }],
      ['bad__any', { result: { content: [], structuredContent: { a: Array.from({ length: 29_000 }, () => 1) } } }],
      ...floods.map((name) => [`${name}__${name}`] as const),
      ['http__pings'],
      ...ended.slice(floods.length).map(([server, tool, sent]) => [`${server}__${tool}`, sent] as const),
      ...Object.entries(answers).flatMap(([what, sent]) =>
        ['bad__raw', 'web__json', 'web__events'].map(
          (tool) => [tool, tool === 'bad__raw' ? { ...sent, tail: `${sent.tail ?? ''}\n` } : sent, what] as const,
        ),
      ),
    ])
    expect(outcomes).toMatchObject({ 'bad__lively {}': 'ok', 'pings__pings {}': 'failed', 'http__pings {}': 'failed' })
    expect(tooLong).toEqual([])
  })

  it('whatever an MCP server sends besides the results of its calls, or asks the model', { timeout: 240_000 }, async () => {
    const open = new Map<string, () => void>()
    const answerOf = (id: unknown, result: object) => JSON.stringify({ jsonrpc: '2.0', id, result })
    const work = { ...listed('work'), execution: { taskSupport: 'required' } }
    await using server = await startOddHttpServer(
      [work, listed('sample')],
      (response, { message }) => {
        const { id, method = '', params = {} } = message
        const { name = '', uri = name } = params as { name?: string; uri?: string }
        const task = { taskId: 'a', status: 'completed', createdAt: '', lastUpdatedAt: '', ttl: null }
        const send = (result: object) => response.setHeader('content-type', 'application/json').end(answerOf(id, result))
        if (method === '') {
          response.writeHead(202).end()
          open.get(String(id))?.()
        } else if (name === 'sample') {
          const asked = randomUUID()
          open.set(asked, () => response.end(`data: ${answerOf(id, { content: [] })}\n\n`))
          const messages = larges[String(params.arguments?.what)]?.map((content) => ({ role: 'user', content }))
          const request = { jsonrpc: '2.0', id: asked, method: 'sampling/createMessage', params: { messages, maxTokens: 1 } }
          response.setHeader('content-type', 'text/event-stream').write(`data: ${JSON.stringify(request)}\n\n`)
        } else if (method === 'tools/call') send({ task })
        else if (method === 'tasks/get') send(task)
        else if (method === 'tasks/result') send({ content: large })
        else if (method === 'prompts/get') send({ messages: larges[name]?.map((content) => ({ role: 'user', content })) })
        else if (method === 'resources/read') send({ contents: contents[uri] })
        else if (method === 'resources/templates/list') send({ resourceTemplates: [] })
        else send(method === 'resources/list' ? { resources: many } : { prompts: many })
      },
      (response, { message: { id } }) => {
        const tasks = { requests: { tools: { call: {} } } }
        const capabilities = { tools: {}, resources: {}, prompts: {}, tasks }
        response.setHeader('mcp-session-id', 'one').setHeader('content-type', 'application/json')
        response.end(answerOf(id, { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'odd', version: '1' } }))
      },
    )
    const servers = { large: { url: server.url, resources: 'all', prompts: true, sampling: true } }
    const { folder, file } = await configFile(JSON.stringify({ mcp: { servers } }))
    const service = await measuredService({ cwd: folder, configFile: file })
    const { tooLong, outcomes } = await attack(service, [
      ['large__work'],
      ...Object.keys(contents).map((uri) => ['large__read_resource', { uri }] as const),
      ...Object.keys(larges).map((name) => ['large__get_prompt', { name }] as const),
      ...Object.keys(larges).map((what) => ['large__sample', { what }] as const),
      ['large__list_resources', { search: 'zzz' }],
      ['large__list_prompts', { search: 'zzz' }],
    ])
    expect(Object.entries(outcomes).filter(([, outcome]) => outcome !== 'ok')).toEqual([])
    expect(tooLong).toEqual([])
  })
})
