import { parentPort } from 'node:worker_threads'
import type { Ignore } from 'ignore'
import { addRules } from './gitignore.ts'
import { compileGlob, type Glob, InvalidGlob } from './glob.ts'

/** A matching line: its index in the text, and where in it the match begins. */
export interface FoundLine {
  line: number
  at: number
}

/** What a glob says of a path: whether the path matches, and whether something in it may, if it is a folder. */
export interface GlobMatch {
  matches: boolean
  mayMatchIn: boolean
}

/** What the thread of a search does: everything for which a hostile pattern, query or `.gitignore` could take days. */
const tasks = {
  /** The matching lines of a text, in order. */
  findLines({ source, flags }: { source: string; flags: string }, text: string): FoundLine[] {
    const regex = new RegExp(source, flags)
    const found: FoundLine[] = []
    const lines = text.split('\n')
    // After the last line break there is no further line.
    if (lines.at(-1) === '') lines.pop()
    for (const [line, content] of lines.entries()) {
      const match = regex.exec(content.endsWith('\r') ? content.slice(0, -1) : content)
      if (match !== null) found.push({ line, at: match.index })
    }
    return found
  },

  /** Matches paths below the start against a glob; a text says what was expected of one that is none. */
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

  /** Adds a file's rules to those with the number `above`. Returns the number of all together. */
  addRules(above: number | undefined, folder: string, text: string): number {
    return ruleSets.push(addRules(above === undefined ? undefined : ruleSets[above], folder, text)) - 1
  },

  /** Which paths git ignores by the rules with a number; folders end with `/`. */
  areIgnored(rules: number, paths: readonly string[]): boolean[] {
    return paths.map((path) => ruleSets[rules]?.ignores(path) === true)
  },
}

export type SearchTasks = typeof tasks

/** A thread belongs to one search, which has one pattern. */
let glob: Glob | undefined
const ruleSets: Ignore[] = []

parentPort?.on('message', ({ task, args }: { task: keyof SearchTasks; args: readonly unknown[] }) => {
  const run: (...args: never[]) => unknown = tasks[task]
  parentPort?.postMessage(run(...(args as never[])))
})
