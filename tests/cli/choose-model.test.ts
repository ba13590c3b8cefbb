import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { chooseModel } from '../../src/cli/setup/choose-model.ts'
import { findServers, localServers } from '../../src/cli/setup/local-servers.ts'
import { openChoice } from '../../src/cli/setup/prepare-agent.ts'
import { closeServer } from '../close-server.ts'
import { bareEnv } from './fake-io.ts'
import { tempFolder } from './temp-folder.ts'

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => closeServer(server))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const json =
  (body: unknown, path = '/v1/models'): RequestListener =>
  (request, response) => {
    response.setHeader('content-type', 'application/json')
    response.statusCode = request.url === path ? 200 : 404
    response.end(JSON.stringify(body))
  }
const models = (...ids: string[]) => json({ object: 'list', data: ids.map((id) => ({ id, object: 'model' })) })
const tags = (...list: unknown[]) => json({ models: list }, '/api/tags')
const choose = async (options: { model?: string; baseURL?: string; env?: Record<string, string>; cwd?: string; probeMs?: number }) =>
  chooseModel({ probeMs: 10_000, cwd: options.cwd ?? (await tempFolder()), ...options, env: { ...bareEnv, ...options.env } })

describe('chooseModel', () => {
  it('chooses the demo model if there is nothing else', async () => {
    expect(await choose({})).toEqual({ model: 'demo', name: 'demo', source: 'demo', why: 'no key found' })
  })

  it('prefers --model, TOOLLOOP_MODEL, the file, a key, a local server, in this order', async () => {
    const cwd = await tempFolder({ 'toolloop.yaml': 'model: custom/from-file\n' })
    const env = { TOOLLOOP_MODEL: 'custom/from-env', OPENAI_API_KEY: 'k', OLLAMA_HOST: await serve(tags({ name: 'local' })) }
    expect(await choose({ model: 'custom/from-option', env, cwd })).toMatchObject({ model: 'custom/from-option', source: 'option' })
    expect(await choose({ env, cwd })).toMatchObject({ model: 'custom/from-env', source: 'environment', why: 'TOOLLOOP_MODEL' })
    expect(await choose({ env: { ...env, TOOLLOOP_MODEL: '' }, cwd })).toMatchObject({
      model: 'custom/from-file',
      source: 'file',
      why: 'toolloop.yaml',
    })
    const keyed = await choose({ env: { ...env, TOOLLOOP_MODEL: '' } })
    expect(keyed).toMatchObject({ source: 'key', why: 'OPENAI_API_KEY is set' })
    expect(keyed.name).toMatch(/^openai\/./)
    expect(await choose({ env: { OLLAMA_HOST: env.OLLAMA_HOST } })).toMatchObject({ name: 'ollama/local', source: 'server' })
  })

  it('S3-2 returns the backend in the file, whatever names the model', async () => {
    const cwd = await tempFolder({ 'toolloop.yaml': 'backend: langchain\n' })
    expect(await choose({ cwd })).toEqual({ model: 'demo', name: 'demo', source: 'demo', why: 'no key found', backend: 'langchain' })
    const wrong = await tempFolder({ 'toolloop.yaml': 'backend: graph\n' })
    await expect(choose({ cwd: wrong })).rejects.toMatchObject({
      code: 'invalid_option',
      message: 'toolloop.yaml is invalid: /backend must be one of native, langchain',
    })
  })

  it('S4-16 returns the providers in the file, whatever names the model', async () => {
    const cwd = await tempFolder({
      'toolloop.yaml': 'providers:\n  inhouse: { driver: openai, baseURL: http://127.0.0.1:9/v1, apiKeyOptional: true }\n',
    })
    const providers = { inhouse: { driver: 'openai', baseURL: 'http://127.0.0.1:9/v1', apiKeyOptional: true } }
    const choice = await choose({ model: 'inhouse/m', cwd })
    expect(choice).toMatchObject({ model: 'inhouse/m', source: 'option', providers })
    expect(openChoice(choice)).toMatchObject({ provider: 'inhouse', model: 'm' })
    expect(await choose({ cwd })).toMatchObject({ model: 'demo', providers })
    const broken = await tempFolder({ 'toolloop.yaml': 'providers: [inhouse]\n' })
    await expect(choose({ cwd: broken })).rejects.toThrow('toolloop.yaml is invalid: /providers must be of type object')
  })

  const configured =
    'models:\n  large: { provider: custom, model: big, baseURL: "http://127.0.0.1:9/v1" }\n  small: custom/tiny\nmodel: small\n'

  it('takes a name of `models` in the file: from --model, from TOOLLOOP_MODEL, and from `model`', async () => {
    const cwd = await tempFolder({ 'toolloop.yaml': configured })
    expect(await choose({ model: 'large', cwd })).toMatchObject({
      model: { provider: 'custom', model: 'big' },
      name: 'custom/big',
      source: 'option',
      why: '--model: large',
    })
    expect(await choose({ env: { TOOLLOOP_MODEL: 'small' }, cwd })).toMatchObject({ model: 'custom/tiny', source: 'environment' })
    expect(await choose({ cwd })).toMatchObject({ model: 'custom/tiny', source: 'file', why: 'toolloop.yaml: small' })
    expect(await choose({ model: 'openai/large', cwd })).toMatchObject({ model: 'openai/large', why: '--model' })
    expect(await choose({ model: 'demo', cwd })).toMatchObject({ model: 'demo', why: '--model' })
  })

  it.each([
    ['larg', '--model', 'large'],
    ['gpt-5.2', '--model', 'openai/gpt-5.2'],
    ['smal', 'toolloop.yaml', 'small'],
  ])('refuses the unknown name %s of %s, and suggests %s', async (name, from, meant) => {
    const cwd = await tempFolder({ 'toolloop.yaml': configured.replace('model: small', 'model: smal') })
    await expect(choose(from === '--model' ? { model: name, cwd } : { cwd })).rejects.toMatchObject({
      code: 'invalid_option',
      message: `Expected ${from} to name a model as 'provider/model', or one of \`models\` (large, small), got \`"${name}"\` (did you mean \`${meant}\`?)`,
    })
  })

  it('reads config/toolloop.yaml too, and settings as well as a name', async () => {
    const cwd = await tempFolder({
      'config/toolloop.yaml': 'limits: { maxIterations: 3 }\nmodel:\n  provider: custom\n  model: m\n  baseURL: http://127.0.0.1:9/v1\n',
    })
    expect(await choose({ cwd })).toMatchObject({
      model: { provider: 'custom', model: 'm', baseURL: 'http://127.0.0.1:9/v1' },
      name: 'custom/m',
      source: 'file',
    })
  })

  it.each([
    ['model: [', /^toolloop\.yaml:1:9 is not valid YAML: ./],
    ['- model', /^toolloop\.yaml is invalid: \/ must be a mapping$/],
    ['model: 5', /\/model must be of type string or object$/],
    ['model:\n  provider: x\n  apiKey: hidden-key', /: \/model\/apiKey must not be in the file: [^;]+; \/model\/model is missing$/],
  ])('refuses the file %j', async (content, message) => {
    const cwd = await tempFolder({ 'toolloop.yaml': content })
    await expect(choose({ cwd })).rejects.toMatchObject({ code: 'invalid_option', message: expect.stringMatching(message) })
  })

  it('continues if the file does not name a model', async () => {
    expect(await choose({ cwd: await tempFolder({ 'toolloop.yaml': '# model: openai/gpt\n' }) })).toMatchObject({ source: 'demo' })
    expect(await choose({ cwd: await tempFolder({ 'toolloop.yaml': 'limits: {}\n' }) })).toMatchObject({ source: 'demo' })
  })

  it('treats an empty key as none', async () => {
    expect(await choose({ env: { OPENAI_API_KEY: ' ' } })).toMatchObject({ source: 'demo' })
  })
})

