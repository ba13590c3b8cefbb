import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { token } from './start-service.ts'

export interface MeasuredService {
  url: string
  ask(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown): Promise<Response>
  /**
   * Since the last time it was asked: the longest turn of its event loop, in milliseconds of its thread's own processor time, which another
   * load on the machine is not part of; and the memory it has now.
   */
  measure(): Promise<{ stallMs: number; memoryMB: number }>
  /** Kills it. */
  end(): Promise<void>
}

/** The promise: no request keeps everybody else waiting for longer. */
export const longestStallMs = 50
/** Of what is not promised (a whole configuration of an administrator, twenty large requests at once), and of what is measured once, with cold code. */
export const longestUnpromisedStallMs = 200

/** What comes of `work`, and its longest stall. What is too long is done again, five times at most: code that runs for the first time is not compiled yet. */
export async function stallOf<T>({ measure }: MeasuredService, work: () => Promise<T>): Promise<{ value: T; stallMs: number }> {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 1; ; tries++) {
    await measure()
    const value = await work()
    least = Math.min(least, (await measure()).stallMs)
    if (least <= longestStallMs || tries === 6) return { value, stallMs: Math.round(least) }
  }
}

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
  // A test may do many things with it at once.
  child.setMaxListeners(100)
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
  // What a process does for the first time, such as loading its modules, is not what is measured.
  for (const content of ['hello', 'call echo {"text":"x"}'])
    await (await post('/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content }] })).text()
  await measure()
  return { url, ask, post, measure, end }
}
