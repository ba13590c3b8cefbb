import { parentPort, workerData } from 'node:worker_threads'
import { EvalFlags, type JSValueHandle, QuickJS } from 'quickjs-wasi'
import { messageOf } from '../../../core/errors.ts'
import { type JsonPieces, textOfPieces, toPieces } from '../../../core/json/json-pieces.ts'
import { isDeeperThan, parseUpTo } from '../../../core/json.ts'
import { isJsonObject } from '../../../core/messages.ts'
import { InlineModule, inlineName } from './inline-module.ts'
import { ScriptModules } from './script-modules.ts'
import { guestSource } from './vm-guest.ts'
import type { CompiledModule } from './web-assembly.ts'

/** The data with which the thread starts. */
export interface VmWorkerData {
  /** The QuickJS engine, which is compiled once for all threads. */
  engine: CompiledModule
}

/** A script of a Skill, or a script written by a model. */
type ScriptSource =
  | { folder: string; script: string; input: JsonPieces }
  /**
   * The body of an async function. The script stops until all its calls have been answered. `now`: the time that the script sees, in
   * milliseconds since 1970.
   */
  | { code: string; now: number }

/** Messages to the thread: a script to run, or the answers to a script's calls. Values are in JSON. */
export type ToVm =
  | {
      kind: 'run'
      source: ScriptSource
      /** Time limit in milliseconds. The time during which a script waits for the answers of a round does not count. */
      timeoutMs: number
      memoryBytes: number
      outputBytes: number
      /** Maximum number of calls to host tools; 0 if the script has no host tools. */
      mostCalls: number
    }
  | { kind: 'answer'; call: number; ok: true; value: JsonPieces }
  | { kind: 'answer'; call: number; ok: false; problem: string }
  /** Answers to all calls of a round. `text` need not be JSON. If `ok` is false, `text` is the error. */
  | { kind: 'answers'; answers: readonly RoundAnswer[] }

export interface RoundAnswer {
  call: number
  ok: boolean
  text: string
}

/** A call of a script that runs in rounds. `line` is the line of the call in the script, or 0 if the line is unknown. */
export interface RoundCall {
  call: number
  name: string
  json: string
  line: number
}

export type FromVm =
  /** The thread is ready. This is its first message. */
  | { kind: 'ready' }
  /** The script calls a tool. `json` is an object with a limited number of values. */
  | { kind: 'call'; call: number; name: string; json: string }
  /** The script can't continue without the answers to these calls. */
  | { kind: 'round'; calls: RoundCall[] }
  | {
      kind: 'end'
      /** The value that the script returned, with limited nesting, or a description of the problem. */
      result: { ok: true; value: JsonPieces } | { ok: false; problem: string }
      output: string
      overTime: boolean
      /** Whether the thread may be damaged and must not be used again. */
      spoiled: boolean
    }

const mostNameCharacters = 256
/** Maximum length of the description of a problem, in characters. */
const mostProblemCharacters = 2_001
/**
 * Maximum number of values in the arguments of one call. The number is limited because the main thread has to read, check and write the
 * values.
 */
const mostCallValues = 10_000
/** The arguments of all calls together may be this many times longer than the arguments of a single call. */
const callsTogether = 4
const deepestValue = 512

type GuestMemory = { readonly buffer: ArrayBuffer }
type Run = Extract<ToVm, { kind: 'run' }>

const { engine } = workerData as VmWorkerData
const send = (message: FromVm) => parentPort?.postMessage(message)

/** One script in its own VM. The thread runs one script at a time. */
class GuestRun {
  readonly #run: Run
  readonly #isInRounds: boolean
  #timeLeftMs: number
  #deadline: number
  #vm: QuickJS | undefined
  #settle: JSValueHandle | undefined
  #output = ''
  #calls = 0
  #callCharacters = 0
  #waiting = 0
  #overTime = false
  #ended = false
  #modules: ScriptModules | InlineModule | undefined
  /** The calls that the script has made since its last round. */
  #round: RoundCall[] = []
  /** How the script ended. The end is reported after all calls have been answered, even calls that the script did not wait for. */
  #finished: { isDone: boolean; text: string } | undefined

  constructor(run: Run) {
    this.#run = run
    this.#isInRounds = 'code' in run.source
    this.#timeLeftMs = run.timeoutMs
    this.#deadline = performance.now() + run.timeoutMs
  }

