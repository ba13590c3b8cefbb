import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { type Answer, configFile, json, token } from './start-service.ts'

const program = fileURLToPath(new URL('journal-service.ts', import.meta.url))

export interface KilledService {
  child: ChildProcess
  /** From the start of its process until it listens, in milliseconds. */
  readyMs: number
  rssMB: number
  ask(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  kill(): Promise<void>
}

export interface SharedFolder {
  folder: string
  /** `env`: of this process alone. */
  start(env?: NodeJS.ProcessEnv): Promise<KilledService>
  /** What tools have done, in any process. */
  world(): string[]
}

/** A folder that the services of any number of processes share; `env`: of these processes. */
export async function sharedFolder(service = 'keepRuns: { folder: kept }', env: NodeJS.ProcessEnv = {}): Promise<SharedFolder> {
  const tokens = 'auth: { tokens: [{ name: ann, roles: [run], env: ANN }] }'
  const { folder, file } = await configFile(`service: { ${service}, ${tokens} }\n`)
  const world = () => {
    const path = join(folder, 'world.txt')
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  }
  return { folder, world, start: (own = {}) => startProcess(folder, file, { ...env, ...own }) }
}

async function startProcess(folder: string, file: string, env: NodeJS.ProcessEnv): Promise<KilledService> {
  const started = performance.now()
  const child = fork(program, [token, folder, file], { stdio: 'inherit', execArgv: [], env: { ...process.env, ...env } })
  const exit = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await exit
  }
  onTestFinished(kill)
  const [{ url, rssMB }] = (await Promise.race([
    once(child, 'message'),
    exit.then(([code]) => Promise.reject(new Error(`The service ended with ${code}`))),
  ])) as [{ url: string; rssMB: number }]
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })
  return { child, readyMs: performance.now() - started, rssMB, ask, post, kill }
}

export function approvals({ pending }: Answer): object[] {
  return pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: true, acknowledgeHidden: true }))
}

/** The run when it is as asked for. */
export async function untilRun({ ask }: Pick<KilledService, 'ask'>, id: string, isAsAsked: (run: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const run = await json(ask(`/v1/runs/${id}`))
    if (isAsAsked(run)) return run
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
