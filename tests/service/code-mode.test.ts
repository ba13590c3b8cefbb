import { describe, expect, it } from 'vitest'
import { defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { configFile, json, reloads, startService } from './start-service.ts'

const code = "const all = await tools.list()\nreturn await Promise.all(all.map((id) => tools.pay({ id, pin: 'hunter2-hunter2' })))"

async function start(config: string) {
  const paid: string[] = []
  const list = defineTool({ name: 'list', description: 'Lists.', effect: 'read', execute: () => ['a', 'b'] })
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { id: { type: 'string' }, pin: { type: 'string' } }, required: ['id'] },
    secrets: ['pin'],
    approval: true,
    execute: ({ id }) => {
      paid.push(id)
      return `paid ${id}`
    },
  })
  const model = scriptedModel(({ messages, tools = [] }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return String(last.content)
    return tools.some(({ function: { name } }) => name === 'run_script')
      ? { toolCalls: [{ name: 'run_script', args: { code } }] }
      : 'no scripts'
  })
  const { file, write } = await configFile(config)
  const changes = reloads()
  const started = await startService({ model, tools: [list, pay], configFile: file, onReload: changes.onReload })
  return { ...started, paid, write, changes }
}

describe('scripts in the service', () => {
  it('wait with the line that makes each call, and continue as decided; events have their calls', async () => {
    const { post, ask, paid } = await start('tools: { builtin: false, codeMode: true }')
    const run = await json(post('/v1/runs', { input: 'pay' }))
    const script = { line: 2, code: expect.stringContaining('return await Promise.all(') }
    expect(run).toMatchObject({
      status: 'waiting',
      pending: [
        { tool: 'pay', args: { id: 'a', pin: '[redacted]' }, script, path: [{ agent: 'run_script' }] },
        { tool: 'pay', args: { id: 'b' }, script },
      ],
    })
    expect(JSON.stringify(run.pending)).not.toContain('hunter2')
    const decisions = run.pending.map((item, at) => ({ ...item, approved: at === 0, acknowledgeHidden: true }))
    const ended = await json(post(`/v1/runs/${run.id}/decisions`, { decisions }))
    expect([ended.status, ended.stopReason, paid]).toEqual(['ended', 'answered', ['a']])
    expect(ended.output).toContain('The call to `pay` was refused')
    const events = await (await ask(`/v1/runs/${run.id}/events`)).text()
    expect(events).toContain('"parentToolCallId":"call_1"')
    expect(events.match(/event: TOOL_CALL_END/g)?.length).toBeGreaterThanOrEqual(3)
  })

  it('are switched on and off by the configuration while the service runs; a client’s tools are not in scripts', async () => {
    const { post, write, changes } = await start('tools: { builtin: false }')
    expect((await json(post('/v1/runs', { input: 'pay' }))).output).toBe('no scripts')
    await write('tools: { builtin: false, codeMode: { keep: [list] } }')
    await changes.next()
    const theirs = { type: 'function', function: { name: 'theirs', description: 'x', parameters: { type: 'object' } } }
    const run = await json(post('/v1/runs', { input: 'pay', tools: [theirs] }))
    // The kept tool is not among those of scripts.
    expect(run.output).toContain('Tool not found: list')
    await write('tools: { builtin: false, codeMode: { keeps: [list] } }')
    expect(JSON.stringify(await changes.next())).toContain('keep')
  })
})
