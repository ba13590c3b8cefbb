import { parentPort } from 'node:worker_threads'
import type { Ignore } from 'ignore'
import { addRules } from './gitignore.ts'
import { compileGlob, type Glob, InvalidGlob } from './glob.ts'

/** A matching line: its index in the text, and the position of the match in the line. */
export interface FoundLine {
  line: number
  at: number
}

/** What a glob says about a path: whether it matches and, if it is a folder, whether something in it may match. */
export interface GlobMatch {
  matches: boolean
  mayMatchIn: boolean
}

/** The tasks of a search's thread: everything that a hostile pattern, query or `.gitignore` could make run for days. */
const tasks = {
  /** Returns the matching lines of a text, in order. */
  findLines({ source, flags }: { source: string; flags: string }, text: string): FoundLine[] {
    const regex = new RegExp(source, flags)
    const found: FoundLine[] = []
    const lines = text.split('\n')
    // A trailing line break does not start another line.
    if (lines.at(-1) === '') lines.pop()
    for (const [line, content] of lines.entries()) {
      const match = regex.exec(content.endsWith('\r') ? content.slice(0, -1) : content)
      if (match !== null) found.push({ line, at: match.index })
    }
    return found
  },

  /** Matches paths relative to the start against a glob. Returns a text that says what was expected if the glob is invalid. */
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

  /** Adds a file's rules to the set `above`. Returns the number of the combined set. */
  addRules(above: number | undefined, folder: string, text: string): number {
    return ruleSets.push(addRules(above === undefined ? undefined : ruleSets[above], folder, text)) - 1
  },

  /** Returns which paths git ignores by a set of rules. Folders end with `/`. */
  areIgnored(rules: number, paths: readonly string[]): boolean[] {
    return paths.map((path) => ruleSets[rules]?.ignores(path) === true)
  },
}

export type SearchTasks = typeof tasks

/** A thread belongs to one search, which has a single pattern. */
let glob: Glob | undefined
const ruleSets: Ignore[] = []

parentPort?.on('message', ({ task, args }: { task: keyof SearchTasks; args: readonly unknown[] }) => {
  const run: (...args: never[]) => unknown = tasks[task]
  parentPort?.postMessage(run(...(args as never[])))
})
