import type { JsonSchema } from '../../../tools/tool.ts'
import type { LooseReader } from '../json/json-text.ts'

const operators = '+-*/%'

/**
 * Reads an argument's value: a Python literal or, for a declared argument, unquoted words. If the argument is a number, arithmetic is
 * calculated and noted in `repairs`.
 */
export function readPythonValue(reader: LooseReader, schema: JsonSchema | undefined, repairs: string[]): unknown {
  const from = reader.at
  const value = reader.readValue(0)
  if (reader.problem === undefined && (typeof value !== 'number' || !operators.includes(nextOf(reader)))) return value
  if (schema === undefined) return value
  const end = endOfBare(reader.text, from)
  const text = reader.text.slice(from, end).trim()
  if (text === '' || (reader.problem !== undefined && !/^[\p{L}\p{N}_$€£%.+*/:&#@ -]+$/u.test(text))) return value
  const result = isNumeric(schema) ? calculate(text) : undefined
  if (typeof value === 'number' && result === undefined && !mayBeText(schema) && !/^[\d/.:-]+$/.test(text)) return reader.fail('"," or ")"')
  if (result !== undefined) repairs.push(`arithmetic calculated: ${text}`)
  reader.problem = undefined
  reader.at = end
  return result ?? text
}

/** Whether a schema allows nothing but numbers and null. If strings are also allowed, `1/2` may be a date or a ratio. */
function isNumeric({ type, ...rest }: JsonSchema): boolean {
  if (['anyOf', 'oneOf', 'allOf', 'enum', 'const', '$ref'].some((key) => key in rest)) return false
  const types = typesOf(type).filter((one) => one !== 'null')
  return types.length > 0 && types.every((one) => one === 'number' || one === 'integer')
}

function mayBeText({ type }: JsonSchema): boolean {
  return type === undefined || typesOf(type).includes('string')
}

function typesOf(type: unknown): readonly unknown[] {
  return Array.isArray(type) ? type : [type]
}

/** Returns the next character, or `''` at the end. Does not advance. */
function nextOf(reader: LooseReader): string {
  let { at } = reader
  while (reader.text.charAt(at) === ' ') at++
  return reader.text.charAt(at) || ','
}

/** Returns the end of an unquoted value: the position of the first character that can't be part of it. */
function endOfBare(text: string, from: number): number {
  let at = from
  while (at < text.length && !',()[]{}"\'`=\n'.includes(text.charAt(at))) at++
  return at
}

/** Evaluates an arithmetic expression. Undefined for other text, and for text that may be a date, such as `2026-01-31`. */
function calculate(text: string): number | undefined {
  if (/^\d+(?:([-/.])\d+)(?:\1\d+)+$/.test(text) || /(?:^|[^\d.])0\d/.test(text) || /^\d+-\d+$/.test(text)) return undefined
  const tokens = text.match(/\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+|\*\*|\/\/|[-+*/%]/g)
  if (tokens === null || tokens.length < 2 || tokens.length > 64 || tokens.join('') !== text.replace(/\s/g, '')) return undefined
  const sum = new Sum(tokens)
  const value = sum.add()
  return sum.atEnd && Number.isFinite(value) ? value : undefined
}

/** Evaluates a sum with the precedence of Python: `**`, then signs, then `* / // %`, then `+ -`. */
class Sum {
  #at = 0
  readonly #tokens: readonly string[]

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  get atEnd(): boolean {
    return this.#at === this.#tokens.length
  }

  add(): number {
    let value = this.#multiply()
    for (;;) {
      if (this.#take('+')) value += this.#multiply()
      else if (this.#take('-')) value -= this.#multiply()
      else return value
    }
  }

  #multiply(): number {
    let value = this.#sign()
    for (;;) {
      if (this.#take('*')) value *= this.#sign()
      else if (this.#take('//')) value = Math.floor(value / this.#sign())
      else if (this.#take('/')) value /= this.#sign()
      else if (this.#take('%')) {
        const by = this.#sign()
        value -= by * Math.floor(value / by)
      } else return value
    }
  }

  #sign(): number {
    if (this.#take('-')) return -this.#sign()
    if (this.#take('+')) return this.#sign()
    const token = this.#tokens[this.#at++] ?? ''
    const value = /^[\d.]/.test(token) ? Number(token) : Number.NaN
    return this.#take('**') ? value ** this.#sign() : value
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false
    this.#at++
    return true
  }
}
