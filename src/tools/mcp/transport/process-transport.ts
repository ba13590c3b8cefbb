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
  /** The complete environment. */
  env: Record<string, string>
  cwd?: string
  /** Limits for one message. */
  messageBounds: LineBounds
  /** Throws if the line is not a message. */
  parse(line: string): JSONRPCMessage
  /** Receives each line of standard error. */
  onStderr(line: string): void
}

/** Maximum number of bytes that a server may print between messages, for example a greeting. */
const mostNoiseBytes = 1024 * 1024
/** Maximum number of lines of JSON that are not messages. Low, because parsing takes time. */
const mostNoiseObjects = 1_000
/** Maximum number of bytes that the server may leave unread. */
const mostUnreadBytes = 64 * 1024 * 1024
/** Maximum number of messages to read ahead. Further messages stay in the pipe. */
const mostUnreadLines = 1_000
const mostStderrLineBytes = 8 * 1024
/** How long the server may take to end after its input is closed, and again after `SIGTERM`, in milliseconds. */
const graceMs = 1_000
/** How long to wait for output after the server has ended, in milliseconds. A process that it started may keep the pipe open. */
const drainMs = 250

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/**
 * An MCP server as a child process, with messages as lines of its standard input and output. The server leads a process group, so that all
 * processes it starts end with it. Can't be used on Windows.
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
  /** Whether to ignore further output of the server. */
  #isCutOff = false

  constructor(options: ProcessTransportOptions) {
    this.#options = options
  }

  /** The reason why the server ended by itself. Undefined while the server runs, and if the client closed it. */
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
    // A write fails if the server has just ended. `exit` reports the end.
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
    // A server could send requests without ever reading the answers.
    if (stdin.writableLength > mostUnreadBytes) this.end(`it has left more than ${mostUnreadBytes} bytes unread`)
    return new Promise((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, async (error) => {
        if (!error) return resolve()
        // Waits until the server has exited, because `problem` then says more than this error.
        await settlesWithin(graceMs, this.#gone.promise)
        reject(error)
      })
    })
  }

  /**
   * Closes the server's input. If the server does not end, asks it to end, and then kills it. Resolves when the server and all processes it
   * started are gone.
   */
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
    // A fast check, because a server may print a lot that is not a message.
    if (!line.trimStart().startsWith('{')) this.#ignore(line)
    else {
      this.#unread.push(line)
      if (!this.#isDelivering) this.#delivered = this.#deliver()
      else if (this.#unread.length > mostUnreadLines) this.#child?.stdout.pause()
    }
  }

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
      if (++this.#noiseObjects > mostNoiseObjects) this.end(`it printed more than ${mostNoiseObjects} objects that are not messages`)
      return this.#ignore(line)
    }
    this.#noiseBytes = this.#noiseObjects = 0
    try {
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    }
    // The SDK handles notifications later than responses, and ignores progress that it handles after the response.
    if (!('id' in message)) await afterPendingIO()
  }

  #ignore(line: string): void {
    if (this.#noiseBytes === 0) this.onerror?.(new Error(`it printed something other than a message: ${clip(line)}`))
    this.#noiseBytes += line.length + 1
    if (this.#noiseBytes > mostNoiseBytes) this.end(`it printed more than ${mostNoiseBytes} bytes that are not messages`)
  }

  #parse(line: string): JSONRPCMessage | undefined {
    try {
      return this.#options.parse(line)
    } catch {
      return refusedAnswer(line)
    }
  }

  /** Kills a server that can't be used any longer. Drops messages that have not been delivered. */
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
    // Processes that the server started may still run.
    killGroup(child.pid, 'SIGKILL')
    const destroy = () => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
    }
    // After a delay of the event loop, timers run before the last output is read.
    const late = setTimeout(() => afterPendingIO().then(destroy), drainMs)
    child.once('close', async () => {
      clearTimeout(late)
      destroy()
      await this.#guard?.release()
      // The last output may be a response.
      await this.#delivered
      this.#gone.resolve()
      this.onclose?.()
    })
  }
}

/** Converts an invalid response to an error, so that the request does not wait forever. */
function refusedAnswer(line: string): JSONRPCMessage | undefined {
  try {
    const { id, method }: Record<string, unknown> = JSON.parse(line)
    if (method !== undefined || (typeof id !== 'number' && typeof id !== 'string')) return undefined
    return { jsonrpc: '2.0', id, error: { code: internalError, message: 'the server answered with something other than a response' } }
  } catch {
    return undefined
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
