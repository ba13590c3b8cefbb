import { availableParallelism } from 'node:os'
import { ToolloopError } from '../../../core/errors.ts'
import { textOfPieces } from '../../../core/json/json-pieces.ts'
import type { SandboxLimits } from '../sandbox.ts'
import { compileEngine, VmThread } from './vm-sandbox.ts'
import type { RoundAnswer, RoundCall, ToVm } from './vm-worker.ts'

/** A script that a model has written, and the time that it is told. */
export interface InlineScript {
  code: string
  now: number
}

/** What a script may use; `timeoutMs` without the time in which it waits for its calls. */
export interface InlineLimits extends Pick<SandboxLimits, 'timeoutMs' | 'memoryBytes' | 'outputBytes'> {
  /** How many calls it may make. */
  calls: number
}

/** Where a script has come to: it waits for calls, or has ended with a value as JSON (`''` for none) or with a problem in words. */
export type ScriptRound =
  | { calls: readonly RoundCall[] }
  | { ok: true; json: string; output: string }
  | { ok: false; problem: string; output: string }

/** How long a thread that nothing runs in is kept, in milliseconds. */
const keptMs = 10_000

/**
 * The threads in which scripts run that models have written. A script that waits for its calls keeps its VM only as long as no other needs the thread:
 * it always does the same, so it can be started again with the answers that it had.
 */
class ScriptThreads {
  readonly #most = Math.min(4, availableParallelism())
  readonly #idle: VmThread[] = []
  /** Those with a script, the longest first. */
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

  /** The script rests, or has ended; `thread` is free then. */
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

  /** Waits until a thread may be free. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#queue.push(resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    const at = this.#queue.indexOf(resolve)
    if (at !== -1) this.#queue.splice(at, 1)
    // Told and aborted at once: the turn is the next one's.
    else if (signal.aborted) this.#queue.shift()?.()
  }
}

const threads = new ScriptThreads()

/** The VM of one script, which runs from one round of calls to the next. */
export class ScriptVm {
  readonly #script: InlineScript
  readonly #limits: InlineLimits
  #thread: VmThread | undefined
  #isResting = false

  constructor(script: InlineScript, limits: InlineLimits) {
    this.#script = script
    this.#limits = limits
  }

  /** Whether it waits for its calls, and could be started again. */
  get isResting(): boolean {
    return this.#isResting
  }

  /** Whether it can go on with answers. */
  get isOpen(): boolean {
    return this.#thread !== undefined
  }

  /** Starts the script. Rejects with the signal's reason, `tool_failed` or `tool_timeout`, as `goOn` does; it is closed then. */
  async start(signal: AbortSignal): Promise<ScriptRound> {
    this.close()
    this.#thread = await threads.take(this, signal)
    const { calls: mostCalls, ...limits } = this.#limits
    return this.#run({ kind: 'run', source: { ...this.#script }, ...limits, mostCalls }, signal)
  }

  /** Answers all calls of its last round. */
  async goOn(answers: readonly RoundAnswer[], signal: AbortSignal): Promise<ScriptRound> {
    this.#isResting = false
    return this.#run({ kind: 'answers', answers }, signal)
  }

  /** Its calls are carried out, which may take long. */
  rest(): void {
    if (this.#thread === undefined) return
    this.#isResting = true
    threads.release(this)
  }

  /** Gives its thread to another script. */
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
