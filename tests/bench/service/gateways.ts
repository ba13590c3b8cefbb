/** What stands between a client and the provider, each started as its users start it, in a process of its own. */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const portkeyVersion = '1.15.2'
/** With later ones, streamed answers of that version are errors ("immutable"). */
const honoServerVersion = '1.13.8'
const root = new URL('../../../', import.meta.url)

/** What a request needs to reach the provider's answer `scenario`. */
export interface Target {
  url: string
  /** As the client names it. */
  model: string
  headers: Record<string, string>
}

export interface Program {
  name: string
  script: string
  args(port: number): string[]
  /** A path that answers with 200 once it has started. */
  readyPath: string
  env?: NodeJS.ProcessEnv
  target(url: string, path: string, scenario: string): Target
}

/** A process that runs a program, and reports what it uses. */
export interface Gateway {
  name: string
  process: ChildProcess
  target(path: string, scenario: string): Target
  usage(): Promise<Usage>
  close(): Promise<void>
}

export interface Usage {
  cpuMs: number
  rssMB: number
}

/** Loaded before a program: reports what its process uses when it is asked. */
const probe = `data:text/javascript,${encodeURIComponent(`
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send({ cpuMs: (user + system) / 1000, rssMB: process.memoryUsage.rss() / 2 ** 20 })
  })
  process.channel.unref()
  process.on('disconnect', () => process.exit())
`)}`

const token = 'a-token-for-the-benchmark-0123456789'

/** `toolloop serve` of the built package, with the configuration that the workloads need, and `more` settings of the service. */
export function toolloop(provider: string, folder: string, more = ''): Program {
  const model = (scenario: string) =>
    `{ provider: custom, model: bench, baseURL: '${provider}/${scenario}/v1', apiKey: '\${PROVIDER_KEY}' }`
  const most = 1_000_000
  writeFileSync(
    join(folder, 'toolloop.yaml'),
    `model: ${model('text')}
models:
  call: ${model('call')}
  ask: ${model('ask')}
  hold: ${model('hold')}
  responses: { provider: openai-responses, model: bench, baseURL: '${provider}/text/v1', apiKey: '\${PROVIDER_KEY}' }
tools: { builtin: false }
service: { requestsPerMinute: ${most}, concurrentRuns: ${most}, openStreams: ${most}, waitingRuns: ${most}, ${more} }
`,
  )
  const numbers = `{ type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] }`
  writeFileSync(
    join(folder, 'tools.mjs'),
    `import { defineTool } from 'toolloop'
const parameters = ${numbers}
export const add = defineTool({ name: 'add', description: 'Adds.', parameters, execute: ({ a, b }) => a + b })
export const refund = defineTool({ name: 'refund', description: 'Pays back.', parameters, approval: true, execute: () => 'paid' })
`,
  )
  const file = join(folder, 'toolloop.yaml')
  return {
    name: 'toolloop',
    script: fileURLToPath(new URL('dist/cli/main.js', root)),
    args: (port) => ['serve', '--config', file, '--tools', join(folder, 'tools.mjs'), '--port', String(port)],
    readyPath: '/healthz',
    env: { TOOLLOOP_TOKEN: token, PROVIDER_KEY: 'key-of-the-provider' },
    target: (url, path, scenario) => ({
      url: url + path,
      model: path.endsWith('/responses') ? 'responses' : scenario === 'text' ? 'toolloop' : scenario,
      headers: { authorization: `Bearer ${token}` },
    }),
  }
}

export function plainProxy(provider: string): Program {
  return {
    name: 'plain proxy',
    script: fileURLToPath(new URL('proxy.js', import.meta.url)),
    args: (port) => [provider, String(port)],
    readyPath: '/',
    target: (url, path, scenario) => ({ url: `${url}/${scenario}${path}`, model: 'bench', headers: { authorization: 'Bearer key' } }),
  }
}

/** Installs Portkey's gateway outside the project. Undefined if npm can't get it. */
export function portkey(provider: string): Program | undefined {
  const folder = join(tmpdir(), `toolloop-bench-portkey-${portkeyVersion}`)
  const script = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  if (!existsSync(script)) {
    mkdirSync(folder, { recursive: true })
    const wanted = { dependencies: { '@portkey-ai/gateway': portkeyVersion }, overrides: { '@hono/node-server': honoServerVersion } }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(wanted))
    try {
      execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'ignore' })
    } catch {
      return undefined
    }
  }
  return {
    name: 'Portkey',
    script,
    args: (port) => [`--port=${port}`, '--headless'],
    readyPath: '/',
    target: (url, path, scenario) => ({
      url: url + path,
      model: 'bench',
      headers: {
        authorization: 'Bearer key',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${provider}/${scenario}/v1`,
      },
    }),
  }
}

/** Resolves with its milliseconds once a program answers with 200. */
export async function start(program: Program, execArgv: string[] = ['--import', probe]): Promise<Gateway & { readyMs: number }> {
  const port = await freePort()
  const started = performance.now()
  const child = fork(program.script, program.args(port), {
    execArgv,
    env: { PATH: process.env.PATH, ...program.env },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const url = `http://127.0.0.1:${port}`
  while (!(await answers(url + program.readyPath))) {
    if (child.exitCode !== null) throw new Error(`${program.name} ended with exit code ${child.exitCode}`)
    await delay(2)
  }
  return {
    name: program.name,
    process: child,
    readyMs: performance.now() - started,
    target: (path, scenario) => program.target(url, path, scenario),
    usage: async () => {
      const answered = once(child, 'message')
      child.send('usage')
      const [usage] = await answered
      return usage as Usage
    },
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get(url, { agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    asked.on('error', () => resolve(false))
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
