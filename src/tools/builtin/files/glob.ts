import picomatch from 'picomatch'

/** A glob over paths relative to the searched folder. */
export interface Glob {
  matches(path: string): boolean
  /** Whether a path inside this folder may match. */
  mayMatchIn(folder: string): boolean
}

/** Thrown for an invalid glob. The message completes "Expected `pattern` to be …". */
export class InvalidGlob extends Error {}

/** Options that give the same results on every system: paths use `/`, and `\` escapes. */
const options = { posix: true, windows: false, nonegate: true, strictBrackets: true, strictSlashes: true }

/**
 * Compiles a glob given by a model. A glob without `/` matches names at any depth. Names that start with a dot match only if the pattern
 * contains the dot. Throws `InvalidGlob`.
 */
export function compileGlob(pattern: string): Glob {
  if (/\\[^*?[\](){}!@+|,\\]/.test(pattern)) throw new InvalidGlob('a glob with `/` between folders')
  // Parentheses have a meaning only after one of `@!+*?`. All other parentheses are escaped, because folders may be named like `(group)`.
  const literal = pattern.replace(/(?<![@!+*?\\])\(([^()]*)\)/g, '\\($1\\)')
  const names = literal.split('/').filter((name) => name !== '' && name !== '.')
  if (names.length === 0) throw new InvalidGlob('a glob such as `*.ts` or `src/**/*.json`')
  if (names.includes('..')) throw new InvalidGlob('a glob without `..`')
  if (literal.endsWith('/')) names.push('**')
  if (!literal.includes('/')) names.unshift('**')
  try {
    return { matches: picomatch(names.join('/'), options), mayMatchIn: compileFolders(names) }
  } catch {
    throw new InvalidGlob('a glob whose brackets and braces come in pairs, with `\\` before one that stands for itself')
  }
}

function compileFolders(names: readonly string[]): Glob['mayMatchIn'] {
  const folders = names.map((_, at) => names.slice(0, at + 1).join('/'))
  if (names.at(-1) !== '**') folders.pop()
  try {
    return picomatch(folders, options)
  } catch {
    // Braces that contain a `/` can't be split into folders, so every folder may contain a match.
    return () => true
  }
}
