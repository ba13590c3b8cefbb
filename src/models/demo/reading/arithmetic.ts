import type { Formula, Quantity } from '../intents.ts'
import { commands, gatherings, type Infix, infixes, letterTimes, listCommands, prefixes, suffixes } from './operators.ts'
import { Clause, type Phrase } from './phrases.ts'
import { apply, chain, type Term, writeTerm } from './terms.ts'
import type { Token } from './tokens.ts'
import { wordSet } from './words.ts'

/** Reads an operand: several numbers for `both counts`, undefined for words that are no number. `within`: a part of that is meant. */
export type OperandReader = (tokens: readonly Token[], within?: Quantity) => Quantity[] | undefined

const functions = /^(sqrt|cbrt|abs|round|floor|ceil|exp|log|log2|log10|sin|cos|tan)$/
/** What may come before an expression. */
const lead = wordSet(`
  and then now also finally please what is are was 's calculate compute evaluate work out much tell me us give show so
  next could can you would i want to know , but do does make makes result find get say be will need let solve determine
  afterwards after like as well if when =`)
/** What may come behind one. */
const trailing = wordSet(`
  equal equals make makes please together altogether up then be give gives come comes to now again too in total all , is
  = approximately exactly roughly about yield yields have there do we get me for are each other as well`)
const that: Token = { kind: 'word', text: 'that', word: 'that', start: 0, end: 0 }

/** Reads a clause as arithmetic. Undefined when nothing in it calculates, or an operand is no number. */
export function readFormula(clause: Clause, turn: number, readOperand: OperandReader): Formula | undefined {
  const share = readShare(clause.tokens, readOperand)
  if (share !== undefined) return { turn, parts: writeTerm(share), percent: true }
  const { tokens } = clause
  let start = 0
  while (
    start < tokens.length &&
    (lead.has(tokens[start]?.word ?? '') || (tokens[start]?.word === 'how' && tokens[start + 1]?.word === 'much'))
  )
    start++
  // `how many files are there times 3`: what leads in may belong to the first operand.
  for (const from of new Set([start, 0])) {
    const reader = new FormulaReader(tokens.slice(from), readOperand)
    const term = reader.readAll()
    if (term !== undefined && reader.calculates) return { turn, parts: writeTerm(term) }
  }
  return undefined
}

