import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startOddHttpServer } from '../tools/mcp/odd-http-server.ts'
import { listed, odd } from '../tools/mcp/open-tools.ts'
import { type MeasuredService, maxStallMs, measuredService, stallOf } from './measured-service.ts'
import { configFile, json } from './start-service.ts'

const call = (tool: string, args: object = {}) => ({ input: `call ${tool} ${JSON.stringify(args)}` })

/** How long each of the calls held the service up, where that is too long; and what the calls came to. */
async function attack(service: MeasuredService, calls: readonly (readonly [tool: string, args?: object])[]) {
  const tooLong: [string, number][] = []
  const outcomes: Record<string, unknown> = {}
  for (const [tool, args] of calls) {
    const { value, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', call(tool, args))))
    const name = `${tool} ${JSON.stringify(args ?? {}).slice(0, 40)}`
    outcomes[name] = value.result?.toolCalls[0]?.outcome
    if (stallMs > maxStallMs) tooLong.push([name, stallMs])
  }
  return { tooLong, outcomes }
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

describe('what tools do keeps nobody waiting for more than 50 ms', () => {
  it('whatever a script of a Skill gives back or prints', { timeout: 150_000 }, async () => {
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

  it('whatever an MCP server sends', { timeout: 150_000 }, async () => {
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
    const bad = odd({ tools: [...floods, 'any', 'big', 'parts', 'lively', 'grow'].map((name) => listed(name)) })
    const { folder, file } = await configFile(JSON.stringify({ mcp: { servers: { bad, http: { url: http.url } } } }))
    const service = await measuredService({ cwd: folder, configFile: file })
    // Its list of tools is read again, and what of it takes too long is left out.
    const { stallMs } = await stallOf(service, async () => {
      const last = `last_${randomUUID()}`
      await service.post('/v1/runs', call('bad__grow', { counts: [5_000, 200, 5_000, 200, 5_000], last }))
      await expect.poll(async () => (await service.ask('/admin/api/state')).text(), { timeout: 20_000 }).toContain(`bad__${last}`)
    })
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
    const { tooLong, outcomes } = await attack(service, [
      ['bad__lively'],
      ['bad__big', { size: 5_000_000 }],
      ['bad__any', { result: text(500_000) }],
      ['bad__parts', { count: 50_000 }],
      ['bad__any', { result: secrets }],
      ['bad__any', { result: { content: [], structuredContent: { a: Array.from({ length: 29_000 }, () => 1) } } }],
      ...floods.map((name) => [`bad__${name}`] as const),
      ['http__pings'],
    ])
    expect(outcomes).toMatchObject({ 'bad__lively {}': 'ok', 'bad__pings {}': 'failed', 'http__pings {}': 'failed' })
    expect(tooLong).toEqual([])
  })
})
