import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { atReferencePace } from '../reference-pace.ts'
import { token } from './start-service.ts'

export interface MeasuredService {
  url: string
  ask(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown): Promise<Response>
  /**
   * The longest turn of its event loop since the last measurement, in milliseconds of its thread's own CPU time at the pace of the reference
   * machine; the CPU time of all turns together; and the memory that it
   * holds now, without garbage.
   */
  measure(): Promise<{ stallMs: number; cpuMs: number; heldMB: number }>
  /** Kills it. */
  end(): Promise<void>
}

/**
 * A request fails a test if it blocks the event loop for longer. The promise is 50 ms; the rest is for a machine that shares its cores with
 * others, and takes longer for everything.
 */
export const maxStallMs = 70

/** The result of `work` and its longest stall. Repeats `work` up to five times while the stall is too long: code that runs for the first time is not compiled yet. */
export async function stallOf<T>({ measure }: MeasuredService, work: () => Promise<T>): Promise<{ value: T; stallMs: number }> {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 1; ; tries++) {
    await measure()
    const value = await work()
    least = Math.min(least, (await measure()).stallMs)
    if (least <= maxStallMs || tries === 6) return { value, stallMs: Math.round(least) }
  }
}

/** The service of `service-process.ts`, in a process with a heap of at most `heapMB`. Killed after the test. */
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
    execArgv: ['--no-warnings', '--expose-gc', `--max-old-space-size=${heapMB}`],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  // A blocked process handles no other signal.
  onTestFinished(() => void child.kill('SIGKILL'))
  // A test may have many measurements open at once.
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
  const measure = async () => {
    const answer = told()
    child.send('measure')
    const measured = await answer
    const { stallMs } = measured
    return { ...measured, stallMs: stallMs <= maxStallMs ? stallMs : atReferencePace(stallMs) }
  }
  const end = async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  // Loading modules and the like, which happens once, is not measured.
  for (const content of ['hello', 'call echo {"text":"x"}'])
    await (await post('/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content }] })).text()
  await measure()
  return { url, ask, post, measure, end }
}
