import { availableParallelism } from 'node:os'
import { ToolloopError } from '../../../core/errors.ts'
import { textOfPieces } from '../../../core/json/json-pieces.ts'
import type { SandboxLimits } from '../sandbox.ts'
import { compileEngine, VmThread } from './vm-sandbox.ts'
import type { RoundAnswer, RoundCall, ToVm } from './vm-worker.ts'

/** A script written by a model. `now`: the time that the script sees, in milliseconds since 1970. */
export interface InlineScript {
  code: string
  now: number
}

/** The limits of a script. `timeoutMs` does not include the time in which the script waits for calls. */
export interface InlineLimits extends Pick<SandboxLimits, 'timeoutMs' | 'memoryBytes' | 'outputBytes'> {
  /** Maximum number of calls that the script may make. */
  calls: number
}

/**
 * The state of a script that has stopped. Either it waits for calls, or it has ended with a value as JSON (`''` for no value) or with a
 * description of the problem.
 */
export type ScriptRound =
  | { calls: readonly RoundCall[] }
  | { ok: true; json: string; output: string }
  | { ok: false; problem: string; output: string }

/** How long to keep an idle thread, in milliseconds. */
const keptMs = 10_000

/**
 * The threads that run scripts written by models. While a script waits for its calls, another script may take its thread. The waiting
 * script then loses its VM. It can be started again with the earlier answers, because scripts are deterministic.
 */
class ScriptThreads {
  readonly #most = Math.min(4, availableParallelism())
  readonly #idle: VmThread[] = []
  /** The scripts that have a thread, oldest first. */
  readonly #held = new Set<ScriptVm>()
  readonly #queue: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  async take(vm: ScriptVm, signal: AbortSignal): Promise<VmThread> {
    const engine = await compileEngine()
    for (;;) {
      signal.throwIfAborted()
      const resting = this.#held.size < this.#most ? undefined : [...this.#held].find(({ isResting }) => isResting)
      if (this.#held.size < this.#most || resting !== undefined) {
        const thread = resting === undefined ? this.#idle.pop() : resting.leave()
        if (resting !== undefined) this.#held.delete(resting)
        this.#held.add(vm)
        return thread ?? new VmThread(engine)
      }
      await this.#turn(signal)
    }
  }

  /** Called when a script begins to wait for its calls, or has ended. `thread` is set if the script has ended. */
  release(vm: ScriptVm, thread?: VmThread): void {
    if (!vm.isResting) this.#held.delete(vm)
    if (thread?.usable === true) {
      this.#idle.push(thread)
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.#endIdle(), keptMs)
      this.#timer.unref()
    }
    this.#queue.shift()?.()
  }

  #endIdle(): void {
    for (const thread of this.#idle.splice(0)) void thread.end()
  }

  /** Waits until a thread may have become free. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#queue.push(resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    const at = this.#queue.indexOf(resolve)
    if (at !== -1) this.#queue.splice(at, 1)
    // An aborted caller passes its turn to the next caller.
    else if (signal.aborted) this.#queue.shift()?.()
  }
}

const threads = new ScriptThreads()

/** The VM of one script. The script stops when it needs the results of its calls, and continues when they arrive. */
export class ScriptVm {
  readonly #script: InlineScript
  readonly #limits: InlineLimits
  #thread: VmThread | undefined
  #isResting = false

  constructor(script: InlineScript, limits: InlineLimits) {
    this.#script = script
    this.#limits = limits
  }

  /** Whether the script waits for its calls. Such a script may lose its VM, because it can be started again later. */
  get isResting(): boolean {
    return this.#isResting
  }

  /** Whether the VM still exists, so that the script can continue with answers. */
  get isOpen(): boolean {
    return this.#thread !== undefined
  }

  /** Starts the script. Like `resume`, rejects with the signal's reason, `tool_failed` or `tool_timeout`, and then closes the VM. */
  async start(signal: AbortSignal): Promise<ScriptRound> {
    this.close()
    this.#thread = await threads.take(this, signal)
    const { calls: mostCalls, ...limits } = this.#limits
    return this.#run({ kind: 'run', source: { ...this.#script }, ...limits, mostCalls }, signal)
  }

  /** Answers all calls that the script waits for. */
  async resume(answers: readonly RoundAnswer[], signal: AbortSignal): Promise<ScriptRound> {
    this.#isResting = false
    return this.#run({ kind: 'answers', answers }, signal)
  }

  /** Marks the script as waiting for its calls. Calls may take long, so another script may take its thread. */
  rest(): void {
    if (this.#thread === undefined) return
    this.#isResting = true
    threads.release(this)
  }

  /** Removes the thread from this VM and returns it, so that another script can use it. */
  leave(): VmThread | undefined {
    const thread = this.#thread
    this.#thread = undefined
    this.#isResting = false
    return thread
  }

  close(): void {
    const thread = this.leave()
    if (thread !== undefined) threads.release(this, thread)
  }

  async #run(message: ToVm, signal: AbortSignal): Promise<ScriptRound> {
    if (this.#thread === undefined) throw new ToolloopError('tool_failed', 'The script was left.')
    try {
      const end = await this.#thread.runRound(message, this.#limits.timeoutMs, signal)
      if (end.kind === 'round') return { calls: end.calls }
      const { result, output } = end
      this.close()
      if (end.overTime) return { ok: false, problem: overTime(this.#limits), output }
      return result.ok ? { ok: true, json: textOfPieces(result.value), output } : { ok: false, problem: result.problem, output }
    } catch (error) {
      this.close()
      throw error
    }
  }
}

function overTime({ timeoutMs }: InlineLimits): string {
  return `The script computed for longer than ${timeoutMs} ms and was stopped.`
}
