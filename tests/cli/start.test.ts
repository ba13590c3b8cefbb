import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { configFile } from '../service/start-service.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** Writes each package that a process loads, and each thread that it starts, to file descriptor 3. */
const probe = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from 'node:fs'
  import { registerHooks } from 'node:module'
  const known = new Set()
  const tell = (name) => {
    if (name !== undefined && !known.has(name)) writeSync(3, name + '\\n')
    known.add(name)
  }
  registerHooks({
    load(url, context, next) {
      tell(/.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1])
      return next(url, context)
    },
  })
  process.on('worker', () => tell('a thread'))
`)}`

it('toolloop serve loads only what its configuration uses before it answers', async () => {
  const { folder, file } = await configFile(
    `model: { provider: custom, model: small, baseURL: 'http://127.0.0.1:9/v1', apiKey: '\${SMALL_KEY}' }\n`,
  )
  const child = spawn(process.execPath, ['--import', probe, main, 'serve', '--config', file, '--port', '0'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      TOOLLOOP_TOKEN: 'a-token-of-a-test-0123456789',
      SMALL_KEY: 'key-0123456789',
    },
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const loaded: string[] = []
  const [, stdout, , told] = child.stdio
  if (!(told instanceof Readable) || stdout === null) throw new Error('Expected pipes from the process')
  createInterface({ input: told }).on('line', (line) => loaded.push(line))
  let url: string | undefined
  for await (const line of createInterface({ input: stdout })) {
    url = /^Listening on (\S+)$/.exec(line)?.[1]
    if (url !== undefined) break
  }
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  const ended = once(child, 'close')
  child.kill('SIGKILL')
  await ended
  expect(loaded.sort()).toEqual([
    '@hono/node-server',
    'ajv',
    'commander',
    'eventemitter3',
    'fast-deep-equal',
    'fast-uri',
    'fraction.js',
    'hono',
    'ipaddr.js',
    'json-schema-traverse',
    'p-timeout',
    'yaml',
  ])
})
