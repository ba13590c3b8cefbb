import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { setImmediate as afterPendingIO } from 'node:timers/promises'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { clip } from '../../../core/errors.ts'
import { giveWay } from '../../../core/time/give-way.ts'
import { GroupGuard, killGroup } from './group-guard.ts'
import { type LineBounds, LineReader } from './line-reader.ts'

export interface ProcessTransportOptions {
  command: string
  args: readonly string[]
  /** The whole of its environment. */
  env: Record<string, string>
  cwd?: string
  /** How much one message may be. */
  messageBounds: LineBounds
  /** Makes a message of a line. Throws for what is none. */
  parse(line: string): JSONRPCMessage
  /** Takes each line of its standard error. */
  onStderr(line: string): void
}

/** What a server may print to its standard output between two messages: a greeting, not a flood. */
const mostNoiseBytes = 1024 * 1024
/** That many more look like one, which costs more to find out. */
const mostNoiseObjects = 1_000
/** How much may wait to be read by it. */
const mostUnreadBytes = 64 * 1024 * 1024
/** More messages at once are left in the pipe until these have been delivered. */
const mostUnreadLines = 1_000
const mostStderrLineBytes = 8 * 1024
/** How long it is given to end by itself once its input has ended, and again once it was asked to by a signal. */
const graceMs = 1_000
/** How long a pipe may stay open, held by something it has left behind, after the server itself is gone. */
const drainMs = 250

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/**
 * An MCP server as a child process: messages are lines of its standard input and output. It is the leader of a process group, so that
 * whatever it starts (`npx` starts a shell, which starts the server) ends with it, and nothing of it outlives this process's own end.
 * Not for Windows, which has no process groups.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #options: ProcessTransportOptions
  readonly #gone: PromiseWithResolvers<void> = Promise.withResolvers()
  #child: Child | undefined
  #guard: GroupGuard | undefined
  #closing: Promise<void> | undefined
  #noiseBytes = 0
  #noiseObjects = 0
  #unread: string[] = []
  #isDelivering = false
  #delivered: Promise<void> = Promise.resolve()
  #problem: string | undefined
  /** Nothing more of what it says is of interest. */
  #isCutOff = false

  constructor(options: ProcessTransportOptions) {
    this.#options = options
  }

  /** Why it is no longer there; undefined while it is, and when it was closed from here. */
  get problem(): string | undefined {
    return this.#problem
  }

  start(): Promise<void> {
    const { command, args, env, cwd, messageBounds, onStderr } = this.#options
    const options = { env, detached: true, cwd }
    const guard = new GroupGuard()
    this.#guard = guard
    let child: Child
    try {
      child = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
    } catch (error) {
      return guard.release().then(() => Promise.reject(error))
    }
    this.#child = child
    const messages = new LineReader(
      messageBounds,
      (line) => this.#take(line),
      (bound) => this.end(`it sent a message of more than ${bound}`),
    )
    child.stdout.on('data', (chunk: Buffer) => messages.push(chunk))
    const words = new LineReader(
      { maxBytes: mostStderrLineBytes },
      (line) => {
        if (line.trim() !== '') onStderr(line)
      },
      (bound) => onStderr(`(a line of more than ${bound})`),
    )
    child.stderr.on('data', (chunk: Buffer) => words.push(chunk))
    // What is written to a server that has just ended: its end is told by `exit`.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', (error: Error) => this.onerror?.(error))
    child.on('exit', (code, signal) => this.#ended(child, code === null ? `it was ended by ${signal}` : `it exited with code ${code}`))
    if (child.pid !== undefined) guard.watch(child.pid)
    return new Promise((resolve, reject) => {
      child.once('spawn', resolve)
      child.on('error', (error: NodeJS.ErrnoException) => {
        if (child.pid !== undefined) return this.onerror?.(error)
        const problem = startProblem(error, this.#options)
        this.#problem ??= problem
        guard.release().then(() => {
          this.#gone.resolve()
          reject(new Error(problem, { cause: error }))
        })
      })
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    if (stdin === undefined || !stdin.writable) return Promise.reject(new Error('the server is not running'))
    // What it asks is answered, also if it asks without end and never reads the answers.
    if (stdin.writableLength > mostUnreadBytes) this.end(`it has left more than ${mostUnreadBytes} bytes unread`)
    return new Promise((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, async (error) => {
        if (!error) return resolve()
        // It reads no more because it is ending: how it ends says more than that it does not read.
        await settlesWithin(graceMs, this.#gone.promise)
        reject(error)
      })
    })
  }

  /** Ends its input, then asks it to end, then ends it. Resolves when it and everything it started is gone. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined) return
    child.stdin.end()
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await settlesWithin(graceMs, this.#gone.promise)) return
      killGroup(child.pid, signal)
    }
    await this.#gone.promise
  }

  #take(line: string): void {
    if (this.#isCutOff) return
    // Most of what is no message is seen at once, which counts when there is much of it.
    if (!line.trimStart().startsWith('{')) this.#ignore(line)
    else {
      this.#unread.push(line)
      if (!this.#isDelivering) this.#delivered = this.#deliver()
      else if (this.#unread.length > mostUnreadLines) this.#child?.stdout.pause()
    }
  }

  /** One after another; whatever the server prints, everything else gets its turn in between. */
  async #deliver(): Promise<void> {
    this.#isDelivering = true
    while (this.#unread.length > 0) {
      const lines = this.#unread
      this.#unread = []
      for (const line of lines) {
        await giveWay()
        if (this.#isCutOff) break
        await this.#read(line)
      }
      this.#child?.stdout.resume()
    }
    this.#isDelivering = false
  }

  async #read(line: string): Promise<void> {
    const message = this.#parse(line)
    if (message === undefined) {
      if (++this.#noiseObjects > mostNoiseObjects) this.end(`it printed more than ${mostNoiseObjects} objects that are no message`)
      return this.#ignore(line)
    }
    this.#noiseBytes = this.#noiseObjects = 0
    try {
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    }
    // A notification is given the time to be taken note of: the SDK does that a moment later, but takes an answer at once, and then has no ear
    // any more for the progress of its request that came right before.
    if (!('id' in message)) await afterPendingIO()
  }

  #ignore(line: string): void {
    if (this.#noiseBytes === 0) this.onerror?.(new Error(`it printed something other than a message: ${clip(line)}`))
    this.#noiseBytes += line.length + 1
    if (this.#noiseBytes > mostNoiseBytes) this.end(`it printed more than ${mostNoiseBytes} bytes that are no message`)
  }

  #parse(line: string): JSONRPCMessage | undefined {
    try {
      return this.#options.parse(line)
    } catch {
      return refusedAnswer(line)
    }
  }

  /** Ends it at once: it can't be spoken with any more, and might go on for ever. What it has sent and nobody has read is dropped. */
  end(problem: string): void {
    if (this.#child === undefined || this.#problem !== undefined) return
    this.#problem = problem
    this.#isCutOff = true
    this.#unread = []
    this.#child.stdout.destroy()
    killGroup(this.#child.pid, 'SIGKILL')
  }

  #ended(child: Child, how: string): void {
    if (this.#closing === undefined) this.#problem ??= how
    // Whatever it started.
    killGroup(child.pid, 'SIGKILL')
    const destroy = () => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
    }
    // A loop that was busy meanwhile comes to its timers first: what lies in the pipes is read before they are given up.
    const late = setTimeout(() => afterPendingIO().then(destroy), drainMs)
    child.once('close', async () => {
      clearTimeout(late)
      destroy()
      await this.#guard?.release()
      // Its last words may be an answer.
      await this.#delivered
      this.#gone.resolve()
      this.onclose?.()
    })
  }
}

/** For a line that is no message, but says which request it is to answer: that request would else wait for ever. */
function refusedAnswer(line: string): JSONRPCMessage | undefined {
  try {
    const { id, method }: Record<string, unknown> = JSON.parse(line)
    if (method !== undefined || (typeof id !== 'number' && typeof id !== 'string')) return undefined
    return { jsonrpc: '2.0', id, error: { code: internalError, message: 'the server answered with something other than a response' } }
  } catch {
    return undefined // Not even JSON.
  }
}

/** https://www.jsonrpc.org/specification#error_object */
const internalError = -32603

function startProblem({ code, message }: NodeJS.ErrnoException, { command, cwd }: ProcessTransportOptions): string {
  if (code !== 'ENOENT') return `it could not be started: ${message}`
  return cwd === undefined ? `there is no program \`${command}\`` : `there is no program \`${command}\`, or no folder ${cwd}`
}

async function settlesWithin(milliseconds: number, promise: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds)
  })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
