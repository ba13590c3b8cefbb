import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { clip, messageOf, ToolloopError } from '../../../core/errors.ts'
import { type JsonPieces, readPieces, textOfPieces, toPieces } from '../../../core/json/json-pieces.ts'
import { giveWay, yieldNow } from '../../../core/time/give-way.ts'
import type { SandboxLimits, ScriptEnd, ScriptRun, ScriptSandbox } from '../sandbox.ts'
import type { FromVm, ToVm, VmWorkerData } from './vm-worker.ts'
import { workerCode } from './vm-worker-code.ts'
import { type CompiledModule, webAssembly } from './web-assembly.ts'

/**
 * Delay between the time limit of a script and the termination of its thread, in milliseconds. In almost all cases, the engine stops the
 * script during this time.
 */
const graceMs = 250
const mostHostCalls = 100
/** Maximum nesting depth of an input. A deeper value can't be written as JSON. */
const deepestInput = 1_000
/**
 * Maximum number of characters of JSON in one value that is passed to a thread. If a very long value does not fit in the thread's heap, V8
 * ends the whole process, not only the thread.
 */
const mostCharactersIn = 16 * 1024 * 1024
/** Maximum number of characters of all answers to one script. The limit exists because the thread may read the answers slowly. */
const mostAnswerCharacters = 4 * mostCharactersIn
/** Maximum number of characters of the message of a failed tool. */
const mostProblemCharacters = 65_536
/**
 * Maximum size of the thread's heap. The heap contains only data on its way into or out of the engine, but a single text can be long. The
 * script's own values are in the engine's memory.
 */
const threadHeapMb = 1_024

let compiled: Promise<CompiledModule> | undefined

/** Compiles the engine in the background, once per process. Rejects if this file is in a bundle without the engine. */
export async function compileEngine(): Promise<CompiledModule> {
  try {
    compiled ??= readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm')).then((bytes) => webAssembly.compile(bytes))
    return await compiled
  } catch (cause) {
    const message = 'The sandbox for scripts is missing. An application that is bundled must leave the package `toolloop` out of its bundle'
    throw new ToolloopError('tool_failed', message, { cause })
  }
}

/**
 * Runs JavaScript and TypeScript in QuickJS: a new VM for each run, in threads that are kept warm. `host.call` is the only way out of a VM,
 * so no built-in has to be forbidden. A thread that was terminated is replaced at the next run. See
 * https://github.com/vercel-labs/quickjs-wasi.
 */
export class VmSandbox implements ScriptSandbox {
  readonly #idle: VmThread[] = []
  readonly #busy = new Set<VmThread>()
  readonly #queue: (() => void)[] = []
  readonly #most: number
  #closed = false

  constructor(mostThreads: number = Math.min(4, availableParallelism())) {
    this.#most = mostThreads
  }

