import type { LineFinder } from './line-finder.ts'
import type { FoundLine } from './search-worker.ts'
import { countNewlines, looksBinary, readLineBlocks } from './text-file.ts'
import type { WalkEntry } from './walk.ts'
import type { Workspace } from './workspace.ts'

/** A line found by `search_files`. */
export interface FileMatch {
  /** The path relative to the workspace. */
  path: string
  /** The line number, from 1. */
  line: number
  /** Up to 500 characters of the line, around the match. */
  text: string
  /** Up to the requested number of lines before the match. */
  before?: string[]
  /** Up to the requested number of lines after the match. */
  after?: string[]
}

export interface FileMatches {
  /** The number of matching lines, including lines that are not in `matches`. */
  count: number
  matches: FileMatch[]
}

export interface FileSearch {
  finder: LineFinder
  /** The number of context lines before and after a match. */
  context: number
  /** Maximum number of matches to keep. */
  most: number
  signal: AbortSignal
}

const maxLineCharacters = 500

/** Searches one file block by block. A binary file has no matches. Rejects with the errors of `Workspace.open`. */
export async function searchFile(workspace: Workspace, entry: WalkEntry, search: FileSearch): Promise<FileMatches> {
  const { handle, stats } = await workspace.open(entry)
  try {
    const matches = new MatchCollector(entry.path, search)
    let first = true
    for await (const bytes of readLineBlocks(handle, stats.size, search.signal)) {
      if (first && looksBinary(bytes)) break
      first = false
      const text = new TextDecoder().decode(bytes)
      matches.add(text, await search.finder.find(text), countNewlines(bytes))
    }
    return { count: matches.count, matches: matches.kept }
  } finally {
    await handle.close()
  }
}

/** Converts the lines found in a block to matches of the file. The context of a line may be in other blocks. */
class MatchCollector {
  readonly kept: FileMatch[] = []
  count = 0
  readonly #path: string
  readonly #context: number
  readonly #most: number
  /** The number of lines before the block. */
  #linesBefore = 0
  #lastMatch = -1
  /** The lines that were read last, for `before` of the next match. */
  #tail: string[] = []
  /** Matches whose `after` is not yet complete. */
  #open: FileMatch[] = []

  constructor(path: string, { context, most }: FileSearch) {
    this.#path = path
    this.#context = context
    this.#most = most
  }

  /** Adds the next block: its text, the lines found in it, and its number of line breaks. */
  add(text: string, found: readonly FoundLine[], newlines: number): void {
    if (found.length > 0 || this.#context > 0) this.#take(text, found)
    this.#linesBefore += newlines
  }

  #take(text: string, found: readonly FoundLine[]): void {
    const lines = text.split('\n')
    if (lines.at(-1) === '') lines.pop()
    if (this.#context > 0) for (const match of this.#open) this.#fillAfter(match, lines, 0)
    for (const { line, at } of found) {
      const number = this.#linesBefore + line
      // A line that is longer than a block is split, but counts only once.
      if (number === this.#lastMatch) continue
      this.#lastMatch = number
      this.count++
      if (this.kept.length < this.#most) this.#keep(lines, line, at)
    }
    if (this.#context > 0) {
      this.#open = this.#open.filter(({ after = [] }) => after.length < this.#context)
      this.#tail = [...this.#tail, ...lines.slice(-this.#context)].slice(-this.#context)
    }
  }

  #keep(lines: readonly string[], line: number, at: number): void {
    const match: FileMatch = { path: this.#path, line: this.#linesBefore + line + 1, text: shorten(lines[line] ?? '', at) }
    this.kept.push(match)
    if (this.#context === 0) return
    const before = [...this.#tail, ...lines.slice(Math.max(0, line - this.#context), line)].slice(-this.#context)
    if (before.length > 0) match.before = before.map((text) => shorten(text, 0))
    this.#fillAfter(match, lines, line + 1)
    if ((match.after?.length ?? 0) < this.#context) this.#open.push(match)
  }

  #fillAfter(match: FileMatch, lines: readonly string[], from: number): void {
    const missing = this.#context - (match.after?.length ?? 0)
    const more = lines.slice(from, from + missing)
    if (more.length > 0) match.after = [...(match.after ?? []), ...more.map((text) => shorten(text, 0))]
  }
}

/** Shortens a line to 500 characters that contain the match at `at`. */
function shorten(raw: string, at: number): string {
  const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
  if (line.length <= maxLineCharacters) return line
  const from = Math.max(0, Math.min(at - 100, line.length - maxLineCharacters + 1))
  const start = from > 0 ? '…' : ''
  const room = maxLineCharacters - start.length
  return from + room >= line.length ? `${start}${line.slice(from)}` : `${start}${line.slice(from, from + room - 1)}…`
}
