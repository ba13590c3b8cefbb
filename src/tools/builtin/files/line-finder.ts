import { messageOf, show, ToolloopError } from '../../../core/errors.ts'
import { type FindText, textFinder } from './find-text.ts'
import type { SearchThread, TaskLimit } from './search-thread.ts'
import type { FoundLine } from './search-worker.ts'

export interface FindOptions {
  query: string
  regex: boolean
  ignoreCase: boolean
  /** How long a regular expression may take for one block of text (at most 256 KiB), in milliseconds. */
  regexTimeoutMs: number
  thread: SearchThread
}

/** Finds the matching lines of a text, in order and without duplicates. */
export interface LineFinder {
  find(text: string): Promise<FoundLine[]>
}

/** Creates a finder for a query. Throws `invalid_arguments` for an invalid query. */
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

  async find(text: string): Promise<FoundLine[]> {
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
}

class RegexFinder implements LineFinder {
  readonly #regex: Regex
  readonly #thread: SearchThread
  readonly #limit: TaskLimit

  constructor({ query, ignoreCase, regexTimeoutMs: ms, thread }: FindOptions) {
    this.#regex = compileRegex(query, ignoreCase)
    this.#thread = thread
    this.#limit = { ms, late: () => unusable(query, `it took longer than ${ms} ms on one part of a file; simplify it`) }
  }

  find(text: string): Promise<FoundLine[]> {
    return this.#thread.ask('findLines', [this.#regex, text], this.#limit)
  }
}

type Regex = Pick<RegExp, 'source' | 'flags'>

function unusable(query: string, problem: string): ToolloopError {
  return new ToolloopError(
    'invalid_arguments',
    `Expected \`query\` to be a regular expression (JavaScript), got ${show(query)}: ${problem}`,
  )
}

function compileRegex(query: string, ignoreCase: boolean): Regex {
  // Most other dialects of regular expressions set a flag with a leading `(?i)`.
  const inline = query.startsWith('(?i)')
  const source = inline ? query.slice('(?i)'.length) : query
  const flags = ignoreCase || inline ? 'i' : ''
  try {
    return { source: new RegExp(source, `${flags}u`).source, flags: `${flags}u` }
  } catch {
    // Tries again without the flag `u`, which refuses harmless escapes such as `\-`.
    try {
      return { source: new RegExp(source, flags).source, flags }
    } catch (error) {
      throw unusable(query, messageOf(error))
    }
  }
}
