import { chmod, mkdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseDocument } from 'yaml'
import { createLogger } from '../../src/core/logger.ts'
import { findPreset } from '../../src/models/presets.ts'
import type { Config } from '../../src/service/config/config.ts'
import { ConfigSource } from '../../src/service/config/config-source.ts'
import { editDocument } from '../../src/service/config/edit-document.ts'
import { redactFile } from '../../src/service/config/inline-secrets.ts'
import { parseConfig } from '../../src/service/config/parse-config.ts'
import { createService } from '../../src/service/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { leastCpuMs } from '../reference-pace.ts'
import { configFile, json, reloads, startService } from './start-service.ts'

const times = { debounceMs: 5, pollMs: 3_600_000 }
const local = (baseURL: string, model = 'm') => `model: { provider: custom, model: ${model}, baseURL: '${baseURL}' }\n`
const problemsOf = (text: string, env = {}) =>
  parseConfig(text, 'x.yaml', env).then(
    () => [],
    (error) => error.problems,
  )

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('the configuration of a running service', () => {
  it('S4-23 another provider in the file is used from the next request on, without a restart', async () => {
    await using one = await startStrictProvider({ script: ['from one'] })
    await using two = await startStrictProvider({ script: ['from two', 'from two again'] })
    const { file, write } = await configFile(local(one.baseURL))
    const reloaded = reloads()
    const { post } = await startService({ configFile: file, times, onReload: reloaded.onReload })
    expect((await json(post('/v1/runs', { input: 'x' }))).output).toBe('from one')
    await write(local(two.baseURL))
    expect(await reloaded.next()).toMatchObject({ lastError: null, reloads: 1 })
    expect((await json(post('/v1/runs', { input: 'x' }))).output).toBe('from two')
  })

  it('S4-23 S4-26 another provider saved through the admin API is used too; the registry, listeners and runs stay', async () => {
    await using one = await startStrictProvider({ script: ['from one'] })
    await using two = await startStrictProvider({ script: ['from two'] })
    const { file } = await configFile(`# mine\n${local(one.baseURL)}limits: { maxIterations: 3 } # few\n`)
    const { post, ask, service } = await startService({ configFile: file, times })
    const heard: string[] = []
    service.bus.on('RUN_END', (_end, meta) => heard.push(meta.runId))
    const { registry, model } = service
    const tools = registry.list()
    const before = await json(post('/v1/runs', { input: 'x' }))
    const shown = await json(ask('/admin/api/config'))
    const config = { ...shown.config, model: { provider: 'custom', model: 'm2', baseURL: two.baseURL } }
    const put = await ask('/admin/api/config', {
      method: 'PUT',
      body: JSON.stringify({ config }),
      headers: { 'content-type': 'application/json', 'if-match': shown.etag },
    })
    expect(put.status).toBe(200)
    const after = await json(post('/v1/runs', { input: 'x', messages: before.result.messages }))
    expect(after).toMatchObject({ output: 'from two' })
    expect(after.result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(heard).toEqual([before.id, after.id])
    expect(service.registry).toBe(registry)
    expect(service.registry.list()).toEqual(tools)
    expect(service.registry.list()[0]).toBe(tools[0])
    expect([service.model, service.model.model]).toEqual([model, 'm2'])
    expect((await json(ask('/v1/runs'))).data).toHaveLength(2)
    expect(await readFile(file, 'utf8')).toMatch(/^# mine\nmodel:.*\n(.*\n)*limits: \{ maxIterations: 3 \} # few\n$/)
  })

  it('S4-24 what did not change is not rebuilt', async () => {
    const provider = "providers: { mine: { driver: openai, baseURL: 'http://127.0.0.1:9/v1', apiKeyOptional: true } }\n"
    const { file, write } = await configFile(`${provider}model: mine/m\nmodels: { other: demo }\n`)
    const reloaded = reloads()
    const { service } = await startService({ configFile: file, times, onReload: reloaded.onReload })
    const built = service.model.current
    await write(`# a remark\nmodels: { other: mine/x }\n${provider}model: mine/m\nservice: { requestsPerMinute: 5 }\ninstructions: new\n`)
    await reloaded.next()
    expect(service.limits.requestsPerMinute).toBe(5)
    expect(service.model.current).toBe(built)
    await write(`${provider.replace(':9/', ':8/')}model: mine/m\n`)
    await reloaded.next()
    expect(service.model.current).not.toBe(built)
  })

  it('S4-25 a running run is finished by the model it started with, even in its later turns', async () => {
    const held = Promise.withResolvers<void>()
    await using one = await startStrictProvider({
      script: [{ before: held.promise, toolCalls: [{ name: 'calculate', arguments: { expression: '1+1' } }] }, 'one to the end'],
    })
    await using two = await startStrictProvider({ script: ['two'] })
    const { file, write } = await configFile(local(one.baseURL))
    const reloaded = reloads()
    const { post } = await startService({ configFile: file, times, onReload: reloaded.onReload })
    const asked = json(post('/v1/runs', { input: 'x' }))
    await one.waitForRequest()
    await write(local(two.baseURL))
    await reloaded.next()
    expect((await json(post('/v1/runs', { input: 'y' }))).output).toBe('two')
    held.resolve()
    expect(await asked).toMatchObject({ output: 'one to the end', stopReason: 'answered' })
    expect([one.requests.length, two.requests.length]).toEqual([2, 1])
  })

  it('S4-27 a bad configuration is refused with 422 and the failing paths, and the file is unchanged', async () => {
    const text = 'model: demo # mine\n'
    const { file } = await configFile(text)
    const { ask, service } = await startService({ configFile: file, times })
    const { etag } = await json(ask('/admin/api/config'))
    const put = (body: object) =>
      ask('/admin/api/config', {
        method: 'PUT',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', 'if-match': etag },
      })
    const bad = await put({ config: { model: 'nowhere/x', limits: { maxIterations: 0 }, tools: { builtin: ['rm_rf'] } } })
    expect(bad.status).toBe(422)
    expect((await json(bad)).error.problems.map(({ path }) => path)).toEqual(['/tools/builtin/0', '/limits/maxIterations'])
    const unknown = await put({ config: { model: 'nowhere/x' } })
    expect([unknown.status, (await json(unknown)).error.param]).toEqual([422, '/model'])
    const priceless = await put({
      config: { model: { provider: 'custom', model: 'm', baseURL: 'http://127.0.0.1:9/v1' }, limits: { costUsd: 1 } },
    })
    expect([priceless.status, (await json(priceless)).error.param]).toEqual([422, '/limits/costUsd'])
    for (const config of [{ providers: { x: { driver: 'none' } } }, { tools: { workspace: './not-there' } }, { models: { 'a b': 'demo' } }])
      expect((await put({ config })).status).toBe(422)
    expect((await put({ text: 'model: [' })).status).toBe(422)
    expect(await readFile(file, 'utf8')).toBe(text)
    expect(service.model.model).toBe('demo')
  })

  it('S4-27 keys are never returned, not even those of a file that is refused because it has them', async () => {
    const key = 'sk-abcdefghijklmnopqrstuvwxyz'
    const { file, write } = await configFile('model: demo\n')
    const reloaded = reloads()
    const { ask, log } = await startService({ configFile: file, times, onReload: reloaded.onReload })
    await write(
      `model: { provider: custom, model: m, baseURL: 'http://127.0.0.1:9/v1', apiKey: '${key}' }\nmcp:\n  servers: { a: { command: x, env: { DB_PASSWORD: plain-word } } }\n`,
    )
    const state = await reloaded.next()
    expect(state.lastError?.problems.map(({ path }) => path)).toEqual(['/model/apiKey', '/mcp/servers/a/env/DB_PASSWORD'])
    for (const path of ['/admin/api/config', '/admin/api/state']) {
      const text = await (await ask(path)).text()
      expect(text).not.toContain(key)
      expect(text).not.toContain('plain-word')
    }
    expect(log()).not.toContain(key)
    expect(log()).not.toContain('plain-word')
    const body = JSON.stringify({ model: { provider: 'openai', model: 'm', apiKey: key } })
    const tested = await (
      await ask('/admin/api/providers/test', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    ).text()
    expect(tested).toContain('must not be in the file')
    expect(tested).not.toContain(key)
  })

  it('S4-27 a provider’s name is enough: its address is known', async () => {
    const { file } = await configFile('models: { a: deepseek/x, b: moonshot/x, c: doubao/x, d: ollama/x }\n')
    const { service, ask } = await startService({ configFile: file, times })
    const { models } = await json(ask('/admin/api/state'))
    expect(models.map(({ provider }) => provider)).toEqual(['demo', 'deepseek', 'moonshot', 'doubao', 'ollama'])
    expect(['deepseek', 'moonshot', 'doubao', 'ollama'].map((provider) => findPreset(provider).baseURL)).toEqual([
      'https://api.deepseek.com',
      'https://api.moonshot.cn/v1',
      'https://ark.cn-beijing.volces.com/api/v3',
      'http://localhost:11434/v1',
    ])
    expect(service.model.provider).toBe('demo')
  })

  it('a bad file changes nothing, and the state has the reason until it is corrected', async () => {
    const { file, write } = await configFile('model: demo\n')
    const reloaded = reloads()
    const { ask, post, log } = await startService({ configFile: file, times, onReload: reloaded.onReload })
    await write('model: { provider: demo\n')
    expect((await reloaded.next()).lastError?.problems[0]?.message).toContain('is not valid YAML')
    expect(log()).toContain('the last valid one stays in use')
    expect((await json(post('/v1/runs', { input: 'hello' }))).status).toBe('ended')
    expect((await json(ask('/admin/api/state'))).config).toMatchObject({ lastError: { problems: [{ path: '' }] } })
    await rm(file)
    expect((await reloaded.next()).lastError?.problems[0]?.message).toBe('no longer exists')
    await write('model: demo\n')
    expect((await reloaded.next()).lastError).toBeNull()
  })

  it('notices a file that is replaced by a rename, and one behind symbolic links that are exchanged', async () => {
    const { folder, file } = await configFile('service: { requestsPerMinute: 1 }\n')
    const reloaded = reloads()
    const { service } = await startService({ configFile: file, times, onReload: reloaded.onReload })
    await writeFile(join(folder, 'new'), 'service: { requestsPerMinute: 2 }\n')
    await rename(join(folder, 'new'), file)
    await reloaded.next()
    expect(service.limits.requestsPerMinute).toBe(2)
    // As Kubernetes mounts a ConfigMap: the file leads through `..data` to a folder that is exchanged as a whole.
    for (const n of [3, 4]) {
      await mkdir(join(folder, `..v${n}`))
      await writeFile(join(folder, `..v${n}`, 'toolloop.yaml'), `service: { requestsPerMinute: ${n} }\n`)
    }
    await symlink('..v3', join(folder, '..data'))
    await symlink(join('..data', 'toolloop.yaml'), join(folder, 'link'))
    await rename(join(folder, 'link'), file)
    await reloaded.next()
    expect(service.limits.requestsPerMinute).toBe(3)
    await symlink('..v4', join(folder, '..tmp'))
    await rename(join(folder, '..tmp'), join(folder, '..data'))
    await reloaded.next()
    expect(service.limits.requestsPerMinute).toBe(4)
    expect(await readlink(file)).toBe(join('..data', 'toolloop.yaml'))
  })

  it('two editors can’t overwrite each other’s changes', async () => {
    const { file, write } = await configFile('model: demo\n')
    const { ask } = await startService({ configFile: file, times })
    const { etag } = await json(ask('/admin/api/config'))
    const put = (body: object, headers: Record<string, string>) =>
      ask('/admin/api/config', { method: 'PUT', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })
    expect((await put({ config: {} }, {})).status).toBe(428)
    const [one, two] = await Promise.all([
      put({ text: 'model: demo # one\n' }, { 'if-match': etag }),
      put({ text: 'model: demo # two\n' }, { 'if-match': etag }),
    ])
    expect([one.status, two.status].sort()).toEqual([200, 412])
    const now = await json(ask('/admin/api/config'))
    await write('model: demo # by hand\n')
    expect((await put({ config: {} }, { 'if-match': now.etag })).status).toBe(412)
    expect(await readFile(file, 'utf8')).toBe('model: demo # by hand\n')
  })

  it('a file that is emptied and then written, as some editors do, is not read as an empty one', async () => {
    const { file, write } = await configFile('limits: { maxIterations: 3 }\n')
    const taken: Config[] = []
    const source = new ConfigSource({
      file,
      env: {},
      times: { debounceMs: 400, pollMs: 1_000_000 },
      logger: createLogger({ level: 'silent' }),
      prepare: async (config) => ({ commit: () => void taken.push(config), discard: async () => {} }),
    })
    onTestFinished(() => source.close())
    await source.start()
    await write('')
    const reloaded = source.reload()
    // By then it has been looked at.
    for (let read = 0; read < 8; read++) await readFile(file)
    await write('limits: { maxIterations: 4 }\n')
    await reloaded
    expect(taken).toEqual([{ limits: { maxIterations: 3 } }, { limits: { maxIterations: 4 } }])
    await write('')
    await source.reload()
    expect(taken.at(-1)).toEqual({})
  })

  it('options that are read only at the start are named until they are as they were', async () => {
    const { file, write } = await configFile('service: { port: 0 }\n')
    const reloaded = reloads()
    const { ask, log } = await startService({ configFile: file, times, onReload: reloaded.onReload })
    await write("service: { port: 1, host: '::1', requestsPerMinute: 500 }\n")
    expect((await reloaded.next()).needsRestart).toEqual(['/service/host', '/service/port'])
    expect((await json(ask('/admin/api/state'))).config.needsRestart).toEqual(['/service/host', '/service/port'])
    expect(log()).toContain('take effect after a restart')
    await write('service: { port: 0, host: 127.0.0.1 }\n')
    expect((await reloaded.next()).needsRestart).toEqual([])
  })

  it('an unreadable file is reported once, and no longer when it is readable', async () => {
    const text = 'model: demo\n'
    const { file, folder } = await configFile(text)
    const reloaded = reloads()
    let told = 0
    const { ask, log } = await startService({
      configFile: file,
      times: { debounceMs: 5, pollMs: 10 },
      onReload: (state) => {
        told++
        reloaded.onReload(state)
      },
    })
    await rm(file)
    await mkdir(file)
    while (!(await reloaded.next()).lastError?.problems[0]?.message.includes('EISDIR')) {}
    const shown = await ask('/admin/api/config')
    expect([shown.status, (await json(shown)).error]).toEqual([409, expect.objectContaining({ code: 'config_unreadable' })])
    const put = { method: 'PUT', body: '{"config":{}}', headers: { 'content-type': 'application/json', 'if-match': '*' } }
    expect((await ask('/admin/api/config', put)).status).toBe(409)
    const before = told
    // Several more looks.
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect([told, log().split('EISDIR').length - 1]).toEqual([before, 1])
    await rm(file, { recursive: true })
    await symlink('toolloop.yaml', file)
    while (!(await reloaded.next()).lastError?.problems[0]?.message.includes('ELOOP')) {}
    await writeFile(join(folder, 'same'), text)
    await rename(join(folder, 'same'), file)
    while ((await reloaded.next()).lastError !== null) {}
  })

  it('a save that can’t be written has a reason, and one that can keeps the file private to its owner', async () => {
    const { file, folder } = await configFile('model: demo\n')
    await chmod(file, 0o666)
    const put = { method: 'PUT', body: '{"config":{}}', headers: { 'content-type': 'application/json', 'if-match': '*' } }
    const { ask } = await startService({ configFile: file, times })
    expect((await ask('/admin/api/config', put)).status).toBe(200)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const { ask: askOther } = await startService({ configFile: join(folder, 'no', 'folder', 'toolloop.yaml'), times })
    const refused = await askOther('/admin/api/config', put)
    expect([refused.status, (await json(refused)).error]).toEqual([
      409,
      expect.objectContaining({ code: 'config_read_only', message: expect.stringContaining('ENOENT') }),
    ])
  })

  it('a change during a shutdown is dropped, with what was started for it', async () => {
    const { file, folder, write } = await configFile('model: demo\n')
    const { service, log } = await startService({ configFile: file, times })
    const pidFile = join(folder, 'pid')
    // A server that never says a word.
    await write(`mcp: { servers: { mute: { command: sh, args: ['-c', 'echo $$ > ${pidFile}; exec sleep 1000'] } } }\n`)
    await expect.poll(() => readFile(pidFile, 'utf8').then(Number, () => 0)).toBeGreaterThan(0)
    await service.drain(0)
    const started = Number(await readFile(pidFile, 'utf8'))
    await expect.poll(() => isRunning(started)).toBe(false)
    expect(log()).not.toContain('is invalid')
  })

  it('a listener that throws breaks neither a reload nor a save', async () => {
    const { file, write } = await configFile('model: demo\n')
    const told = Promise.withResolvers<void>()
    const { ask, log } = await startService({
      configFile: file,
      times,
      onReload: () => {
        told.resolve()
        throw new Error('not mine')
      },
    })
    await write('instructions: new\n')
    await told.promise
    const put = { method: 'PUT', body: '{"config":{"model":"demo"}}', headers: { 'content-type': 'application/json', 'if-match': '*' } }
    expect((await ask('/admin/api/config', put)).status).toBe(200)
    expect(log()).toContain('`onReload` failed')
  })

  it('an unknown current model is refused with the names of `models` and the nearest one', async () => {
    const models = 'models:\n  large: demo\n  small: demo\n'
    const { file } = await configFile(`model: demo\n${models}`)
    const { ask } = await startService({ configFile: file })
    const put = async (model: string) => {
      const body = JSON.stringify({ text: `model: ${model}\n${models}` })
      return ask('/admin/api/config', { method: 'PUT', body, headers: { 'content-type': 'application/json', 'if-match': '*' } })
    }
    const refused = await json(put('larg'))
    const message =
      'Expected `model` to name a model as \'provider/model\', or one of `models` (large, small), got `"larg"` (did you mean `large`?)'
    expect(refused.error.problems).toEqual([{ path: '/model', message }])
    expect((await put('small')).status).toBe(200)
  })

  it('a service without a usable configuration is not started', async () => {
    const { file } = await configFile('modle: demo\n')
    const service = createService({ configFile: file, token: 'test-token-operator' })
    await expect(service.ready).rejects.toMatchObject({
      code: 'invalid_option',
      problems: [{ path: '/modle', message: 'is unknown (did you mean `model`?)' }],
    })
    expect((await service.fetch(new Request('http://localhost/healthz'))).status).toBe(503)
  })
})

describe('the contents of a file', () => {
  it('may have variables of the environment, with and without a default, but no secrets that everybody can read', async () => {
    const text = `instructions: 'for \${WHO:-nobody}, $\${literally}'\nmodel: { provider: custom, model: '\${M}', baseURL: 'http://x/v1', headers: { Authorization: 'Bearer \${MY_TOKEN}' } }\n`
    const { config, raw } = await parseConfig(text, 'x.yaml', { M: 'm', MY_TOKEN: 'secret-token' })
    expect(config).toMatchObject({
      instructions: `for nobody, \${literally}`,
      model: { model: 'm', headers: { Authorization: 'Bearer secret-token' } },
    })
    expect(JSON.stringify(raw)).not.toContain('secret-token')
    expect(
      await problemsOf(`instructions: 'tell \${OPENAI_API_KEY} and \${NOT_THERE} and \${1+1}'`, { OPENAI_API_KEY: 'k' }),
    ).toMatchObject([
      { path: '/instructions', message: expect.stringContaining('its name says that it is a secret') },
      { path: '/instructions', message: expect.stringContaining('NOT_THERE') },
      { path: '/instructions', message: expect.stringContaining('has an invalid variable') },
    ])
  })

  it('a variable that stands alone may be a number, or true or false, if a text does not fit', async () => {
    const { config } = await parseConfig(
      `service: { port: '\${PORT}', drainSeconds: '\${DRAIN:-2.5}' }\ntools: { builtin: '\${ALL}' }\ninstructions: '\${PORT}'\n`,
      'x.yaml',
      { PORT: '9000', ALL: 'true' },
    )
    expect(config).toEqual({ service: { port: 9000, drainSeconds: 2.5 }, tools: { builtin: true }, instructions: '9000' })
    for (const [port, env] of [
      [`\${PORT}`, { PORT: 'http' }],
      [`\${PORT}`, { PORT: '08' }],
      [`8\${PORT}`, { PORT: '0' }],
      ['80', {}],
    ] as const)
      expect(await problemsOf(`service: { port: '${port}' }\n`, env)).toEqual([
        { path: '/service/port', message: 'must be of type integer' },
      ])
    expect(await problemsOf('providers: { a/b: { baseURL: 1 } }\n')).toMatchObject([{ path: '/providers/a~1b/baseURL' }])
  })

  it('unsupported tags, and the name of another’s token, are refused', async () => {
    for (const value of ['!env MODEL', "!!js/function 'function () {}'", '!!python/object:os.system x'])
      expect(await problemsOf(`instructions: ${value}\n`)).toMatchObject([{ message: expect.stringContaining('Unresolved tag') }])
    expect(await problemsOf('service: { auth: { tokens: [{ name: operator, roles: [run], env: A }] } }\n')).toMatchObject([
      { path: '/service/auth/tokens/0/name' },
    ])
  })

  it('bombs are refused: aliases, depth, size, prototypes', async () => {
    const levels = [...'abcdefghi'].map(
      (name, at) => `${name}: &${name} [${Array.from({ length: 9 }, () => (at === 0 ? 'x' : `*${'abcdefghi'[at - 1]}`)).join(', ')}]`,
    )
    const refuse = async () => {
      expect(await problemsOf(levels.join('\n'))).toMatchObject([{ message: expect.stringContaining('not valid YAML') }])
      expect(await problemsOf(`mcp: ${'['.repeat(20_000)}`)).toHaveLength(1)
      expect(await problemsOf(`mcp: ${'{a: '.repeat(70)}1${'}'.repeat(70)}`)).toMatchObject([
        { message: expect.stringContaining('Nested deeper') },
      ])
      expect(await problemsOf(`instructions: ${'x'.repeat(200_001)}`)).toHaveLength(1)
      expect(await problemsOf('__proto__: { model: demo }')).toMatchObject([{ message: 'The key `__proto__` is not allowed' }])
    }
    expect(await leastCpuMs(2_000, refuse)).toBeLessThan(2_000)
  })

  it('a missing variable is one problem, however many rules its place has', async () => {
    const text = `model: { provider: openai, model: "\${NO_MODEL}" }\nmodels: { a: "\${NO_A}" }\nlimits: { maxIterations: "\${NO_N}" }\n`
    const problems = await problemsOf(`${text}service: { port: -1 }\n`)
    expect(problems).toEqual([
      { path: '/model/model', message: 'uses the environment variable NO_MODEL, which is not set' },
      { path: '/models/a', message: 'uses the environment variable NO_A, which is not set' },
      { path: '/limits/maxIterations', message: 'uses the environment variable NO_N, which is not set' },
      { path: '/service/port', message: 'must be >= 0' },
    ])
  })

  it('an unknown key is reported with the nearest name', async () => {
    expect(await problemsOf('modle: demo\nlimits: { maxIteration: 3 }\nservice: { wat: 1 }\n')).toEqual([
      { path: '/modle', message: 'is unknown (did you mean `model`?)' },
      { path: '/limits/maxIteration', message: 'is unknown (did you mean `maxIterations`?)' },
      { path: '/service/wat', message: 'is unknown' },
    ])
  })

  it('a file that is not YAML is refused with the place and its lines, but never with a secret', async () => {
    const messageOf = (text: string) =>
      parseConfig(text, 'x.yaml', {}).then(
        () => '',
        (error: Error) => error.message,
      )
    expect(await messageOf('# mine\nmodel: demo\n\tlimits: [1, 2\n')).toBe(
      'x.yaml:3:1 is not valid YAML: Tabs are not allowed as indentation at line 3, column 1\n1 | # mine\n2 | model: demo\n3 | \tlimits: [1, 2\n  | ^',
    )
    expect(await messageOf('model: demo\nlimits:\n  tokens: 1\n  tokens: 2\n')).toMatch(
      /^x\.yaml:4:3 is not valid YAML: Map keys must be unique at line 4, column 3\n/,
    )
    expect(await messageOf('models: { a: demo, "a": demo }\n')).toMatch(/^x\.yaml:1:20 is not valid YAML: Map keys must be unique/)
    expect(await messageOf('a: 1\n---\nb: 1\n')).toMatch(/^x\.yaml:2:1 is not valid YAML: Expected one document/)
    expect(await messageOf('a: 1\nproviders: {x: {apiKey: hunter2}\nb: c: d\n')).toMatch(
      /^x\.yaml:3:.*\n.*\n2 \| providers: \{x: \{apiKey: \[redacted\]\n3 \| b: c/,
    )
    for (const text of ['password: |\n  hunter2\n bad: [\n', 'token: "hunter2\n', `a: 'Bearer\n  hunter2hunter2\nb: [`])
      expect(await messageOf(text)).toSatisfy((message: string) => message.includes('not valid YAML') && !message.includes('hunter2'))
  })

  it('keep their comments after an edit', async () => {
    const text =
      '# head\nmodel: demo # the model\n\n# about limits\nlimits:\n  # how many\n  maxIterations: 3 # few\n  tokens: 5\nlogging: { level: info }\n'
    const document = parseDocument(text)
    expect(await editDocument(document, { model: 'openai/x', limits: { maxIterations: 4 }, instructions: 'be kind' })).toBe(
      '# head\nmodel: openai/x # the model\n\n# about limits\nlimits:\n  # how many\n  maxIterations: 4 # few\ninstructions: be kind\n',
    )
  })

  it('have no secrets if shown as a text, in whatever form', () => {
    const shown = `ref: \${A}\ntoken: \${T}\nurl: 'https://h/' # token: of a comment\ntokens: [{ name: ci, env: T }]\n`
    expect(redactFile(shown)).toBe(shown.replace('of a comment', '[redacted]'))
    expect(redactFile('apiKey: abc\n"password": "x y"\n{ a: 1, secret: hidden, b: [\nurl: https://u:pw@h/')).toBe(
      'apiKey: [redacted]\n"password": [redacted]\n{ a: 1, secret: [redacted]\nurl: https://u:[redacted]@h/',
    )
    expect(redactFile('a: {apiKey: abc}\nb: [{token: "x, y: [1')).toBe('a: {apiKey: [redacted]\nb: [{token: [redacted]')
    expect(redactFile('a:\n  password: |\n    first\n\n    second\n  b: 1\n')).toBe('a:\n  password: [redacted]\n  b: 1\n')
  })

  it('the annotated default is valid, and has every section of the schema', async () => {
    const text = await readFile(new URL('../../config/toolloop.yaml', import.meta.url), 'utf8')
    const { config } = await parseConfig(text, 'toolloop.yaml', {})
    expect(config.model).toBeUndefined()
    const uncommented = text.replace(/^# (?=(?:model|models|providers|instructions|backend|skills|mcp| +\w+):)/gm, '')
    const { config: whole } = await parseConfig(uncommented, 'toolloop.yaml', { SEARCH_TOKEN: 't' })
    expect(Object.keys(whole)).toEqual(
      expect.arrayContaining([
        'model',
        'models',
        'providers',
        'instructions',
        'backend',
        'skills',
        'mcp',
        'tools',
        'limits',
        'service',
        'logging',
      ]),
    )
  })

  it('may be an object instead of a file: validated, shown and read-only', async () => {
    const config = { models: { fast: 'demo' }, limits: { maxIterations: 3 }, service: { maxBodyBytes: 2_000 } } as const
    const { ask, post, service } = await startService({ config })
    expect(service.limits.maxBodyBytes).toBe(2_000)
    expect((await post('/v1/runs', { input: 'x'.repeat(3_000) })).status).toBe(413)
    expect(await json(post('/v1/runs', { input: 'What is 2 + 2?', model: 'fast' }))).toMatchObject({ status: 'ended', model: 'fast' })
    const shown = await json(ask('/admin/api/config'))
    expect([shown.config, shown.state.file]).toEqual([config, null])
    const put = await ask('/admin/api/config', {
      method: 'PUT',
      body: '{"config":{}}',
      headers: { 'content-type': 'application/json', 'if-match': '*' },
    })
    expect([put.status, (await json(put)).error.code]).toEqual([409, 'no_config_file'])
    await expect(createService({ config: { limits: { maxIterations: -1 } } }).ready).rejects.toThrow('/limits/maxIterations')
    expect(() => createService({ config, configFile: 'x' })).toThrow('Expected `config` to be absent when `configFile` is given')
    const model = { provider: 'custom', model: 'm', apiKey: () => 'secret' } as never
    expect(() => createService({ config: { model } })).toThrow('Expected `config…apiKey` to be plain data')
  })
})