/** `what percentage of 80 is 20`, `20 is what percent of 80`, `20 as a percentage of 80`. */
function readShare(tokens: readonly Token[], readOperand: OperandReader): Term | undefined {
  const at = tokens.findIndex((token) => /^(percentage|percent|share|fraction|proportion)$/.test(token.word))
  if (at === -1 || tokens[at - 1]?.kind === 'number') return undefined
  const before = tokens.slice(0, at).filter((token) => !/^(what|which|is|as|a|the|in|how|many|much|and|'s|tell|me|,)$/.test(token.word))
  const after = tokens.slice(at + 1)
  const cut = (word: RegExp) => after.findIndex((token, index) => index > 0 && word.test(token.word))
  const shareOf = (part: readonly Token[], whole: readonly Token[]): Term | undefined => {
    const [b, ...others] = readOperand(whole) ?? []
    const [a, ...more] = readOperand(part, b) ?? []
    return a === undefined || b === undefined || more.length + others.length > 0 ? undefined : apply('*', apply('/', a, b), 100)
  }
  const [first, ...others] = after.map(({ word }) => word)
  // `what percentage is that?`: the last number of the one before it.
  if (first === 'is' && others.length === 1 && /^(that|this|it|those)$/.test(others[0] ?? '')) {
    const [whole, part] = readOperand([{ ...that, word: 'both', text: 'both' }])?.slice(-2) ?? []
    return whole && part && apply('*', apply('/', part, whole), 100)
  }
  if (first === 'is' || first === 'are') {
    const of = cut(/^of$/)
    return of === -1 ? undefined : shareOf(after.slice(1, of), after.slice(of + 1))
  }
  if (first !== 'of') return undefined
  if (before.length > 0) return shareOf(before, after.slice(1))
  const verb = cut(/^(is|are|have|has)$/)
  return verb === -1 ? undefined : shareOf(after.slice(verb), after.slice(1, verb))
}

/** Recursive descent over the tokens of a clause; each method moves on only when it has found what it is for. */
class FormulaReader {
  readonly #clause: Clause
  readonly #readOperand: OperandReader
  #at = 0
  /** Set by the first sign or word that calculates: `12` alone is no arithmetic. */
  calculates = false

  constructor(tokens: readonly Token[], readOperand: OperandReader) {
    this.#clause = new Clause(tokens)
    this.#readOperand = readOperand
  }

  /** The tokens as one term; undefined when some are left. */
  readAll(): Term | undefined {
    const term = this.#readCommand() ?? this.#readListCommand() ?? this.#readSum()
    while (term !== undefined && trailing.has(this.#word())) this.#at++
    return this.#at >= this.#clause.tokens.length ? term : undefined
  }

  #word(at = this.#at): string {
    return this.#clause.token(at)?.word ?? ''
  }

  #matches(wanted: Phrase): boolean {
    return this.#clause.matchAt(wanted, this.#at) !== undefined
  }

  #eat(wanted: Phrase): boolean {
    const found = this.#clause.matchAt(wanted, this.#at)
    if (found) this.#at = found.end
    return found !== undefined
  }

  /** Tries a reading; when it comes to nothing, nothing has been read. */
  #attempt(read: () => Term | undefined): Term | undefined {
    const start = this.#at
    const term = read()
    if (term === undefined) this.#at = start
    else this.calculates = true
    return term
  }

  #within(from: number, to: number): Term | undefined {
    return new FormulaReader(this.#clause.tokens.slice(from, to), this.#readOperand).readAll()
  }

  #lastResult(): Term | undefined {
    return this.#readOperand([that])?.[0]
  }

  #readCommand(): Term | undefined {
    for (const { wanted, joint, make } of commands) {
      const term = this.#attempt(() => {
        if (!this.#eat(wanted)) return undefined
        const found = this.#clause.find(joint, this.#at)
        if (found === undefined) return undefined
        const a = found.start === this.#at ? this.#lastResult() : this.#within(this.#at, found.start)
        this.#at = found.end
        const b = a && this.#readSum()
        return a && b && make(a, b)
      })
      if (term !== undefined) return term
    }
    return undefined
  }

  #readListCommand(): Term | undefined {
    for (const { wanted, gather, join } of listCommands) {
      const term = this.#attempt(() => {
        if (!this.#eat(wanted)) return undefined
        const terms = this.#readList(this.#clause.tokens.length)
        const [only, ...more] = terms ?? []
        if (only === undefined || more.length > 0) return terms && gather(terms)
        const result = this.#lastResult()
        return result && join?.(result, only)
      })
      if (term !== undefined) return term
    }
    return undefined
  }

  /** Operands and signs of at least this strength. */
  #readSum(weakest = 1): Term | undefined {
    // `times 2`, `minus 1`: the last result comes before, where there is one; `-5` is a number.
    const isSign = this.#clause.token(this.#at)?.kind === 'operator'
    const before = this.#infixHere() !== undefined && !isSign ? this.#lastResult() : undefined
    let left = before ?? this.#readChanged()
    for (let infix = this.#infixHere(); left !== undefined && infix !== undefined && infix.strength >= weakest; infix = this.#infixHere()) {
      this.#eat(infix.wanted)
      this.calculates = true
      const right = this.#readSum(infix.strength + 1)
      left = right && infix.make(left, right)
    }
    return left
  }

  #infixHere(): Infix | undefined {
    const before = this.#clause.tokens[this.#at - 1]
    if (this.#word() === 'times' && /^(many|several|of|often|the)$/.test(before?.word ?? '')) return undefined
    if ((before?.kind === 'number' || before?.kind === 'close') && this.#matches(letterTimes.wanted) && this.#word(this.#at + 1) !== '')
      return letterTimes
    return infixes.find(({ wanted }) => this.#matches(wanted))
  }

  #readChanged(): Term | undefined {
    let term = this.#readTerm()
    for (const { wanted, change } of suffixes) {
      if (term !== undefined && this.#infixHere() === undefined && this.#eat(wanted)) {
        this.calculates = true
        term = change(term)
      }
    }
    return term
  }

  #readTerm(): Term | undefined {
    const start = this.#at
    while (/^(the|,)$/.test(this.#word())) this.#at++
    const term = this.#attempt(() => this.#readBrackets() ?? this.#readGathering() ?? this.#readPrefixed())
    if (term !== undefined) return term
    this.#at = start
    return this.#readOperandHere()
  }

  #readBrackets(): Term | undefined {
    const isCall = functions.test(this.#word())
    const open = isCall ? this.#at + 1 : this.#at
    if (this.#clause.token(open)?.kind !== 'open') return undefined
    const name = this.#word()
    this.#at = open + 1
    const term = this.#readSum()
    if (term === undefined || this.#clause.token(this.#at)?.kind !== 'close') return undefined
    this.#at++
    return isCall ? { call: name, term } : term
  }

  #readGathering(): Term | undefined {
    const found = gatherings.find(({ wanted }) => this.#matches(wanted))
    if (found === undefined) return undefined
    this.#eat(found.wanted)
    const terms = this.#readList(this.#endOfOperand(true))
    return terms && terms.length > 1 ? found.gather(terms) : undefined
  }

  #readPrefixed(): Term | undefined {
    const found = prefixes.find(({ wanted }) => this.#matches(wanted))
    if (found === undefined) return undefined
    this.#eat(found.wanted)
    const isLast = this.#at >= this.#clause.tokens.length || (trailing.has(this.#word()) && this.#at === this.#clause.tokens.length - 1)
    const term = isLast ? this.#lastResult() : this.#readChanged()
    return term && found.change(term)
  }

  /** The operands up to `end`: words for several (`both counts`, `the lines of a.ts and b.ts`), or each by itself. */
  #readList(end: number): Term[] | undefined {
    const from = this.#at
    this.#at = end
    const whole = this.#readOperand(this.#clause.tokens.slice(from, end))
    if (whole !== undefined && whole.length > 1) return whole
    const terms: Term[] = []
    let start = from
    for (let at = from; at <= end; at++) {
      const token = this.#clause.tokens[at]
      if (at < end && token?.kind !== 'comma' && token?.word !== 'and' && token?.word !== 'to') continue
      const term = at > start ? this.#within(start, at) : undefined
      if (at > start && term === undefined) return whole
      if (term !== undefined) terms.push(term)
      start = at + 1
    }
    return terms
  }

  #readOperandHere(): Term | undefined {
    const end = this.#endOfOperand(false)
    const tokens = this.#clause.tokens.slice(this.#at, end)
    const found = tokens.length === 0 ? undefined : this.#readOperand(tokens)
    if (found === undefined || found.length === 0) return undefined
    this.#at = end
    return found.length === 1 ? found[0] : chain('+', found)
  }

  /** Where the next sign, bracket or (outside a list) suffix stands. */
  #endOfOperand(isList: boolean): number {
    const from = this.#at
    const isEnd = () =>
      this.#clause.token(this.#at)?.kind === 'open' ||
      this.#clause.token(this.#at)?.kind === 'close' ||
      (this.#at > from && (this.#infixHere() !== undefined || (!isList && suffixes.some(({ wanted }) => this.#matches(wanted)))))
    while (this.#at < this.#clause.tokens.length && !isEnd()) this.#at++
    const end = this.#at
    this.#at = from
    return end
  }
}
