/** Matches one file or folder name, never a path. */
export interface NamePattern {
  matches(name: string): boolean
}

const anyText = Symbol('*')
const anyCharacter = Symbol('?')
type Token = string | CharacterSet | typeof anyText | typeof anyCharacter

interface CharacterSet {
  negated: boolean
  /** Code unit ranges, both ends included. */
  ranges: [from: number, to: number][]
}

/**
 * Compiles one name of a pattern: `*`, `?`, `[a-z]`, `[!a-z]`, `[[:digit:]]`, and `\` before a literal character. With `hidden: false` a
 * name that starts with a dot is matched only by a pattern that spells the dot out. Undefined for an invalid pattern (a bracket that does
 * not close, a `\` at the end).
 *
 * It does not become a regular expression: patterns come from models and from the repositories they look at, and `*a*a*a*a*b` as a regular
 * expression takes longer than a day on a long name. Here the worst case is pattern length × name length.
 */
export function compileName(source: string, { hidden }: { hidden: boolean }): NamePattern | undefined {
  const tokens = tokenize(source)
  if (tokens === undefined) return undefined
  const mayMatch = hidden || tokens[0] === '.' ? () => true : (name: string) => !name.startsWith('.')
  const wild = tokens.findIndex((token) => typeof token !== 'string')
  if (wild === -1) {
    const literal = tokens.join('')
    return { matches: (name) => name === literal }
  }
  const rest = tokens.slice(wild + 1)
  if (wild === 0 && tokens[0] === anyText && rest.every((token) => typeof token === 'string')) {
    // `*.ts`, by far the commonest form.
    const ending = rest.join('')
    return { matches: (name) => name.endsWith(ending) && mayMatch(name) }
  }
  return { matches: (name) => mayMatch(name) && matchTokens(tokens, name) }
}

function tokenize(source: string): Token[] | undefined {
  const tokens: Token[] = []
  for (let at = 0; at < source.length; at++) {
    const char = source.charAt(at)
    if (char === '*') {
      if (tokens.at(-1) !== anyText) tokens.push(anyText)
    } else if (char === '?') {
      tokens.push(anyCharacter)
    } else if (char === '[') {
      const set = readSet(source, at + 1)
      if (set === undefined) return undefined
      tokens.push(set.set)
      at = set.end
    } else if (char === '\\') {
      at++
      if (at === source.length) return undefined
      tokens.push(source.charAt(at))
    } else {
      tokens.push(char)
    }
  }
  return tokens
}

/** Splits a pattern for a path into those for its names. A `/` in brackets is no separator. */
export function splitNames(source: string): string[] {
  const names: string[] = []
  let from = 0
  for (let at = 0; at < source.length; at++) {
    const char = source[at]
    if (char === '/') {
      names.push(source.slice(from, at))
      from = at + 1
    } else if (char === '[') {
      at = readSet(source, at + 1)?.end ?? at
    } else if (char === '\\' && source[at + 1] !== '/') {
      at++
    }
  }
  return [...names, source.slice(from)]
}

/** https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap09.html#tag_09_03_05 for the POSIX locale. */
const namedSets = new Map<string, [number, number][]>(
  Object.entries({
    alnum: '09AZaz',
    alpha: 'AZaz',
    blank: '\t\t  ',
    cntrl: '\x00\x1f\x7f\x7f',
    digit: '09',
    graph: '!~',
    lower: 'az',
    print: ' ~',
    punct: '!/:@[`{~',
    space: '\t\r  ',
    upper: 'AZ',
    xdigit: '09AFaf',
  }).map(([name, ends]) => [name, [...ends.matchAll(/../gs)].map(([pair]) => [pair.charCodeAt(0), pair.charCodeAt(1)])]),
)

/** Reads `a-z]` from just after the opening bracket; `end` is where the closing one stands. */
function readSet(source: string, from: number): { set: CharacterSet; end: number } | undefined {
  let at = from
  const negated = source[at] === '!' || source[at] === '^'
  if (negated) at++
  const ranges: CharacterSet['ranges'] = []
  // A bracket that comes first stands for itself.
  for (let first = true; first || source[at] !== ']'; first = false) {
    if (at >= source.length) return undefined
    const named = source.startsWith('[:', at) ? source.indexOf(':]', at + 2) : -1
    if (named !== -1) {
      const known = namedSets.get(source.slice(at + 2, named))
      if (known === undefined) return undefined
      ranges.push(...known)
      at = named + 2
      continue
    }
    if (source[at] === '\\') at++
    const low = source.charCodeAt(at++)
    let high = low
    if (source[at] === '-' && at + 1 < source.length && source[at + 1] !== ']') {
      at++
      if (source[at] === '\\') at++
      high = source.charCodeAt(at++)
    }
    if (Number.isNaN(low) || Number.isNaN(high)) return undefined
    // Both, because in `[z-a]` the `z` stands for itself all the same.
    ranges.push([low, low], [low, high])
  }
  return { set: { negated, ranges }, end: at }
}

/** Going back to the last `*` is enough: whatever an earlier one could take, the last one can take too. */
function matchTokens(tokens: readonly Token[], name: string): boolean {
  let token = 0
  let at = 0
  let starToken = -1
  let starAt = 0
  while (at < name.length) {
    const wanted = tokens[token]
    if (wanted === anyText) {
      starToken = token++
      starAt = at
    } else if (wanted !== undefined && matchesUnit(wanted, name, at)) {
      token++
      at++
    } else if (starToken !== -1) {
      token = starToken + 1
      at = ++starAt
    } else {
      return false
    }
  }
  while (tokens[token] === anyText) token++
  return token === tokens.length
}

function matchesUnit(token: Exclude<Token, typeof anyText>, name: string, at: number): boolean {
  if (typeof token === 'string') return name[at] === token
  if (token === anyCharacter) return true
  if (typeof token === 'symbol') return false
  const unit = name.charCodeAt(at)
  return token.ranges.some(([from, to]) => unit >= from && unit <= to) !== token.negated
}
