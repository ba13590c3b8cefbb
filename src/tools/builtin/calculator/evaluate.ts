import { show } from '../../../core/errors.ts'
import { add, divide, type ExactNumber, fraction, modulo, multiply, negate, power, problem } from './exact-number.ts'
import { constants, factorial, functionNamed } from './functions.ts'

/** A percentage such as `5%`. After `+` or `-`, it is a percentage of the left operand. Elsewhere it is 5/100. */
interface Percent {
  percent: ExactNumber
}

/** The value of an operand. Lists are allowed only as arguments of functions. */
type Operand = ExactNumber | Percent | Operand[]

interface Token {
  kind: 'number' | 'name' | 'sign'
  text: string
  /** The position of the token in the expression. */
  at: number
  /** Whether white space precedes the token. */
  spaced: boolean
}

const digits = String.raw`\d+(?:_\d+)*`
const number = String.raw`0x[\da-f]+|0o[0-7]+|0b[01]+|(?:${digits}\.?(?:${digits})?|\.${digits})(?:e[+-]?\d+)?`
const name = String.raw`[a-z_]\w*|[π√]`
const sign = String.raw`\*\*|[+\-*/^%!(),[\]×·÷−–]`
const tokenPattern = new RegExp(String.raw`(\s*)(?:(${number})|(${name})|(${sign}))`, 'iy')

const otherSpellings: Readonly<Record<string, string>> = {
  '**': '^',
  '×': '*',
  '·': '*',
  '÷': '/',
  '−': '-',
  '–': '-',
  '√': 'sqrt',
  π: 'pi',
}

/** The precedence of each operator. A higher number binds more tightly. */
const strengths = new Map([
  ['+', 1],
  ['-', 1],
  ['*', 2],
  ['of', 2],
  ['/', 2],
  ['%', 2],
  ['mod', 2],
  ['^', 4],
])
/** The precedence of a sign: `-3^2` means `-(3^2)`, and `-3 * 2` means `(-3) * 2`. */
const signStrength = 3

/** Maximum nesting depth of parentheses. The limit exists because the parser is recursive. */
const maxNesting = 50

/**
 * Evaluates an arithmetic expression while parsing it. Supports only numbers, operators and the calculator's own functions. The time for
 * each operation is limited, so evaluation takes linear time. Throws `invalid_arguments`.
 */
export function evaluate(expression: string): ExactNumber {
  const tokens = tokenize(expression)
  if (tokens.length === 0) throw problem('Expected a number, got an empty expression')
  return new Evaluation(expression, tokens).result()
}

function tokenize(expression: string): Token[] {
  const text = expression.trimEnd()
  const tokens: Token[] = []
  for (let at = 0; at < text.length; at = tokenPattern.lastIndex) {
    tokenPattern.lastIndex = at
    const [, space = '', number, name, sign] = tokenPattern.exec(text) ?? []
    const found = number ?? name ?? sign
    if (found === undefined) {
      const unknown = [...text.slice(at).trimStart()][0]
      throw problem(`Expected \`expression\` to be arithmetic, got ${show(expression)}, which has a ${show(unknown)}`)
    }
    const kind = number !== undefined ? 'number' : name !== undefined ? 'name' : 'sign'
    tokens.push({ kind, text: otherSpellings[found] ?? found, at: at + space.length, spaced: space !== '' })
  }
  return tokens
}

/** A Pratt parser that calculates instead of building a tree. */
class Evaluation {
  readonly #expression: string
  readonly #tokens: readonly Token[]
  #at = 0
  #nesting = 0

  constructor(expression: string, tokens: readonly Token[]) {
    this.#expression = expression
    this.#tokens = tokens
  }

  result(): ExactNumber {
    const value = numberOf(this.#operand(0))
    if (this.#ahead !== undefined) throw this.#unexpected()
    return value
  }

  get #ahead(): Token | undefined {
    return this.#tokens[this.#at]
  }

  get #behind(): Token | undefined {
    return this.#tokens[this.#at - 1]
  }

  /** Reads a value and all following operators that bind more tightly than `strength`. */
  #operand(strength: number): Operand {
    let left = this.#value()
    let before = ''
    for (;;) {
      if (this.#take('!')) {
        left = factorial(numberOf(left))
      } else if (this.#isPercent()) {
        this.#at++
        left = { percent: divide(numberOf(left), fraction(100n)) }
      } else {
        const operator = this.#operator()
        const own = strengths.get(operator ?? '')
        if (operator === undefined || own === undefined || own <= strength) return left
        // `1/2 pi` is ambiguous: it can mean half of pi, or 1 divided by 2 pi.
        if (!this.#take(operator) && isDivision(before)) {
          throw problem(`\`a ${before} b c\` can be read in two ways: write \`a ${before} b * c\` or \`a ${before} (b * c)\``)
        }
        before = operator
        // Only powers are right-associative: 2^3^2 is 2^9.
        left = operate(operator, numberOf(left), this.#operand(operator === '^' ? own - 1 : own))
      }
    }
  }

