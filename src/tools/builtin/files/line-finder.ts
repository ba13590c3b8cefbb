import { Worker } from 'node:worker_threads'
import { messageOf, show, ToolloopError } from '../../../core/errors.ts'
import { type FindText, textFinder } from './find-text.ts'
import type { FoundLine, RegexWorkerData } from './regex-worker.ts'
import { workerCode } from './regex-worker-code.ts'

export interface FindOptions {
  query: string
  regex: boolean
  ignoreCase: boolean
  /** How long a regular expression may take over one block of text (at most 256 KiB), in milliseconds. */
  regexTimeoutMs: number
  signal: AbortSignal
}

/** Finds the lines of a text that match a query, in order, each once. */
export interface LineFinder {
  find(text: string): FoundLine[] | Promise<FoundLine[]>
  /** Ends what the finder started. Must be called; may be called twice. */
  close(): Promise<void>
}

/** Throws `invalid_arguments` for a query that can't be used. */
export function createLineFinder(options: FindOptions): LineFinder {
  if (options.regex) return new RegexFinder(options)
  if (/[\r\n]/.test(options.query)) {
    throw new ToolloopError('invalid_arguments', `Expected \`query\` to be a single line, got ${show(options.query)}`)
  }
  return new TextFinder(options.query, options.ignoreCase)
}

class TextFinder implements LineFinder {
  readonly #indexOf: FindText

  constructor(query: string, ignoreCase: boolean) {
    this.#indexOf = textFinder(query, ignoreCase)
  }

  find(text: string): FoundLine[] {
    const found: FoundLine[] = []
    let line = 0
    let lineStart = 0
    for (let at = this.#indexOf(text, 0); at !== -1; ) {
      for (let next = text.indexOf('\n', lineStart); next !== -1 && next < at; next = text.indexOf('\n', lineStart)) {
        line++
        lineStart = next + 1
      }
      found.push({ line, at: at - lineStart })
      const lineEnd = text.indexOf('\n', at)
      at = lineEnd === -1 ? -1 : this.#indexOf(text, lineEnd + 1)
    }
    return found
  }

  async close(): Promise<void> {}
}

interface Waiting {
  resolve(found: FoundLine[]): void
  reject(error: unknown): void
}

/** Matches in its own thread: `(a+)+$` may run for days, and only a thread can be stopped from outside. */
class RegexFinder implements LineFinder {
  readonly #worker: Worker
  readonly #signal: AbortSignal
  readonly #timeoutMs: number
  readonly #query: string
  /** Blocks in the order they were sent, which is the order they are answered in. */
  readonly #waiting: Waiting[] = []
  #timer: NodeJS.Timeout | undefined
  #failure: unknown

  constructor({ query, ignoreCase, regexTimeoutMs, signal }: FindOptions) {
    signal.throwIfAborted()
    const workerData: RegexWorkerData = compileRegex(query, ignoreCase)
    this.#query = query
    this.#signal = signal
    this.#timeoutMs = regexTimeoutMs
    this.#worker = new Worker(workerCode, {
      eval: typeof workerCode === 'string',
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    })
    this.#worker.on('message', (found: FoundLine[]) => {
      this.#restartTimer(this.#waiting.length > 1)
      this.#waiting.shift()?.resolve(found)
    })
    // Out of memory or stack, or no thread at all; the system's own message may contain paths.
    this.#worker.on('error', (cause) => this.#fail(new ToolloopError('tool_failed', `${show(query)} could not be searched for`, { cause })))
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  find(text: string): Promise<FoundLine[]> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure)
      this.#waiting.push({ resolve, reject })
      if (this.#waiting.length === 1) this.#restartTimer(true)
      this.#worker.postMessage(text)
    })
  }

  async close(): Promise<void> {
    this.#restartTimer(false)
    this.#signal.removeEventListener('abort', this.#abort)
    await this.#worker.terminate()
  }

  readonly #abort = (): void => this.#fail(this.#signal.reason)

  #restartTimer(running: boolean): void {
    clearTimeout(this.#timer)
    if (!running) return
    const late = () => this.#fail(unusable(this.#query, `it took longer than ${this.#timeoutMs} ms on one part of a file; simplify it`))
    this.#timer = setTimeout(late, this.#timeoutMs)
  }

  #fail(error: unknown): void {
    this.#failure ??= error
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure)
    // The caller closes upon the rejections above, but the thread must stop at once.
    void this.close()
  }
}

function unusable(query: string, problem: string): ToolloopError {
  return new ToolloopError(
    'invalid_arguments',
    `Expected \`query\` to be a regular expression (JavaScript), got ${show(query)}: ${problem}`,
  )
}

function compileRegex(query: string, ignoreCase: boolean): RegexWorkerData {
  // `(?i)` in front is how most other dialects say it.
  const inline = query.startsWith('(?i)')
  const source = inline ? query.slice('(?i)'.length) : query
  const flags = ignoreCase || inline ? 'i' : ''
  try {
    return { source: new RegExp(source, `${flags}u`).source, flags: `${flags}u` }
  } catch {
    // Unicode mode refuses harmless escapes such as `\-`.
    try {
      return { source: new RegExp(source, flags).source, flags }
    } catch (error) {
      throw unusable(query, messageOf(error))
    }
  }
}
