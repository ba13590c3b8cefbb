import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { eventStream, startServer, textEvents } from './local-server.ts'
import { startProxy } from './proxy.ts'

describe('a proxy in the environment', () => {
  const script = (baseURL: string) => `
    import { createModel } from ${JSON.stringify(fileURLToPath(new URL('../../src/models/create-model.ts', import.meta.url)))}
    const model = createModel({ provider: 'custom', model: 'm', apiKey: 'k', baseURL: ${JSON.stringify(baseURL)}, maxRetryDelayMs: 0 })
    for (let i = 0; i < 3; i++) console.log((await model.generate({ messages: [{ role: 'user', content: 'x' }] })).text)`

  it.each([
    ['NODE_USE_ENV_PROXY=1', { NODE_USE_ENV_PROXY: '1' }, []],
    ['NODE_OPTIONS=--use-env-proxy', { NODE_OPTIONS: '--use-env-proxy' }, []],
    ['--use-env-proxy', {}, ['--use-env-proxy']],
  ])('is used with %s, also by a request that is retried on a fresh connection', async (_name, env, args) => {
    await using proxy = await startProxy()
    const past: (number | undefined)[] = []
    await using server = await startServer((response, _request, index) => {
      const port = response.socket?.remotePort
      if (!proxy.hasPort(port)) past.push(port)
      // The second request uses the connection of the first, which turns out to be closed.
      if (index === 1) response.destroy()
      else eventStream(response).end(textEvents(String(index)))
    })
    const { stdout } = await promisify(execFile)(process.execPath, [...args, '--input-type=module', '-e', script(server.baseURL)], {
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, HTTP_PROXY: proxy.url, ...env },
      timeout: 50_000,
    })
    expect(stdout.split('\n')).toEqual(['0', '2', '3', ''])
    expect(new Set(proxy.tunnels)).toEqual(new Set([new URL(server.baseURL).host]))
    expect(past).toEqual([])
  })
})

describe('only HTTP_PROXY', () => {
  const ask = async (baseURLs: string[], env: Record<string, string>, before = ''): Promise<unknown> => {
    const script = `
      import { createModel } from ${JSON.stringify(fileURLToPath(new URL('../../src/models/create-model.ts', import.meta.url)))}
      ${before}
      const answers = []
      for (const baseURL of ${JSON.stringify(baseURLs)}) {
        const model = createModel({ provider: 'custom', model: 'm', apiKey: 'k', baseURL, maxRetries: 0 })
        answers.push(await model.generate({ messages: [{ role: 'user', content: 'x' }] }).then(({ text }) => text, ({ code }) => code))
      }
      console.log(JSON.stringify(answers))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
      timeout: 50_000,
    })
    return JSON.parse(stdout)
  }
  const far = 'http://provider.test/v1'

  it.each(['HTTP_PROXY', 'http_proxy'])('%s is used, but not for hosts in NO_PROXY or for this machine', async (name) => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    await using proxy = await startProxy(server.baseURL)
    // An address that leads here but is not one of this machine's.
    const excepted = server.baseURL.replace('127.0.0.1', '0.0.0.0')
    expect(await ask([far, far, server.baseURL, excepted], { [name]: proxy.url, NO_PROXY: '0.0.0.0' })).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect(new Set(proxy.tunnels)).toEqual(new Set(['provider.test:80']))
  })

  it('is used by an application that has used fetch, or has set a plain Agent', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    await using proxy = await startProxy(server.baseURL)
    const env = { HTTP_PROXY: proxy.url }
    expect(await ask([far], env, `await (await fetch('data:,')).text()`)).toEqual(['ok'])
    expect(await ask([far], env, `import { Agent, setGlobalDispatcher } from 'undici'\nsetGlobalDispatcher(new Agent())`)).toEqual(['ok'])
    expect(proxy.tunnels).toEqual(['provider.test:80', 'provider.test:80'])
  })

  it.each([
    ['a MockAgent', 'new MockAgent()'],
    ['an Agent with an interceptor', `new Agent().compose(() => () => { throw new Error('x') })`],
    ['an object of its own', `{ dispatch() { throw new Error('x') } }`],
  ])('is not used if the application has set %s', async (_what, dispatcher) => {
    await using proxy = await startProxy()
    const before = `import { Agent, MockAgent, setGlobalDispatcher } from 'undici'
      const dispatcher = ${dispatcher}
      dispatcher.disableNetConnect?.()
      setGlobalDispatcher(dispatcher)`
    expect(await ask([far], { HTTP_PROXY: proxy.url }, before)).toEqual(['connection_failed'])
    expect(proxy.tunnels).toEqual([])
  })

  it('that is unreachable is an error that may pass', async () => {
    expect(await ask([far], { HTTP_PROXY: 'http://127.0.0.1:1' })).toEqual(['connection_failed'])
  })
})
