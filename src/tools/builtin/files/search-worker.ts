import { parentPort } from 'node:worker_threads'
import type { Ignore } from 'ignore'
import { addRules } from './gitignore.ts'
import { compileGlob, type Glob, InvalidGlob } from './glob.ts'

/** A matching line: its index in the text, and the position of the match in the line. */
export interface FoundLine {
  line: number
  at: number
}

/** The result of matching a path against a glob: whether it matches and, for a folder, whether a path inside it may match. */
export interface GlobMatch {
  matches: boolean
  mayMatchIn: boolean
}

/** The tasks that a search runs in its thread. A hostile pattern, query or `.gitignore` could make any of them run for days. */
const tasks = {
  /** Returns the matching lines of a text, in order. */
  findLines({ source, flags }: { source: string; flags: string }, text: string): FoundLine[] {
    const regex = new RegExp(source, flags)
    const found: FoundLine[] = []
    const lines = text.split('\n')
    // A line break at the end does not start another line.
    if (lines.at(-1) === '') lines.pop()
    for (const [line, content] of lines.entries()) {
      const match = regex.exec(content.endsWith('\r') ? content.slice(0, -1) : content)
      if (match !== null) found.push({ line, at: match.index })
    }
    return found
  },

  /**
   * Matches paths against a glob. The paths are relative to the folder where the walk starts. If the glob is invalid, returns a text that
   * says what was expected.
   */
  matchGlob(pattern: string, paths: readonly string[]): GlobMatch[] | string {
    try {
      glob ??= compileGlob(pattern)
    } catch (error) {
      if (error instanceof InvalidGlob) return error.message
      throw error
    }
    const { matches, mayMatchIn } = glob
    return paths.map((path) => ({ matches: matches(path), mayMatchIn: mayMatchIn(path) }))
  },

  /** Combines the rules of an ignore file with the stored rule set `above`. Returns the number of the combined rule set. */
  addRules(above: number | undefined, folder: string, text: string): number {
    return ruleSets.push(addRules(above === undefined ? undefined : ruleSets[above], folder, text)) - 1
  },

  /** Returns, for each path, whether git would ignore it. Paths of folders end with `/`. */
  areIgnored(rules: number, paths: readonly string[]): boolean[] {
    return paths.map((path) => ruleSets[rules]?.ignores(path) === true)
  },
}

export type SearchTasks = typeof tasks

/** The glob of the search. A thread belongs to one search, which has a single pattern. */
let glob: Glob | undefined
const ruleSets: Ignore[] = []

parentPort?.on('message', ({ task, args }: { task: keyof SearchTasks; args: readonly unknown[] }) => {
  const run: (...args: never[]) => unknown = tasks[task]
  parentPort?.postMessage(run(...(args as never[])))
})