  /** Returns the next operator. Between two operands without an operator, this is `*`. */
  #operator(): string | undefined {
    const [next, last] = [this.#ahead, this.#behind]
    if (next?.text === 'mod' || (next?.text === 'of' && last?.text === '%')) return next.text
    if (next?.kind === 'sign' && next.text !== '(') return next.text
    // Two adjacent numbers are more likely a mistake than a product.
    return next === undefined || (next.kind === 'number' && last?.kind === 'number') ? undefined : '*'
  }

  /**
   * Whether `%` means percent instead of modulo. Before an operand, it means modulo. Before `+` or `-`, it means modulo only after a space:
   * `5% - 3` is a percentage, `5 % -3` a modulo operation.
   */
  #isPercent(): boolean {
    if (this.#ahead?.text !== '%') return false
    const next = this.#tokens[this.#at + 1]
    if (next === undefined || next.text === 'of') return true
    if (next.text === '+' || next.text === '-') return !this.#ahead.spaced
    return next.kind === 'sign' && next.text !== '(' && next.text !== '['
  }

  #value(): Operand {
    const token = this.#ahead
    if (token === undefined) throw this.#unexpected()
    this.#at++
    if (token.kind === 'number') return numberFrom(token.text)
    if (token.kind === 'name') return this.#named(token.text)
    if (token.text === '+') return numberOf(this.#operand(signStrength))
    if (token.text === '-') return negate(numberOf(this.#operand(signStrength)))
    if (token.text === '[') return this.#list(']')
    if (token.text !== '(') throw this.#unexpected(token)
    const value = this.#within(')', () => this.#operand(0))
    // In parentheses, a percentage becomes an ordinary number.
    return Array.isArray(value) ? value : numberOf(value)
  }

  #named(name: string): ExactNumber {
    const constant = constants.get(name)
    if (constant !== undefined) return constant
    const run = functionNamed(name)
    if (!this.#take('(')) throw problem(`Expected \`${name}\` to be followed by its arguments in parentheses`)
    return run(this.#list(')').flatMap(numbersOf))
  }

  /** Reads the values up to the closing bracket. The opening bracket has been read. */
  #list(close: string): Operand[] {
    return this.#within(close, () => {
      const all: Operand[] = []
      if (this.#ahead?.text === close) return all
      do all.push(this.#operand(0))
      while (this.#take(','))
      return all
    })
  }

  #within<T>(close: string, read: () => T): T {
    if (++this.#nesting > maxNesting) throw problem(`Expected at most ${maxNesting} parentheses inside one another`)
    const inside = read()
    if (!this.#take(close)) throw this.#unexpected()
    this.#nesting--
    return inside
  }

  #take(text: string): boolean {
    if (this.#ahead?.text !== text) return false
    this.#at++
    return true
  }

  #unexpected(token: Token | undefined = this.#ahead): Error {
    const found = token === undefined ? 'Unexpected end of expression' : `Unexpected ${show(token.text)} at character ${token.at + 1}`
    const hint = /\d,\d{3}(?!\d)/.test(this.#expression) ? '. Write numbers without thousands separators' : ''
    return problem(`Expected \`expression\` to be arithmetic, got ${show(this.#expression)}: ${found}${hint}`)
  }
}

function isDivision(operator: string): boolean {
  return operator === '/' || operator === '%' || operator === 'mod'
}

function numberFrom(written: string): ExactNumber {
  const text = written.replaceAll('_', '')
  if (/^0[xob]/i.test(text)) return fraction(BigInt(text))
  const [mantissa = '', exponent] = text.toLowerCase().split('e')
  const [whole = '', decimals = ''] = mantissa.split('.')
  const value = fraction(BigInt(whole + decimals), 10n ** BigInt(decimals.length))
  return exponent === undefined ? value : multiply(value, power(fraction(10n), fraction(BigInt(exponent))))
}

function numberOf(operand: Operand): ExactNumber {
  if (Array.isArray(operand)) throw problem('Expected a number, got a list; `sum`, `mean`, `min` or `max` make one number of it')
  return typeof operand === 'object' && 'percent' in operand ? operand.percent : operand
}

function numbersOf(operand: Operand): ExactNumber[] {
  return Array.isArray(operand) ? operand.flatMap(numbersOf) : [numberOf(operand)]
}

function operate(operator: string, left: ExactNumber, given: Operand): ExactNumber {
  const right = numberOf(given)
  switch (operator) {
    case '+':
    case '-': {
      const part = operator === '+' ? right : negate(right)
      // As on a pocket calculator, `200 + 5%` adds 5% of 200.
      return typeof given === 'object' && 'percent' in given ? multiply(left, add(fraction(1n), part)) : add(left, part)
    }
    case '*':
    case 'of':
      return multiply(left, right)
    case '/':
      return divide(left, right)
    case '^':
      return power(left, right)
    default:
      return modulo(left, right)
  }
}
