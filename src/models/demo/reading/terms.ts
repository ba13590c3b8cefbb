import type { Formula, Quantity } from '../intents.ts'

export type Sign = '+' | '-' | '*' | '/' | '^' | 'mod'
/** An expression as it is read. `negative` is a sign in front. */
export type Term = Quantity | { sign: Sign; left: Term; right: Term } | { call: string; term: Term } | { negative: Term }

/** How tightly a sign binds. */
export const strengths: Record<Sign, number> = { '+': 1, '-': 1, '*': 2, '/': 2, mod: 2, '^': 3 }

/** A number as an operand. */
export function literal(value: number): Quantity {
  return { of: 'literal', value, text: String(value) }
}

/** Two operands and the sign between them. */
export function apply(sign: Sign, left: Term, right: Term | number): Term {
  return { sign, left, right: typeof right === 'number' ? literal(right) : right }
}

/** All terms with the same sign between them; undefined for none. */
export function chain(sign: Sign, terms: readonly Term[]): Term | undefined {
  const [first, ...rest] = terms
  return first && rest.reduce<Term>((left, right) => apply(sign, left, right), first)
}

/** The sum by the number of terms; undefined for none. */
export function averageOf(terms: readonly Term[]): Term | undefined {
  const sum = chain('+', terms)
  return sum && apply('/', sum, terms.length)
}

/** `15 percent of 240`. */
export function percentOf(share: Term, whole: Term): Term {
  return apply('/', apply('*', whole, share), 100)
}

/** `increase A by 10%` is by a tenth of A, `increase A by 10` by ten. */
export function changeBy(sign: '+' | '-', whole: Term, by: Term): Term {
  const isShare = 'sign' in by && by.sign === '/' && isLiteral(by.right, 100)
  return apply(sign, whole, isShare ? apply('*', whole, by) : by)
}

function isLiteral(term: Term, value: number): boolean {
  return 'of' in term && term.of === 'literal' && term.value === value
}

/** The term as text and operands, with the brackets its order of calculation needs. */
export function writeTerm(term: Term, outer = 0): Formula['parts'] {
  if ('of' in term) return [term]
  if ('call' in term) return [`${term.call}(`, ...writeTerm(term.term), ')']
  if ('negative' in term) return ['(-', ...writeTerm(term.negative, 4), ')']
  const own = strengths[term.sign]
  const left = writeTerm(term.left, term.sign === '^' ? own + 1 : own)
  const inner = [...left, ` ${term.sign} `, ...writeTerm(term.right, own + 1)]
  return own < outer ? ['(', ...inner, ')'] : inner
}