  async run(run: ScriptRun, limits: SandboxLimits): Promise<ScriptEnd> {
    run.signal.throwIfAborted()
    const thread = await this.#take(run.signal)
    try {
      return await thread.run(run, limits)
    } finally {
      this.#busy.delete(thread)
      if (thread.usable && !this.#closed) this.#idle.push(thread)
      else await thread.end()
      this.#queue.shift()?.()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    // Waiting runs continue, and reject because the sandbox is closed.
    for (const go of this.#queue.splice(0)) go()
    await Promise.all([...this.#idle.splice(0), ...this.#busy].map((thread) => thread.end()))
  }

  async #take(signal: AbortSignal): Promise<VmThread> {
    const engine = await compileEngine()
    while (!this.#closed && this.#busy.size >= this.#most) await this.#untilFree(signal)
    // An aborted run passes its turn to the next run.
    if (signal.aborted) this.#queue.shift()?.()
    signal.throwIfAborted()
    if (this.#closed) throw new ToolloopError('tool_failed', 'The sandbox has been closed.')
    const thread = this.#idle.pop() ?? new VmThread(engine)
    this.#busy.add(thread)
    return thread
  }

  /** Waits until a thread may have become free. */
  #untilFree(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        const at = this.#queue.indexOf(go)
        if (at !== -1) this.#queue.splice(at, 1)
        reject(signal.reason)
      }
      this.#queue.push(go)
      signal.addEventListener('abort', leave, { once: true })
      if (signal.aborted) leave()
    })
  }
}

/** A thread with the engine. It runs one script at a time. */
export class VmThread {
  readonly #worker: Worker
  readonly #ready = Promise.withResolvers<void>()
  #usable = true
  #receive: ((message: FromVm) => void) | undefined
  #fail: ((error: Error) => void) | undefined

  constructor(engine: CompiledModule) {
    const workerData: VmWorkerData = { engine }
    this.#worker = new Worker(workerCode, {
      eval: typeof workerCode === 'string',
      workerData,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMb },
    })
    // An idle thread must not keep the process alive.
    this.#worker.unref()
    this.#ready.promise.catch(() => {}) // The next run reports this failure.
    this.#worker.on('message', (message: FromVm) => {
      if (message.kind === 'ready') this.#ready.resolve()
      else this.#receive?.(message)
    })
    this.#worker.on('error', (error) => this.#break(error))
    this.#worker.on('exit', () => this.#break(new Error('the thread was stopped')))
  }

  get usable(): boolean {
    return this.#usable
  }

  async run({ folder, script, args, signal, call }: ScriptRun, limits: SandboxLimits): Promise<ScriptEnd> {
    const { timeoutMs, memoryBytes, outputBytes } = limits
    const { pieces: input } = await writeForVm('its arguments have', args, mostCharactersIn, signal).catch((error: unknown) => {
      signal.throwIfAborted()
      throw new ToolloopError('tool_failed', `The script was not run: ${messageOf(error)}`)
    })
    const calls = new AbortController()
    const answers = new Answers(call, calls.signal)
    const mostCalls = call === undefined ? 0 : mostHostCalls
    const source = { folder, script, input }
    try {
      const message: ToVm = { kind: 'run', source, timeoutMs, memoryBytes, outputBytes, mostCalls }
      const { result, output, overTime: isOver } = await this.#ask(message, timeoutMs, signal, isEnd, answers)
      if (isOver) throw overTime(timeoutMs)
      if (!result.ok) {
        const { problem } = result
        throw new ToolloopError('tool_failed', output === '' ? problem : `${problem}\nOutput so far: ${output.slice(-2_000)}`)
      }
      const value = await readPieces(result.value, signal)
      return { ...(value === undefined ? {} : { value, json: textOfPieces(result.value) }), stdout: output, stderr: '' }
    } finally {
      calls.abort()
    }
  }

  /**
   * Runs a script until it waits for its calls or has ended. Rejects with the signal's reason, or with `tool_failed` or `tool_timeout`,
   * worded for a model. After a rejection, the thread must not be used again.
   */
  runRound(message: ToVm, timeoutMs: number, signal: AbortSignal): Promise<RoundEnd> {
    return this.#ask(message, timeoutMs, signal, isEndOfRound)
  }

  /**
   * Sends a message that starts or continues a script. Waits for a message for which `isDone` is true. `answers` handles the script's
   * calls.
   */
  async #ask<End extends RoundEnd>(
    message: ToVm,
    timeoutMs: number,
    signal: AbortSignal,
    isDone: (message: FromVm) => message is End,
    answers?: Answers,
  ): Promise<End> {
    const ended = Promise.withResolvers<End>()
    const giveUp = (reason: unknown) => {
      this.#usable = false
      ended.reject(reason)
    }
    const abort = () => giveUp(signal.reason)
    let timer: NodeJS.Timeout | undefined
    this.#fail = (cause) => giveUp(crashed(cause))
    const receive = (received: FromVm) => {
      if (isDone(received)) ended.resolve(received)
      // An answer that arrives after the script has ended must not be passed to the next script.
      else if (received.kind === 'call') void answers?.to(received).then((answer) => this.#receive === receive && this.#send(answer))
    }
    this.#receive = receive
    signal.addEventListener('abort', abort, { once: true })
    this.#worker.ref()
    try {
      signal.throwIfAborted()
      if (!this.#usable) throw new ToolloopError('tool_failed', 'The sandbox has been closed.')
      // The script's time limit starts to run only when the thread has started.
      await Promise.race([this.#ready.promise, ended.promise])
      timer = setTimeout(() => giveUp(overTime(timeoutMs)), Math.min(timeoutMs + graceMs, 2 ** 31 - 1))
      this.#send(message)
      const end = await ended.promise
      clearTimeout(timer)
      // Yields, so that calls that the script made just before it ended can start.
      if (answers !== undefined) await yieldNow()
      if (end.kind === 'end' && end.spoiled) this.#usable = false
      return end
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      this.#receive = undefined
      this.#fail = undefined
      this.#worker.unref()
      if (!this.#usable) await this.end()
    }
  }

  async end(): Promise<void> {
    this.#usable = false
    await this.#worker.terminate()
  }

  #send(message: ToVm): void {
    this.#worker.postMessage(message)
  }

  #break(error: Error): void {
    this.#usable = false
    this.#fail?.(error)
    this.#ready.reject(error)
  }
}

type ScriptEnded = Extract<FromVm, { kind: 'end' }>

/** The end of a round: the script waits for calls, or has ended. */
export type RoundEnd = Extract<FromVm, { kind: 'round' | 'end' }>

function isEnd(message: FromVm): message is ScriptEnded {
  return message.kind === 'end'
}

function isEndOfRound(message: FromVm): message is RoundEnd {
  return message.kind === 'round' || message.kind === 'end'
}

function crashed(cause: Error): ToolloopError {
  return ToolloopError.isInstance(cause) ? cause : new ToolloopError('tool_failed', 'The script did not finish: its VM crashed.', { cause })
}

function overTime(timeoutMs: number): ToolloopError {
  return new ToolloopError('tool_timeout', `The script ran longer than ${timeoutMs} ms and was stopped.`)
}

interface Written {
  pieces: JsonPieces
  characters: number
}

/** Writes a value for the VM. Rejects if the value has more than `most` characters. `what` is the beginning of the error message. */
async function writeForVm(what: string, value: unknown, most: number, signal: AbortSignal): Promise<Written> {
  const tooLong = () => new Error(`${what} more than ${most} characters of JSON, the most a script in the VM can be given.`)
  // A single text is not split into parts, so its length is checked first.
  if (typeof value === 'string' && value.length > most) throw tooLong()
  const pieces = toPieces(value, deepestInput)
  let characters = 0
  for (let next = pieces.next(); ; next = pieces.next()) {
    if (next.done === true) return { pieces: next.value, characters }
    characters += next.value
    if (characters > most) throw tooLong()
    await giveWay(signal)
  }
}

/** Answers the calls of one script. */
class Answers {
  readonly #call: ScriptRun['call']
  readonly #signal: AbortSignal
  #left = mostAnswerCharacters
  /** Settles when the last result has been written. */
  #written: Promise<unknown> = Promise.resolve()

  constructor(call: ScriptRun['call'], signal: AbortSignal) {
    this.#call = call
    this.#signal = signal
  }

  /** Answers a call. Never rejects, because the script receives the error of a failed call. */
  async to({ call: id, name, json }: Extract<FromVm, { kind: 'call' }>): Promise<ToVm> {
    const signal = this.#signal
    try {
      await giveWay(signal)
      const result = await this.#call?.(name, JSON.parse(json), signal)
      const written = this.#written.then(() => this.#write(name, result))
      this.#written = written.catch(() => {})
      return { kind: 'answer', call: id, ok: true, value: await written }
    } catch (error) {
      return { kind: 'answer', call: id, ok: false, problem: messageOf(error).slice(0, mostProblemCharacters) }
    }
  }

  async #write(name: string, result: unknown): Promise<JsonPieces> {
    const most = Math.min(this.#left, mostCharactersIn)
    const { pieces, characters } = await writeForVm(`the result of \`${clip(name)}\` has`, result, most, this.#signal)
    this.#left -= characters
    return pieces
  }
}
