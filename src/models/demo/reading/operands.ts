import type { Quantity, Question } from '../intents.ts'
import type { Discourse } from './discourse.ts'
import { quantitiesOf } from './file-clause.ts'
import { setsOf } from './file-sets.ts'
import { bothKinds } from './kinds.ts'
import { readPageClause } from './page-clause.ts'
import { Clause } from './phrases.ts'
import { readReference } from './references.ts'
import { readSearchClause } from './search-clause.ts'
import { readSlots, type Slots } from './slots.ts'
import { averageOf, chain, literal, type Sign, writeTerm } from './terms.ts'
import type { Token } from './tokens.ts'
import { wordSet } from './words.ts'

/** What may stand beside a number without changing it. */
const aroundNumbers = wordSet("and then what is the a an of to 's please now so exactly just number value")

/** An operand of an expression: a number, a reference to earlier numbers, or anything that can be counted or measured. */
export function readOperand(tokens: readonly Token[], discourse: Discourse, within?: Quantity): Quantity[] | undefined {
  const content = tokens.filter(({ kind, word }) => kind !== 'comma' && !(kind === 'word' && aroundNumbers.has(word)))
  const [only] = content
  if (content.length === 1 && only?.kind === 'number')
    return [{ of: 'literal', value: only.value ?? 0, text: only.text.replaceAll(',', '') }]
  if (content.length === 1 && only?.word === 'one') return [literal(1)]
  const reference = readReference(tokens, discourse)
  if (reference !== undefined) return reference.length === 0 ? undefined : reference
  if (within !== undefined) return readPart(tokens, discourse, within)
  const numbers = [readPageClause(tokens, discourse), readSearchClause(new Clause(tokens), discourse)?.questions].find(
    (questions) => questions !== undefined,
  )
  if (numbers !== undefined) {
    const quantities = numbers.flatMap((question) => (question.ask === 'number' ? [question.quantity] : []))
    return quantities.length === numbers.length ? quantities : undefined
  }
  return quantitiesOf(readSlots(new Clause(tokens)), discourse)
}

/** A part of the files just named: `test files` of `the TypeScript files under src`. */
function readPart(tokens: readonly Token[], discourse: Discourse, within: Quantity): Quantity[] | undefined {
  const slots = readSlots(new Clause(tokens))
  if (slots.unknown.length > 0 || slots.strange !== undefined) return undefined
  if (within.of !== 'count') return quantitiesOf(slots, discourse)
  const inner: Discourse = { ...discourse, numbers: [], set: within.set, sentenceHasSet: true }
  const narrowed: Slots = { ...slots, refs: new Set(['them']) }
  const counts = setsOf(narrowed, inner, false).map((set): Quantity => {
    const [kind, ...more] = set.kinds
    const [whole, ...others] = within.set.kinds
    const both = kind && whole && more.length + others.length === 0 ? bothKinds(whole, kind) : undefined
    return { of: 'count', set: both === undefined ? set : { ...set, kinds: [both] } }
  })
  return counts.length === 1 ? counts : undefined
}

/** What may stand around a word such as `total`. */
const fillers = wordSet(
  "and what is are the how many much there in of all make makes that do does it they , then so tell me give 's be as well also please them both those their",
)
const totals = wordSet('total altogether together sum combined overall difference average product')

/** `and the total?`, `how many is that altogether?`, `what is the difference?`: of the numbers before. */
export function readBareTotal(tokens: readonly Token[], discourse: Discourse): Question | undefined {
  const content = tokens.filter(({ kind, word }) => kind !== 'comma' && !fillers.has(word)).map(({ word }) => word)
  const [only] = content
  if (only === undefined || content.length > 1 || !totals.has(only)) return undefined
  if (discourse.subject === 'set' && discourse.set?.top !== undefined && tokens.some(({ word }) => word === 'their')) return undefined
  const numbers = readReference([{ kind: 'word', text: 'both', word: 'both', start: 0, end: 0 }], discourse) ?? []
  if (numbers.length < 2) return undefined
  const signs: Record<string, Sign> = { difference: '-', product: '*' }
  const term = only === 'average' ? averageOf(numbers) : chain(signs[only] ?? '+', only === 'difference' ? numbers.slice(-2) : numbers)
  return term && { ask: 'number', quantity: { of: 'formula', formula: { turn: discourse.turn, parts: writeTerm(term) } } }
}
