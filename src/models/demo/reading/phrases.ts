import { isKnownEnding } from './kinds.ts'
import { ordinalOf } from './number-words.ts'
import type { Token } from './tokens.ts'
import { isUnit, vocabulary } from './words.ts'

/**
 * A rule of the grammar, compiled from its text. Items stand between spaces:
 * `word|word` one of these words, `@class` a word of that class, `...` any words, as few as possible; `name:` in front captures, `?` behind
 * makes an item optional, `*` and `+` repeat it, `$` is the end of the clause.
 *
 * ```ts
 * phrase('than:@comparative than n:@number unit:@unit?')
 * ```
 */
export interface Phrase {
  items: Item[]
}

interface Item {
  test: (token: Token) => boolean
  name?: string
  least: number
  most: number
  /** Takes as few tokens as it can; a repeated word class takes as many. */
  lazy: boolean
  end: boolean
}

/** Where a phrase fits, and what its named items took. */
export interface Found {
  start: number
  end: number
  captured: Record<string, Token[]>
}

/** Classes that go by more than the word; all others are in `vocabulary`. */
const classes: Record<string, (token: Token) => boolean> = {
  number: (token) => token.kind === 'number',
  ordinal: (token) => token.kind === 'word' && ordinalOf(token.word) !== undefined,
  unit: (token) => token.kind === 'word' && isUnit(token.word),
  quoted: (token) => token.kind === 'quoted',
  glob: (token) => token.kind === 'glob',
  ending: (token) => token.kind === 'ending' || (token.kind === 'word' && isKnownEnding(token.word)),
  name: (token) => ['quoted', 'path', 'glob', 'ending', 'word'].includes(token.kind),
}

/** Compiles a rule. Throws for the name of a class that is not there. */
export function phrase(text: string): Phrase {
  return { items: text.split(' ').map(readItem) }
}

function readItem(source: string): Item {
  const [, name, body = '', repeat] = /^(?:(\w+):)?(.+?)([?*+])?$/.exec(source) ?? []
  const lazy = body === '...'
  const test = lazy ? () => true : body.startsWith('@') ? classOf(body.slice(1)) : wordTest(body)
  return {
    test,
    least: repeat === '?' || repeat === '*' ? 0 : 1,
    most: lazy || repeat === '*' || repeat === '+' ? Number.POSITIVE_INFINITY : 1,
    lazy,
    end: body === '$',
    ...(name === undefined ? {} : { name }),
  }
}

function classOf(name: string): (token: Token) => boolean {
  const words = vocabulary[name]
  const test = classes[name] ?? (words && ((token: Token) => token.kind === 'word' && words.has(token.word)))
  if (test === undefined) throw new Error(`Expected the name of a word class, got \`@${name}\``)
  return test
}

function wordTest(body: string): (token: Token) => boolean {
  const words = new Set(body.split('|'))
  return (token) =>
    (token.kind === 'word' || token.kind === 'number' || token.kind === 'operator' || token.kind === 'comma') && words.has(token.word)
}

/** The tokens of a clause, of which the rules take what they understand; what nobody took was not understood. */
export class Clause {
  readonly tokens: readonly Token[]
  readonly #taken: boolean[]

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens
    this.#taken = tokens.map(() => false)
  }

  /** A second reading of the same words, nothing taken. */
  anew(): Clause {
    return new Clause(this.tokens)
  }

  isFree(at: number): boolean {
    return this.#taken[at] === false
  }

  token(at: number): Token | undefined {
    return this.isFree(at) ? this.tokens[at] : undefined
  }

  take(start: number, end: number = start + 1): void {
    for (let at = start; at < end; at++) this.#taken[at] = true
  }

  /** The first place where the phrase fits words that nobody took. */
  find(wanted: Phrase, from = 0): Found | undefined {
    for (let start = from; start < this.tokens.length; start++) {
      const found = this.matchAt(wanted, start)
      if (found) return found
    }
    return undefined
  }

  matchAt(wanted: Phrase, start: number): Found | undefined {
    const captured: Record<string, Token[]> = {}
    const end = this.#match(wanted.items, 0, start, captured)
    return end === undefined ? undefined : { start, end, captured }
  }

  /** Like `find`, and takes the words. */
  takePhrase(wanted: Phrase): Found | undefined {
    const found = this.find(wanted)
    if (found) this.take(found.start, found.end)
    return found
  }

  takeEach(wanted: Phrase): Found[] {
    const all: Found[] = []
    for (let found = this.takePhrase(wanted); found; found = this.takePhrase(wanted)) all.push(found)
    return all
  }

  /** What no rule has taken. */
  rest(): Token[] {
    return this.tokens.filter((_, at) => this.#taken[at] === false)
  }

  #match(items: readonly Item[], item: number, at: number, captured: Record<string, Token[]>): number | undefined {
    const current = items[item]
    if (current === undefined) return at
    if (current.end)
      return this.tokens.slice(at).every((token, index) => token.kind === 'comma' || !this.isFree(at + index))
        ? this.#match(items, item + 1, at, captured)
        : undefined
    let fits = 0
    while (fits < current.most && this.#fits(current, at + fits)) fits++
    const first = current.lazy ? current.least : fits
    const step = current.lazy ? 1 : -1
    for (let count = first; count >= current.least && count <= fits; count += step) {
      const end = this.#match(items, item + 1, at + count, captured)
      if (end === undefined) continue
      if (current.name !== undefined) captured[current.name] = [...this.tokens.slice(at, at + count)]
      return end
    }
    return undefined
  }

  #fits(item: Item, at: number): boolean {
    const token = this.token(at)
    return token !== undefined && item.test(token)
  }
}