describe('--base-url', () => {
  it('applies to the configured model', async () => {
    expect(await choose({ model: 'openai/a/b', baseURL: 'http://127.0.0.1:9/v1' })).toMatchObject({
      model: { provider: 'openai', model: 'a/b', baseURL: 'http://127.0.0.1:9/v1' },
      name: 'openai/a/b',
    })
    expect(await choose({ model: 'plain', baseURL: 'http://127.0.0.1:9/v1' })).toMatchObject({
      model: { provider: 'custom', model: 'plain', baseURL: 'http://127.0.0.1:9/v1' },
    })
  })

  it('without a model uses the server’s first one, except embedding models', async () => {
    const baseURL = `http://${await serve(models('text-embedding-3', 'chat-1', 'chat-2'))}/v1`
    expect(await choose({ baseURL, env: { OPENAI_API_KEY: 'k' } })).toMatchObject({
      model: { provider: 'custom', model: 'chat-1', baseURL },
      source: 'server',
    })
  })

  it('reports a server that has no list of models', async () => {
    const baseURL = `http://${await serve((_request, response) => response.end('<html>'))}/v1`
    await expect(choose({ baseURL })).rejects.toMatchObject({
      code: 'connection_failed',
      message: expect.stringContaining('Name one with --model'),
    })
    await expect(choose({ baseURL: 'localhost:8080' })).rejects.toMatchObject({ code: 'invalid_option' })
  })
})

