import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Done, Order, WorkerOptions } from './worker.ts'

const program = fileURLToPath(new URL('worker.ts', import.meta.url))
const wrongClock = fileURLToPath(new URL('wrong-clock.ts', import.meta.url))

/** An order was not executed. */
export class OrderFailed extends Error {
  /** `gone`: the worker has died. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** A worker process. */
export class Worker {
  readonly pid: number
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Whether it is stopped or ending, so that it accepts no more orders. */
  isLeaving = false
  readonly #child: ChildProcess
  readonly #orders = new Map<number, PromiseWithResolvers<Done>>()
  #last = 0

  private constructor(child: ChildProcess, log: (line: string) => void) {
    this.#child = child
    this.pid = child.pid ?? 0
    this.ended = once(child, 'exit').then(([code, signal]) => {
      this.isLeaving = true
      for (const { reject } of this.#orders.values()) reject(new OrderFailed('gone', `Worker ${this.pid} has ended`))
      return { code, signal }
    })
    child.on('message', (message: { id: number; done?: Done; failed?: { code: string; message: string }; log?: string }) => {
      const { id, done, failed } = message
      if (message.log !== undefined) log(`${this.pid} ${message.log}`)
      const order = this.#orders.get(id)
      this.#orders.delete(id)
      if (failed !== undefined) order?.reject(new OrderFailed(failed.code, failed.message))
      else order?.resolve(done ?? {})
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => log(`${this.pid} stderr ${text.trimEnd()}`))
  }

  /** Resolves when it accepts orders. `clockMs`: how far its clock is off. */
  static async start(options: WorkerOptions, { clockMs = 0, log }: { clockMs?: number; log(line: string): void }): Promise<Worker> {
    const execArgv = clockMs === 0 ? [] : ['--require', wrongClock]
    const child = fork(program, [JSON.stringify(options)], {
      execArgv,
      env: { ...process.env, CLOCK_OFF_BY_MS: String(clockMs) },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    const worker = new Worker(child, log)
    await Promise.race([once(child, 'message'), worker.ended])
    return worker
  }

  /** Rejects with `OrderFailed`. */
  async ask(order: Order): Promise<Done> {
    const id = ++this.#last
    const answer = Promise.withResolvers<Done>()
    this.#orders.set(id, answer)
    if (this.#child.exitCode !== null || this.#child.signalCode !== null || !this.#child.connected) {
      this.#orders.delete(id)
      throw new OrderFailed('gone', `Worker ${this.pid} has ended`)
    }
    this.#child.send({ id, order }, (error) => error && answer.reject(new OrderFailed('gone', error.message)))
    return answer.promise
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async kill(): Promise<void> {
    this.isLeaving = true
    this.signal('SIGKILL')
    await this.ended
  }
}