  async start(): Promise<void> {
    try {
      const { source, memoryBytes, outputBytes } = this.#run
      const modules = 'code' in source ? new InlineModule(source.code) : new ScriptModules(source.folder)
      const script = 'code' in source ? inlineName : source.script
      this.#modules = modules
      const vm = await QuickJS.create({
        wasm: engine,
        memoryLimit: memoryBytes,
        maxStackSize: 256 * 1024,
        timezoneOffset: 0,
        interruptHandler: () => {
          this.#overTime ||= performance.now() > this.#deadline
          return this.#overTime
        },
        moduleLoader: {
          normalize: (from: string, specifier: string) => (specifier === script ? script : modules.resolve(from, specifier)),
          load: (path: string) => modules.load(path),
        },
        // Discards the engine's own messages, so that they don't appear in the output of the host.
        wasi: (memory: GuestMemory) => ({
          fd_write: (_fd: number, list: number, count: number, written: number) => skipWritten(memory, list, count, written),
          // A script in rounds sees a fixed time, because the engine also seeds `Math.random` with the time.
          ...('code' in source
            ? { clock_time_get: (_id: number, _precision: bigint, to: number) => writeTime(memory, to, source.now) }
            : {}),
        }),
      })
      this.#vm = vm
      const begin = vm.evalCode(guestSource, 'toolloop', EvalFlags.TYPE_GLOBAL)
      this.#settle = vm.callFunction(
        begin,
        vm.undefined,
        vm.newFunction('print', (line) => this.#print(vm, line)),
        vm.newFunction('callOut', (id, name, json, line) => this.#callOut(vm, id, name, json, line)),
        vm.newFunction('finish', (ok, text) => this.#finish(vm, ok, text)),
        vm.newString(script),
        vm.newString('code' in source ? '' : textOfPieces(source.input)),
        vm.newNumber(outputBytes),
        this.#isInRounds ? vm.true : vm.false,
      )
      this.#continue(vm)
    } catch (error) {
      this.#break(error)
    }
  }

  answer(answer: Extract<ToVm, { kind: 'answer' }>): void {
    const text = answer.ok ? textOfPieces(answer.value) : answer.problem
    this.#settleAll([{ call: answer.call, ok: answer.ok, text }])
  }

  /** Answers all calls of a round before the script continues, so that the script always gets the answers in the same order. */
  answerRound({ answers }: Extract<ToVm, { kind: 'answers' }>): void {
    this.#deadline = performance.now() + this.#timeLeftMs
    this.#settleAll(answers)
  }

  #settleAll(answers: readonly RoundAnswer[]): void {
    const [vm, settle] = [this.#vm, this.#settle]
    if (this.#ended || vm === undefined || settle === undefined) return
    this.#waiting -= answers.length
    try {
      for (const { call, ok, text } of answers)
        vm.callFunction(settle, vm.undefined, vm.newNumber(call), ok ? vm.true : vm.false, vm.newString(text)).dispose()
      this.#continue(vm)
    } catch (error) {
      this.#break(error)
    }
  }

  #continue(vm: QuickJS): void {
    vm.executePendingJobs()
    if (this.#ended) return
    if (this.#round.length > 0) {
      this.#timeLeftMs = this.#deadline - performance.now()
      const calls = this.#round
      this.#round = []
      send({ kind: 'round', calls })
    } else if (this.#finished !== undefined) this.#conclude(this.#finished)
    else if (this.#waiting === 0)
      this.#fail(
        `The script waits for a promise that never settles: it has no timers or events, only \`${this.#isInRounds ? 'tools' : 'host.call'}\`.`,
      )
  }

  #print(vm: QuickJS, line: JSValueHandle | undefined): JSValueHandle {
    const { outputBytes } = this.#run
    const room = outputBytes - this.#output.length
    if (room > 0 && line?.isString && lengthOf(line) <= outputBytes) this.#output += `${line.toString().slice(0, room)}\n`
    return vm.undefined
  }

  #callOut(
    vm: QuickJS,
    id: JSValueHandle | undefined,
    name: JSValueHandle | undefined,
    json: JSValueHandle | undefined,
    line: JSValueHandle | undefined,
  ): JSValueHandle {
    const { mostCalls, outputBytes } = this.#run
    if (mostCalls === 0) throw new Error('This script may not call host tools.')
    // The number of calls is limited, because too many messages would block the host.
    if (++this.#calls > mostCalls) throw new Error(`This script may make at most ${mostCalls} calls to host tools.`)
    if (!id?.isNumber || !name?.isString || !json?.isString) throw new Error('Expected a name and arguments.')
    if (lengthOf(name) > mostNameCharacters) throw new Error(`The name of a tool has at most ${mostNameCharacters} characters.`)
    if (lengthOf(json) > outputBytes) throw new Error(`The arguments of a call may have at most ${outputBytes} characters of JSON.`)
    this.#callCharacters += lengthOf(json)
    if (this.#callCharacters > callsTogether * outputBytes)
      throw new Error(`The arguments of all calls may have at most ${callsTogether * outputBytes} characters of JSON.`)
    const [tool, text] = [name.toString(), json.toString()]
    const args = parseUpTo(mostCallValues, text)
    if (args === undefined || isDeeperThan(deepestValue, args))
      throw new Error(`The arguments of a call may hold at most ${mostCallValues} values, nested ${deepestValue} levels deep.`)
    if (!isJsonObject(args)) throw new TypeError(`Expected the arguments of \`${tool}\` to be an object`)
    this.#waiting++
    const call = { call: id.toNumber(), name: tool, json: text }
    if (this.#isInRounds) this.#round.push({ ...call, line: line?.isNumber ? line.toNumber() : 0 })
    else send({ kind: 'call', ...call })
    return vm.undefined
  }

  #finish(vm: QuickJS, ok: JSValueHandle | undefined, text: JSValueHandle | undefined): JSValueHandle {
    const { outputBytes } = this.#run
    const isDone = ok?.toBoolean() === true
    const characters = text?.isString ? lengthOf(text) : 0
    // The length is checked again, because the script's own code may have made the text longer than allowed.
    if (characters > (isDone ? outputBytes : mostProblemCharacters))
      this.#fail(`The script ended with ${characters} characters; at most ${outputBytes} are allowed.`)
    else if (this.#isInRounds) this.#finished ??= { isDone, text: text?.isString ? text.toString() : '' }
    else this.#conclude({ isDone, text: text?.isString ? text.toString() : '' })
    return vm.undefined
  }

  #conclude({ isDone, text }: { isDone: boolean; text: string }): void {
    if (isDone) this.#return(text)
    else this.#fail(text)
  }

  #return(json: string): void {
    const value: unknown = json === '' ? undefined : JSON.parse(json)
    if (isDeeperThan(deepestValue, value)) {
      this.#fail(`The script returned a value nested deeper than ${deepestValue} levels.`)
      return
    }
    const pieces = toPieces(value, deepestValue)
    let next = pieces.next()
    while (next.done !== true) next = pieces.next()
    this.#end({ ok: true, value: next.value })
  }

  #fail(problem: string, spoiled = false): void {
    this.#end({ ok: false, problem: problem.slice(0, mostProblemCharacters) }, spoiled)
  }

  /** Handles errors that the VM itself did not catch: the script ran out of time, memory or stack, or the engine has a fault. */
  #break(error: unknown): void {
    const spoiled = error instanceof RangeError || (error instanceof Error && error.name === 'RuntimeError')
    this.#fail(error instanceof RangeError ? 'The script nests too deeply.' : `The script failed: ${messageOf(error)}`, spoiled)
  }

  #end(result: Extract<FromVm, { kind: 'end' }>['result'], spoiled = false): void {
    if (this.#ended) return
    this.#ended = true
    current = undefined
    const isSpoiled = spoiled || this.#modules?.isSpoiled === true
    send({ kind: 'end', result, output: this.#output, overTime: this.#overTime, spoiled: isSpoiled })
    // The VM is not disposed of, because `dispose` would free each object of the script separately. The memory is freed with the instance.
    this.#vm = undefined
    this.#settle = undefined
  }
}

/**
 * Returns the length of a text that is still in the VM. The length is checked before the text is copied, because a script could make the
 * text very long.
 */
function lengthOf(text: JSValueHandle): number {
  const length = text.getProp('length')
  const characters = length.toNumber()
  length.dispose()
  return characters
}

/** Writes the time that the script sees to the engine's memory, in nanoseconds. */
function writeTime(memory: GuestMemory, to: number, now: number): number {
  new DataView(memory.buffer).setBigUint64(to, BigInt(now) * 1_000_000n, true)
  return 0
}

/** Reports to the engine that all bytes were written. */
function skipWritten(memory: GuestMemory, list: number, count: number, written: number): number {
  const view = new DataView(memory.buffer)
  let bytes = 0
  for (let at = 0; at < count; at++) bytes += view.getUint32(list + at * 8 + 4, true)
  view.setUint32(written, bytes, true)
  return 0
}

let current: GuestRun | undefined

parentPort?.on('message', (message: ToVm) => {
  if (message.kind === 'answer') return current?.answer(message)
  if (message.kind === 'answers') return current?.answerRound(message)
  current = new GuestRun(message)
  void current.start()
})
send({ kind: 'ready' })
