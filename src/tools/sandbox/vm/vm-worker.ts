import { parentPort, workerData } from 'node:worker_threads'
import { EvalFlags, type JSValueHandle, QuickJS } from 'quickjs-wasi'
import { messageOf } from '../../../core/errors.ts'
import { type JsonPieces, textOfPieces, toPieces } from '../../../core/json/json-pieces.ts'
import { parseUpTo } from '../../../core/json/value-count.ts'
import { isDeeperThan } from '../../../core/json.ts'
import { isJsonObject } from '../../../core/messages.ts'
import { ScriptModules } from './script-modules.ts'
import { guestSource } from './vm-guest.ts'
import type { CompiledModule } from './web-assembly.ts'

/** The data with which the thread starts. */
export interface VmWorkerData {
  /** QuickJS, compiled once for all threads. */
  engine: CompiledModule
}

/** Messages to the thread: a script to run, or the answer to a call it made. Values are JSON. */
export type ToVm =
  | {
      kind: 'run'
      folder: string
      script: string
      input: JsonPieces
      timeoutMs: number
      memoryBytes: number
      outputBytes: number
      /** Maximum number of calls to host tools; 0 if there are none. */
      mostCalls: number
    }
  | { kind: 'answer'; call: number; ok: true; value: JsonPieces }
  | { kind: 'answer'; call: number; ok: false; problem: string }

export type FromVm =
  /** The first message. */
  | { kind: 'ready' }
  /** `json`: an object with a limited number of values. */
  | { kind: 'call'; call: number; name: string; json: string }
  | {
      kind: 'end'
      /** The returned value, with limited nesting, or a description of the problem. */
      result: { ok: true; value: JsonPieces } | { ok: false; problem: string }
      output: string
      overTime: boolean
      /** The thread may be damaged and must not be used again. */
      spoiled: boolean
    }

const mostNameCharacters = 256
/** Maximum length of the description of a problem. */
const mostProblemCharacters = 2_001
/** Maximum number of values in the arguments of one call: the main thread has to read, check and write them. */
const mostCallValues = 10_000
/** The arguments of all calls together may be this many times as long as those of one. */
const callsTogether = 4
const deepestValue = 512

type GuestMemory = { readonly buffer: ArrayBuffer }
type Run = Extract<ToVm, { kind: 'run' }>

const { engine } = workerData as VmWorkerData
const send = (message: FromVm) => parentPort?.postMessage(message)

/** One script in its own VM. The thread runs one at a time. */
class GuestRun {
  readonly #run: Run
  readonly #deadline: number
  #vm: QuickJS | undefined
  #settle: JSValueHandle | undefined
  #output = ''
  #calls = 0
  #callCharacters = 0
  #waiting = 0
  #overTime = false
  #ended = false
  #modules: ScriptModules | undefined

  constructor(run: Run) {
    this.#run = run
    this.#deadline = performance.now() + run.timeoutMs
  }

  async start(): Promise<void> {
    try {
      const { folder, script, memoryBytes, input, outputBytes } = this.#run
      const modules = new ScriptModules(folder)
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
        // Discards the engine's own messages, which must not appear among those of the host.
        wasi: (memory: GuestMemory) => ({
          fd_write: (_fd: number, list: number, count: number, written: number) => skipWritten(memory, list, count, written),
        }),
      })
      this.#vm = vm
      const begin = vm.evalCode(guestSource, 'toolloop', EvalFlags.TYPE_GLOBAL)
      this.#settle = vm.callFunction(
        begin,
        vm.undefined,
        vm.newFunction('print', (line) => this.#print(vm, line)),
        vm.newFunction('callOut', (id, name, json) => this.#callOut(vm, id, name, json)),
        vm.newFunction('finish', (ok, text) => this.#finish(vm, ok, text)),
        vm.newString(script),
        vm.newString(textOfPieces(input)),
        vm.newNumber(outputBytes),
      )
      this.#goOn(vm)
    } catch (error) {
      this.#break(error)
    }
  }

  answer(answer: Extract<ToVm, { kind: 'answer' }>): void {
    const [vm, settle] = [this.#vm, this.#settle]
    if (this.#ended || vm === undefined || settle === undefined) return
    this.#waiting--
    try {
      const text = answer.ok ? textOfPieces(answer.value) : answer.problem
      vm.callFunction(settle, vm.undefined, vm.newNumber(answer.call), answer.ok ? vm.true : vm.false, vm.newString(text)).dispose()
      this.#goOn(vm)
    } catch (error) {
      this.#break(error)
    }
  }

  #goOn(vm: QuickJS): void {
    vm.executePendingJobs()
    if (this.#ended || this.#waiting > 0) return
    this.#fail('The script waits for something that never happens: it has no timers or events, only `host.call`.')
  }

  #print(vm: QuickJS, line: JSValueHandle | undefined): JSValueHandle {
    const { outputBytes } = this.#run
    const room = outputBytes - this.#output.length
    if (room > 0 && line?.isString && lengthOf(line) <= outputBytes) this.#output += `${line.toString().slice(0, room)}\n`
    return vm.undefined
  }

  #callOut(vm: QuickJS, id: JSValueHandle | undefined, name: JSValueHandle | undefined, json: JSValueHandle | undefined): JSValueHandle {
    const { mostCalls, outputBytes } = this.#run
    if (mostCalls === 0) throw new Error('This script may not call host tools.')
    // A flood of messages would block the host.
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
    send({ kind: 'call', call: id.toNumber(), name: tool, json: text })
    return vm.undefined
  }

  #finish(vm: QuickJS, ok: JSValueHandle | undefined, text: JSValueHandle | undefined): JSValueHandle {
    const { outputBytes } = this.#run
    const isDone = ok?.toBoolean() === true
    const characters = text?.isString ? lengthOf(text) : 0
    // The script's own code may have made the text longer than allowed.
    if (characters > (isDone ? outputBytes : mostProblemCharacters))
      this.#fail(`The script ended with ${characters} characters; at most ${outputBytes} are allowed.`)
    else if (!isDone) this.#fail(text?.isString ? text.toString() : '')
    else this.#return(text?.isString ? text.toString() : '')
    return vm.undefined
  }

  #return(json: string): void {
    const value: unknown = json === '' ? undefined : JSON.parse(json)
    if (isDeeperThan(deepestValue, value)) {
      this.#fail(`The script returned something nested deeper than ${deepestValue} levels.`)
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

  /** Handles what should not have left the VM: out of time, memory or stack, or a fault of the engine. */
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
    // Not disposed of, because that would take apart everything the script has left behind. The memory is freed with the instance.
    this.#vm = undefined
    this.#settle = undefined
  }
}

/** The length of a text that is still in the VM. Checked before copying it, because a script could make it very long. */
function lengthOf(text: JSValueHandle): number {
  const length = text.getProp('length')
  const characters = length.toNumber()
  length.dispose()
  return characters
}

/** Tells the writer that everything was written. */
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
  current = new GuestRun(message)
  void current.start()
})
send({ kind: 'ready' })
