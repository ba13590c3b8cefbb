import picomatch from 'picomatch'

/** A glob over paths below the folder that is searched. */
export interface Glob {
  matches(path: string): boolean
  /** Whether something in this folder may match. */
  mayMatchIn(folder: string): boolean
}

/** A pattern that is no glob; the message says what was expected of it. */
export class InvalidGlob extends Error {}

/** The same on every system: paths come with `/`, and a `\` escapes. */
const options = { posix: true, windows: false, nonegate: true, strictBrackets: true, strictSlashes: true }

/**
 * Compiles a glob given by a model. Without a `/` it is matched against the name at any depth. Names that start with a dot match only if the
 * pattern spells the dot out. Throws `InvalidGlob`.
 */
export function compileGlob(pattern: string): Glob {
  if (/\\[^*?[\](){}!@+|,\\]/.test(pattern)) throw new InvalidGlob('a glob with `/` between folders')
  // Folders are called `(group)`; only after one of `@!+*?` do parentheses mean something.
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
    // A pair of braces reaches over a `/`.
    return () => true
  }
}