describe('findServers', () => {
  it('returns servers in order, each asked at its own address; ignores other servers', async () => {
    const [ollama, lmstudio, vllm] = await Promise.all([
      serve(json({ models: null }, '/api/tags')),
      serve(models('nomic-embed-text', 'qwen')),
      serve((_request, response) => response.end('<html>a web page</html>')),
    ])
    const candidates = localServers({ OLLAMA_HOST: ollama, LMSTUDIO_HOST: `http://${lmstudio}/`, VLLM_HOST: vllm })
    const found = await findServers(candidates, 5_000)
    expect(found).toEqual([
      { provider: 'ollama', baseURL: `http://${ollama}/v1`, models: [] },
      { provider: 'lmstudio', baseURL: `http://${lmstudio}/v1`, models: ['qwen'] },
    ])
    // Ollama runs but has no models, so the next server is chosen.
    expect(await choose({ env: { OLLAMA_HOST: ollama, LMSTUDIO_HOST: lmstudio } })).toMatchObject({
      name: 'lmstudio/qwen',
      source: 'server',
    })
  })

  it('puts Ollama’s models that call tools first, and leaves out those that can’t chat', async () => {
    const ollama = await serve(
      tags(
        { name: 'old-one' },
        { name: 'nomic-embed-text' },
        { name: 'bge-m3', capabilities: ['embedding'] },
        { name: 'plain', capabilities: ['completion'] },
        { name: 'caller', capabilities: ['completion', 'tools', 'thinking'] },
        'no model',
      ),
    )
    const [found] = await findServers(localServers({ OLLAMA_HOST: ollama }).slice(0, 1), 5_000)
    expect(found?.models).toEqual(['caller', 'old-one', 'plain'])
    expect(await choose({ env: { OLLAMA_HOST: ollama } })).toMatchObject({ name: 'ollama/caller', source: 'server' })
  })

  it('leaves out servers that do not answer in time', async () => {
    const silent = await serve(() => {})
    expect(await choose({ env: { OLLAMA_HOST: silent }, probeMs: 50 })).toMatchObject({ source: 'demo' })
  })

  it('uses the addresses in the variables', () => {
    const urls = (env: Record<string, string>) => localServers(env).map(({ baseURL }) => baseURL)
    expect(urls({})).toEqual(['http://127.0.0.1:11434/v1', 'http://127.0.0.1:1234/v1', 'http://127.0.0.1:8000/v1'])
    expect(urls({ OLLAMA_HOST: '0.0.0.0', LMSTUDIO_HOST: ':4321', VLLM_HOST: 'https://gpu.lan/' })).toEqual([
      'http://127.0.0.1:11434/v1',
      'http://127.0.0.1:4321/v1',
      'https://gpu.lan/v1',
    ])
  })
})
