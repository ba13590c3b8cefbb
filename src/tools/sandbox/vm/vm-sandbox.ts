import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { clip, messageOf, ToolloopError } from '../../../core/errors.ts'
import { type JsonPieces, readPieces, textOfPieces, toPieces } from '../../../core/json/json-pieces.ts'
import { giveWay, nextTurn } from '../../../core/time/give-way.ts'
import type { SandboxLimits, ScriptEnd, ScriptRun, ScriptSandbox } from '../sandbox.ts'
import type { FromVm, ToVm, VmWorkerData } from './vm-worker.ts'
import { type CompiledModule, webAssembly } from './web-assembly.ts'

/** How much longer than its time a script gets before its thread is ended from outside: the engine ends it by itself nearly always. */
const graceMs = 250
const mostHostCalls = 100
/** Deeper than this nothing can be written as JSON. */
const deepestInput = 1_000
/** Of one value given to a thread, in characters of JSON. V8 ends the whole process, not the thread, when one that is very long does not fit into the thread's heap. */
const mostCharactersIn = 16 * 1024 * 1024
/** Of all answers to one script: its thread may take its time to look at them. */
const mostAnswerCharacters = 4 * mostCharactersIn
/** Of what a tool that failed says to a script. */
const mostProblemCharacters = 65_536
/** Only what passes through V8 counts: what a script has is in the engine's memory, of which a text on its way may be a large part. */
const threadHeapMb = 1_024

let compiled: Promise<CompiledModule> | undefined

/** In the background, once a process. Rejects where this file is part of a bundle that has neither the engine nor the thread beside it. */
async function compileEngine(): Promise<CompiledModule> {
  try {
    compiled ??= readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm')).then((bytes) => webAssembly.compile(bytes))
    return await compiled
  } catch (cause) {
    throw notFound(cause)
  }
}

function notFound(cause: unknown): ToolloopError {
  const message = 'The sandbox for scripts is not there. An application that is bundled must leave the package `toolloop` out of its bundle'
  return new ToolloopError('tool_failed', message, { cause })
}

/**
 * JavaScript and TypeScript in QuickJS: a fresh VM a run, in threads that are kept warm. A VM has no way out but `host.call`, so nothing has to
 * be forbidden. A thread that has to be ended is replaced by the next run. See https://github.com/vercel-labs/quickjs-wasi.
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
    // Whoever waits is to find it closed.
    for (const go of this.#queue.splice(0)) go()
    await Promise.all([...this.#idle.splice(0), ...this.#busy].map((thread) => thread.end()))
  }

  async #take(signal: AbortSignal): Promise<VmThread> {
    const engine = await compileEngine()
    while (!this.#closed && this.#busy.size >= this.#most) await this.#turn(signal)
    // Aborted between being told and being here: the turn is the next one's.
    if (signal.aborted) this.#queue.shift()?.()
    signal.throwIfAborted()
    if (this.#closed) throw new ToolloopError('tool_failed', 'The sandbox has been closed.')
    const thread = this.#idle.pop() ?? new VmThread(engine)
    this.#busy.add(thread)
    return thread
  }

  /** Waits until a thread may be free. */
  #turn(signal: AbortSignal): Promise<void> {
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

class VmThread {
  readonly #worker: Worker
  readonly #ready = Promise.withResolvers<void>()
  #usable = true
  #receive: ((message: FromVm) => void) | undefined
  #fail: ((error: Error) => void) | undefined

  constructor(engine: CompiledModule) {
    const workerData: VmWorkerData = { engine }
    // `.ts` when run from the sources, `.js` when built.
    this.#worker = new Worker(new URL(`./vm-worker${extname(import.meta.url)}`, import.meta.url), {
      workerData,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMb },
    })
    // A thread that is only kept warm must not keep the process from ending.
    this.#worker.unref()
    this.#ready.promise.catch(() => {}) // Told to whoever runs a script, if anybody does.
    this.#worker.on('message', (message: FromVm) => {
      if (message.kind === 'ready') this.#ready.resolve()
      else this.#receive?.(message)
    })
    this.#worker.on('error', (error) =>
      this.#break('code' in error && /MODULE_NOT_FOUND/.test(String(error.code)) ? notFound(error) : error),
    )
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
    const ended = Promise.withResolvers<Extract<FromVm, { kind: 'end' }>>()
    const calls = new AbortController()
    const giveUp = (reason: unknown) => {
      this.#usable = false
      ended.reject(reason)
    }
    const abort = () => giveUp(signal.reason)
    let timer: NodeJS.Timeout | undefined
    this.#fail = (cause) =>
      giveUp(
        ToolloopError.isInstance(cause) ? cause : new ToolloopError('tool_failed', 'The script did not finish: its VM crashed.', { cause }),
      )
    const answers = new Answers(call, calls.signal)
    const receive = (message: FromVm) => {
      if (message.kind === 'end') ended.resolve(message)
      // An answer that comes late must not be taken for one to the next script.
      if (message.kind === 'call') void answers.to(message).then((answer) => this.#receive === receive && this.#send(answer))
    }
    this.#receive = receive
    signal.addEventListener('abort', abort, { once: true })
    this.#worker.ref()
    try {
      if (!this.#usable) throw new ToolloopError('tool_failed', 'The sandbox has been closed.')
      // That a thread takes time to start is not the script's fault.
      await Promise.race([this.#ready.promise, ended.promise])
      timer = setTimeout(() => giveUp(overTime(timeoutMs)), Math.min(timeoutMs + graceMs, 2 ** 31 - 1))
      const mostCalls = call === undefined ? 0 : mostHostCalls
      this.#send({ kind: 'run', folder, script, input, timeoutMs, memoryBytes, outputBytes, mostCalls })
      const { result, output, overTime: isOver, spoiled } = await ended.promise
      clearTimeout(timer)
      // What it called before it ended has been started then.
      await nextTurn()
      if (spoiled) this.#usable = false
      if (isOver) throw overTime(timeoutMs)
      if (!result.ok) {
        const { problem } = result
        throw new ToolloopError('tool_failed', output === '' ? problem : `${problem}\nOutput so far: ${output.slice(-2_000)}`)
      }
      const value = await readPieces(result.value, signal)
      return { ...(value === undefined ? {} : { value, json: textOfPieces(result.value) }), stdout: output, stderr: '' }
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      calls.abort()
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

function overTime(timeoutMs: number): ToolloopError {
  return new ToolloopError('tool_timeout', `The script ran longer than ${timeoutMs} ms and was stopped.`)
}

interface Written {
  pieces: JsonPieces
  characters: number
}

/** Rejects for a value of more than `most` characters; `what` begins the sentence that says so. */
async function writeForVm(what: string, value: unknown, most: number, signal: AbortSignal): Promise<Written> {
  const tooLong = () => new Error(`${what} more than ${most} characters of JSON, the most a script in the VM can be given.`)
  // One text is one piece.
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

/** The answers to the calls of one script. */
class Answers {
  readonly #call: ScriptRun['call']
  readonly #signal: AbortSignal
  #left = mostAnswerCharacters
  /** When the last result is written. */
  #written: Promise<unknown> = Promise.resolve()

  constructor(call: ScriptRun['call'], signal: AbortSignal) {
    this.#call = call
    this.#signal = signal
  }

  /** Never rejects: what goes wrong with a call is the script's to know. */
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
