import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { token } from './start-service.ts'

export interface MeasuredService {
  url: string
  ask(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown): Promise<Response>
  /** Since the last time it was asked: the longest its event loop was held up, in milliseconds; and the memory it has now. */
  measure(): Promise<{ stallMs: number; memoryMB: number }>
  /** Kills it. */
  end(): Promise<void>
}

/** Generous, for a machine that does ten other things too: what freezes a service takes far longer. Where nothing else is done it is below 50. */
export const longestStallMs = 5_000

/** The service of `service-process.ts`, in a process of its own with a heap of at most `heapMB`. Ended with the test. */
export async function measuredService({
  cwd = '.',
  configFile,
  heapMB = 512,
}: {
  cwd?: string
  configFile?: string
  heapMB?: number
} = {}): Promise<MeasuredService> {
  const program = fileURLToPath(new URL('service-process.ts', import.meta.url))
  const child = fork(program, [token, cwd, ...(configFile === undefined ? [] : [configFile])], {
    execArgv: ['--no-warnings', `--max-old-space-size=${heapMB}`],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  // One that is held up would not heed anything else.
  onTestFinished(() => void child.kill('SIGKILL'))
  const told = async () => {
    const ended = new AbortController()
    try {
      return await Promise.race([
        once(child, 'message', { signal: ended.signal }).then(([message]) => message),
        once(child, 'exit', { signal: ended.signal }).then(([code, signal]) => {
          throw new Error(`The service ended with ${code ?? signal}`)
        }),
      ])
    } finally {
      ended.abort()
    }
  }
  const { url } = await told()
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
  const post = (path: string, body: unknown) =>
    ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  const measure = () => {
    const answer = told()
    child.send('measure')
    return answer
  }
  const end = async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await measure()
  return { url, ask, post, measure, end }
}
