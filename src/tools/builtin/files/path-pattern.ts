import { show, ToolloopError } from '../../../core/errors.ts'
import { compileName, type NamePattern, splitNames } from './name-pattern.ts'

// Our own globs: picomatch and its like make regular expressions of them, and one of `*a` fourteen times keeps those busy for seconds.

const anyFolders = Symbol('**')
const end = Symbol('end')
/** One name, any number of folders, or the end of one alternative. */
type Step = NamePattern | typeof anyFolders | typeof end

/** How far into a pattern a path has come: indexes into its steps. Empty: no path that starts so can match. */
export type PatternState = readonly number[]

/**
 * A pattern over whole paths, matched name by name from the top: a walk carries the state down the folders, tests each name once, and never
 * enters a folder below which nothing can match.
 */
export class PathPattern {
  readonly #steps: readonly Step[]
  readonly #hidden: boolean
  readonly start: PatternState

  /** `alternatives` are lists of steps of which one has to match. `hidden`: whether `**` passes folders whose name starts with a dot. */
  private constructor(alternatives: readonly Step[][], hidden: boolean) {
    this.#hidden = hidden
    this.#steps = alternatives.flatMap((steps) => [...steps, end])
    const start: number[] = []
    let at = 0
    for (const steps of alternatives) {
      this.#add(start, at)
      at += steps.length + 1
    }
    this.start = start
  }

  /** Compiles paths split into names. Undefined if a name has no meaning as a pattern. */
  static of(alternatives: readonly string[][], options: { hidden: boolean }): PathPattern | undefined {
    const compiled: Step[][] = []
    for (const names of alternatives) {
      const steps: Step[] = []
      for (const name of names) {
        const step = name === '**' ? anyFolders : compileName(name, options)
        if (step === undefined) return undefined
        if (step !== anyFolders || steps.at(-1) !== anyFolders) steps.push(step)
      }
      // `src/**` is what is inside `src`, not `src` itself.
      const inside = compileName('*', options)
      if (steps.at(-1) === anyFolders && inside !== undefined) steps.push(inside)
      compiled.push(steps)
    }
    return new PathPattern(compiled, options.hidden)
  }

  /** The state one name further down. */
  enter(state: PatternState, name: string): PatternState {
    const next: number[] = []
    for (const at of state) {
      const step = this.#steps[at]
      if (step === undefined || step === end) continue
      if (step === anyFolders) {
        if (this.#hidden || !name.startsWith('.')) this.#add(next, at)
      } else if (step.matches(name)) {
        this.#add(next, at + 1)
      }
    }
    return next
  }

  /** Whether the path that led to `state` matches. */
  accepts(state: PatternState): boolean {
    return state.some((at) => this.#steps[at] === end)
  }

  /** Whether something below the path that led to `state` may match. */
  mayContinue(state: PatternState): boolean {
    return state.some((at) => this.#steps[at] !== end)
  }

  matches(names: readonly string[]): boolean {
    let state = this.start
    for (const name of names) {
      state = this.enter(state, name)
      if (state.length === 0) return false
    }
    return this.accepts(state)
  }

  #add(state: number[], at: number): void {
    if (state.includes(at)) return
    state.push(at)
    // `**` may stand for no folder at all.
    if (this.#steps[at] === anyFolders) this.#add(state, at + 1)
  }
}

/** More alternatives than anyone writes by hand. */
const maxAlternatives = 128

/**
 * Compiles a glob given by a model: `*`, `?`, `[abc]`, `**`, `{a,b}`. Without a `/` it is matched against the name at any depth, with one
 * against the path below the folder that is searched. Names that start with a dot match only where the pattern spells the dot out.
 * Throws `invalid_arguments` for an invalid pattern.
 */
export function compileGlob(pattern: string): PathPattern {
  const refuse = (expected: string): never => {
    throw new ToolloopError('invalid_arguments', `Expected \`pattern\` to be ${expected}, got ${show(pattern)}`)
  }
  if (/\\[^*?[\]{}!,\\]/.test(pattern)) refuse('a glob with `/` between folders')
  const alternatives = expandBraces(pattern, maxAlternatives) ?? refuse(`a glob of at most ${maxAlternatives} alternatives in braces`)
  const paths = alternatives.map((alternative) => {
    const names = splitNames(alternative).filter((name) => name !== '' && name !== '.')
    if (names.length === 0) refuse('a glob such as `*.ts` or `src/**/*.json`')
    if (names.includes('..')) refuse('a glob without `..`')
    if (alternative.endsWith('/')) names.push('**')
    return alternative.includes('/') ? names : ['**', ...names]
  })
  return PathPattern.of(paths, { hidden: false }) ?? refuse('a glob whose brackets close')
}

/** `a{b,c}` → `ab`, `ac`. Braces without a comma stand for themselves. Undefined when there would be more than `most`. */
function expandBraces(pattern: string, most: number): string[] | undefined {
  const braces = findBraces(pattern)
  if (braces === undefined) return [pattern]
  const { open, close, options } = braces
  const all: string[] = []
  for (const option of options) {
    const expanded = expandBraces(`${pattern.slice(0, open)}${option}${pattern.slice(close + 1)}`, most - all.length)
    if (expanded === undefined) return undefined
    all.push(...expanded)
    if (all.length > most) return undefined
  }
  return all
}

/** The first pair of braces with a comma in it. */
function findBraces(pattern: string): { open: number; close: number; options: string[] } | undefined {
  for (let open = nextUnescaped(pattern, '{', 0); open !== -1; open = nextUnescaped(pattern, '{', open + 1)) {
    let depth = 0
    let from = open + 1
    const options: string[] = []
    for (let at = open; at < pattern.length; at++) {
      const char = pattern[at]
      if (char === '\\') at++
      else if (char === '{') depth++
      else if (char === ',' && depth === 1) {
        options.push(pattern.slice(from, at))
        from = at + 1
      } else if (char === '}' && --depth === 0) {
        if (options.length > 0) return { open, close: at, options: [...options, pattern.slice(from, at)] }
        break
      }
    }
  }
  return undefined
}

function nextUnescaped(pattern: string, wanted: string, from: number): number {
  for (let at = from; at < pattern.length; at++) {
    if (pattern[at] === '\\') at++
    else if (pattern[at] === wanted) return at
  }
  return -1
}
