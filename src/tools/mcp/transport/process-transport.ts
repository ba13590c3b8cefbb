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
  /** Parses a line as a message. Throws if the line is not a message. */
  parse(line: string): JSONRPCMessage
  /** Receives each line of standard error. */
  onStderr(line: string): void
}

/**
 * Maximum number of bytes that a server may print to its standard output between messages. This is enough for a greeting, but not for a
 * flood.
 */
const mostNoiseBytes = 1024 * 1024
/** Maximum number of lines that look like messages but are not. The limit is low, because it takes long to detect such lines. */
const mostNoiseObjects = 1_000
/** Maximum number of bytes that may wait to be read by the server. */
const mostUnreadBytes = 64 * 1024 * 1024
/**
 * Maximum number of messages to read ahead. When it is reached, further messages stay in the pipe until the messages read so far have been
 * delivered.
 */
const mostUnreadLines = 1_000
const mostStderrLineBytes = 8 * 1024
/** How long the server may take to end by itself after its input has ended, and again after a signal, in milliseconds. */
const graceMs = 1_000
/** How long a process that the server left behind may keep a pipe open after the server has ended, in milliseconds. */
const drainMs = 250

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/**
 * An MCP server as a child process. Messages are lines of its standard input and output. The server leads a process group. Therefore all
 * processes that the server starts can be ended with it, and none outlives this process. For example, `npx` starts a shell, which starts
 * the server. This class can't be used on Windows, which has no process groups.
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
    // Handles errors of writing to a server that has just ended. `exit` reports the end itself.
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
    // The limit is needed because requests of the server are answered even if it never reads the answers.
    if (stdin.writableLength > mostUnreadBytes) this.end(`it has left more than ${mostUnreadBytes} bytes unread`)
    return new Promise((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, async (error) => {
        if (!error) return resolve()
        // The server no longer reads, because it is ending. Its exit says more than this error.
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
    // Most output that is not a message is recognized by its first character. This check is fast, because there may be a lot of such
    // output.
    if (!line.trimStart().startsWith('{')) this.#ignore(line)
    else {
      this.#unread.push(line)
      if (!this.#isDelivering) this.#delivered = this.#deliver()
      else if (this.#unread.length > mostUnreadLines) this.#child?.stdout.pause()
    }
  }

  /** Delivers messages one after another, and yields to the event loop in between. */
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
    // The SDK handles an answer immediately, but a notification with a delay. After the answer to a request, it ignores progress of this
    // request. Therefore the next message waits until the SDK has handled the notification.
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

  /**
   * Kills the server, because communication with it is no longer possible and it might run forever. Drops messages that have not been
   * delivered.
   */
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
    // Kills all processes that the server started.
    killGroup(child.pid, 'SIGKILL')
    const destroy = () => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
    }
    // After a busy event loop, timers run first. Therefore the pipes are read once more before they are closed.
    const late = setTimeout(() => afterPendingIO().then(destroy), drainMs)
    child.once('close', async () => {
      clearTimeout(late)
      destroy()
      await this.#guard?.release()
      // Waits for the delivery, because the last output of the server may be an answer.
      await this.#delivered
      this.#gone.resolve()
      this.onclose?.()
    })
  }
}

/**
 * Creates an error as the answer to a request whose response is invalid but has the request's id. Without it, the request would wait
 * forever.
 */
function refusedAnswer(line: string): JSONRPCMessage | undefined {
  try {
    const { id, method }: Record<string, unknown> = JSON.parse(line)
    if (method !== undefined || (typeof id !== 'number' && typeof id !== 'string')) return undefined
    return { jsonrpc: '2.0', id, error: { code: internalError, message: 'the server answered with something other than a response' } }
  } catch {
    return undefined // The line is not even JSON.
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
