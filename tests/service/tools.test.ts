import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { countingTool } from '../hazards/tools.ts'
import { listed, odd } from '../tools/mcp/open-tools.ts'
import { configFile, json, reloads, startService } from './start-service.ts'

const times = { debounceMs: 5, pollMs: 3_600_000 }
const names = async (asked: Promise<Response>) =>
  ((await (await asked).json()) as { data: { function: { name: string } }[] }).data.map((tool) => tool.function.name)

describe('tools of the configuration', () => {
  it('change with it, come after those of the program, and running runs see the current ones', async () => {
    const held = Promise.withResolvers<void>()
    const look = countingTool('look')
    const calculate = countingTool('calculate', 'mine')
    const model = scriptedModel([{ before: held.promise, toolCalls: [{ name: 'current_time' }, { name: 'calculate' }] }, 'done'])
    const { file, write } = await configFile('tools: { builtin: [calculate] }\n')
    const reloaded = reloads()
    const { ask, post, service } = await startService({
      configFile: file,
      times,
      onReload: reloaded.onReload,
      model,
      tools: [look.tool, calculate.tool],
    })
    expect(await names(ask('/v1/tools'))).toEqual(['look', 'calculate'])
    const begun = new Promise((resolve) => service.bus.on('MODEL_START', resolve))
    const asked = json(post('/v1/runs', { input: 'x' }))
    await begun
    await write('tools: { builtin: [calculate, current_time] }\n')
    await reloaded.next()
    expect(await names(ask('/v1/tools'))).toEqual(['look', 'calculate', 'current_time'])
    held.resolve()
    const { result } = await asked
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
    expect(calculate.calls).toHaveLength(1)
    service.registry.unregister('look')
    expect(await names(ask('/v1/tools'))).toEqual(['calculate', 'current_time'])
  })

  it('include Skills, which the model knows of', async () => {
    const { folder, file, write } = await configFile('')
    await mkdir(join(folder, 'skills', 'greeting'), { recursive: true })
    await writeFile(join(folder, 'skills', 'greeting', 'SKILL.md'), '---\nname: greeting\ndescription: How to greet.\n---\nSay “Moin”.\n')
    await mkdir(join(folder, 'skills', 'broken'))
    await writeFile(join(folder, 'skills', 'broken', 'SKILL.md'), 'nothing\n')
    const text = 'skills: { paths: [skills] }\ninstructions: Be brief.\n'
    await write(text)
    const model = scriptedModel([{ toolCalls: [{ name: 'activate_skill', args: { name: 'greeting' } }] }, 'Moin'])
    const { post, ask } = await startService({ configFile: file, cwd: folder, times, model })
    const { result } = await json(post('/v1/runs', { input: 'greet' }))
    expect(JSON.stringify(model.requests[0]?.messages[0])).toMatch(/Be brief\.[\s\S]*How to greet/)
    expect(JSON.stringify(result)).toContain('Say “Moin”')
    expect(await json(ask('/admin/api/skills'))).toMatchObject({
      problems: [{ path: join(folder, 'skills', 'broken', 'SKILL.md'), severity: 'error' }],
      data: [{ name: 'greeting', description: 'How to greet.', source: 'configured', instructions: expect.stringContaining('Moin') }],
    })
    // What instructs the model and may run scripts is not chosen over the network.
    const put = await ask('/admin/api/config', {
      method: 'PUT',
      body: '{"config":{"skills":{"paths":["/tmp"]}}}',
      headers: { 'content-type': 'application/json', 'if-match': '*' },
    })
    expect([put.status, await readFile(file, 'utf8')]).toEqual([422, text])
    const folders = await ask('/admin/api/config', {
      method: 'PUT',
      body: JSON.stringify({ text: `${text}tools: { workspace: / }\nservice: { keepRuns: { folder: /tmp } }\n` }),
      headers: { 'content-type': 'application/json', 'if-match': '*' },
    })
    expect((await json(folders)).error.problems.map(({ path }) => path)).toEqual(['/tools/workspace', '/service/keepRuns/folder'])
    expect(await readFile(file, 'utf8')).toBe(text)
  })

  it('include those of MCP servers; programs are started only by the file, never over the API', async () => {
    const { file, write } = await configFile('model: demo\n')
    const reloaded = reloads()
    const { ask } = await startService({ configFile: file, times, onReload: reloaded.onReload })
    const put = (config: object) =>
      ask('/admin/api/config', {
        method: 'PUT',
        body: JSON.stringify({ config }),
        headers: { 'content-type': 'application/json', 'if-match': '*' },
      })
    const refused = await put({ mcp: { servers: { x: { command: 'touch', args: ['/tmp/owned'] } } } })
    expect([refused.status, (await json(refused)).error.param]).toEqual([422, '/mcp/servers/x'])
    const root = await put({ tools: { builtin: ['read_file'], workspace: '/' } })
    expect([root.status, (await json(root)).error.message]).toEqual([
      422,
      expect.stringContaining('/tools/workspace can only be changed in the file'),
    ])
    await write('mcp: { servers: { gone: { command: no-such-program-at-all } } }\n')
    expect((await reloaded.next()).lastError?.problems).toMatchObject([
      { path: '/mcp', message: expect.stringContaining('could not be opened') },
    ])
    await write(`mcp: ${JSON.stringify({ servers: { odd: odd({ tools: [listed('echo')] }) } })}\n`)
    expect((await reloaded.next()).lastError).toBeNull()
    const tools = await names(ask('/v1/tools'))
    expect(tools).toContain('odd__echo')
    // What is there already may stay when something else is changed.
    const { config } = await json(ask('/admin/api/config'))
    expect((await put({ ...config, instructions: 'new' })).status).toBe(200)
    expect(await names(ask('/v1/tools'))).toEqual(tools)
  })
})
