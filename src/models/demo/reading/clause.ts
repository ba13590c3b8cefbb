import type { Quantity, Question } from '../intents.ts'
import { readFormula } from './arithmetic.ts'
import { readClockClause } from './clock.ts'
import { readComparison } from './comparison.ts'
import { type Discourse, noteSet, noteSubject } from './discourse.ts'
import { hasSet, quantitiesOf, readFileClause } from './file-clause.ts'
import { setsOf } from './file-sets.ts'
import { bothKinds } from './kinds.ts'
import { readPageClause } from './page-clause.ts'
import { Clause } from './phrases.ts'
import { readReference } from './references.ts'
import { readSearchClause } from './search-clause.ts'
import { readSlots, type Slots } from './slots.ts'
import { chain, literal, writeTerm } from './terms.ts'
import type { Token } from './tokens.ts'
import { asksTooMuch, isEmptyWord } from './words.ts'

export interface ClauseContext {
  /** The clause as it was typed, for an answer that quotes it. */
  shown: string
  /** The clauses that follow in the sentence. */
  following: readonly (readonly Token[])[]
}

/** What a clause asks. What is not understood comes back as a question of its own, so that it is not passed over in silence. */
export function readClause(tokens: readonly Token[], discourse: Discourse, context: ClauseContext): Question[] {
  const first = tokens.find(
    ({ word, kind }) => kind !== 'comma' && !/^(and|then|also|please|now|can|could|you|would|i|want|to|me|so|but|finally|next)$/.test(word),
  )
  if (first?.kind === 'word' && asksTooMuch(first.word) && !startsWithKind(tokens, first)) return [{ ask: 'unknown', text: context.shown }]
  const clock = readClockClause(tokens, discourse.frame?.of === 'clock')
  if (clock !== undefined) return asClock(clock, discourse)
  const page = readPageClause(tokens, discourse)
  // Within an expression, `how many are under tests` speaks of the files of the operand before.
  const inner = { ...discourse }
  const formula = readFormula(new Clause(tokens), discourse.turn, (operand, within) => {
    const quantities = readOperand(operand, inner, within)
    for (const quantity of quantities ?? []) noteSubject(inner, quantity)
    return quantities
  })
  if (formula !== undefined) return [{ ask: 'number', quantity: { of: 'formula', formula } }]
  if (page !== undefined) return isToldLater(page, discourse, context) ? [] : page
  const sum = readBareTotal(tokens, discourse)
  if (sum !== undefined) return [sum]
  const comparison = readComparison(tokens, discourse)
  if (comparison !== undefined) return [comparison]
  const search = readSearchClause(new Clause(tokens), discourse)
  if (search !== undefined) {
    discourse.frame = { of: 'search', questions: search.questions }
    return withLeftOver(search.questions, search.slots.unknown, context)
  }
  return readAboutFiles(tokens, discourse, context)
}

/** `Fetch … and tell me its title`: what is to be told of the page, the next clause says. Takes note of the page. */
function isToldLater(page: readonly Question[], discourse: Discourse, { following }: ClauseContext): boolean {
  const [only, ...others] = page
  if (only?.ask !== 'page' || only.aspects.length > 0 || others.length > 0) return false
  const inner: Discourse = { ...discourse, page: only.page, subject: 'page' }
  if (!following.some((tokens) => readPageClause(tokens, inner) !== undefined)) return false
  discourse.page = only.page
  discourse.subject = 'page'
  return true
}

function startsWithKind(tokens: readonly Token[], first: Token): boolean {
  return /^(files?)$/.test(tokens[tokens.indexOf(first) + 1]?.word ?? '')
}

function asClock(questions: Question[], discourse: Discourse): Question[] {
  const asked = questions.map((question) => {
    if (question.ask !== 'clock' || question.aspects.length > 0) return question
    const before = discourse.frame?.of === 'clock' ? discourse.frame.questions[0] : undefined
    return { ...question, aspects: before?.ask === 'clock' ? before.aspects : (['time'] as const).slice() }
  })
  discourse.frame = { of: 'clock', questions: asked }
  return asked
}

/** An operand of an expression: a number, a reference to earlier numbers, or anything that can be counted or measured. */
export function readOperand(tokens: readonly Token[], discourse: Discourse, within?: Quantity): Quantity[] | undefined {
  const content = tokens.filter(
    ({ kind, word }) =>
      kind !== 'comma' && !(kind === 'word' && /^(and|then|what|is|the|a|an|of|to|'s|please|now|so|exactly|just|number|value)$/.test(word)),
  )
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

const fillers =
  /^(and|what|is|are|the|how|many|much|there|in|of|all|make|makes|that|do|does|it|they|,|then|so|tell|me|give|'s|be|as|well|also|please|them|both|those|their|of)$/

/** `and the total?`, `how many is that altogether?`, `what is the difference?`: of the numbers before. */
function readBareTotal(tokens: readonly Token[], discourse: Discourse): Question | undefined {
  const content = tokens.filter(({ kind, word }) => kind !== 'comma' && !fillers.test(word)).map(({ word }) => word)
  const [only] = content
  if (content.length !== 1 || !/^(total|altogether|together|sum|combined|overall|difference|average|product)$/.test(only ?? ''))
    return undefined
  if (discourse.subject === 'set' && discourse.set?.top !== undefined && tokens.some(({ word }) => word === 'their')) return undefined
  const numbers = readReference([{ kind: 'word', text: 'both', word: 'both', start: 0, end: 0 }], discourse) ?? []
  if (numbers.length < 2) return undefined
  const sum = only === 'difference' ? chain('-', numbers.slice(-2)) : chain(only === 'product' ? '*' : '+', numbers)
  const term = only === 'average' && sum !== undefined ? ({ sign: '/', left: sum, right: literal(numbers.length) } as const) : sum
  return term && { ask: 'number', quantity: { of: 'formula', formula: { turn: discourse.turn, parts: writeTerm(term) } } }
}

function readAboutFiles(tokens: readonly Token[], discourse: Discourse, context: ClauseContext): Question[] {
  const slots = readSlots(new Clause(tokens))
  const problem = problemOf(slots)
  if (problem !== undefined) return [{ ask: 'unknown', text: context.shown, why: problem }]
  const isTopic =
    context.following.length > 0 && hasSet(slots) && slots.asks.size === 0 && slots.measures.length === 0 && slots.tops.length === 0
  if (isTopic && slots.unknown.length <= 1) {
    // `For the TypeScript files under src, tell me …` names what the rest is about.
    for (const set of setsOf(slots, discourse, false)) {
      noteSet(discourse, set)
      discourse.topic = set.folder
    }
    return []
  }
  lookAhead(slots, discourse, context)
  const questions =
    (isVariation(slots) ? readVariation(slots, tokens, discourse) : undefined) ??
    readFileClause(slots, discourse) ??
    readVariation(slots, tokens, discourse)
  if (questions === undefined || questions.length === 0) return [{ ask: 'unknown', text: context.shown }]
  if (!isVariation(slots)) discourse.frame = { of: 'files', slots }
  return withLeftOver(questions, slots.unknown, context)
}

/** `the count and the longest of the TypeScript files under src`: which files, only a later clause says. */
function lookAhead(slots: Slots, discourse: Discourse, context: ClauseContext): void {
  if (hasSet(slots) || discourse.sentenceHasSet || slots.places.length > 0 || slots.refs.size > 0) return
  for (const tokens of context.following) {
    const later = readSlots(new Clause(tokens))
    if (later.kinds.length === 0 && later.places.every(({ isFile }) => isFile)) continue
    const [set] = setsOf(later, discourse, false)
    if (set !== undefined) noteSet(discourse, set)
    return
  }
}

const negations = /^(not|no|without|except|excluding|besides|never|neither|nor|unless|but)$/i

function problemOf(slots: Slots): string | undefined {
  if (slots.strange !== undefined) return `“${slots.strange}” is beyond my rules`
  const negation = slots.unknown.find((word) => negations.test(word))
  if (negation !== undefined) return `I can't tell what “${negation}” leaves out`
  const isBare = slots.kinds.length === 0 && slots.noun === undefined && slots.measures.length === 0 && slots.tops.length === 0
  if (slots.unknown.length > 0 && isBare && slots.asks.has('count')) return `“${slots.unknown[0] ?? ''}” is nothing I can count`
  if (slots.unknown.length > 0 && isBare) return `I don't know what “${slots.unknown.join(' ')}” means here`
  return slots.unknown.length > 2 ? `I don't know what “${slots.unknown.join(' ')}” means here` : undefined
}

/** A clause that only names another place, kind or file: `and under tests?`, `what about Python?`. */
function isVariation(slots: Slots): boolean {
  const asks = [...slots.asks].filter((ask) => ask !== 'which')
  const names = slots.places.length + slots.kinds.length + slots.conditions.length > 0
  return (
    names &&
    asks.length === 0 &&
    slots.measures.length === 0 &&
    slots.tops.length === 0 &&
    slots.range === undefined &&
    slots.expected === undefined &&
    !(slots.asks.has('which') && slots.noun === 'file')
  )
}

function readVariation(slots: Slots, tokens: readonly Token[], discourse: Discourse): Question[] | undefined {
  const { frame } = discourse
  if (slots.places.length + slots.kinds.length + slots.conditions.length === 0) return undefined
  if (frame?.of === 'files') {
    const before = frame.slots
    const asFolder =
      slots.kinds.length === 1 && slots.places.length === 0 && before.places.some(({ isFile }) => !isFile) ? bareWord(tokens) : undefined
    const kinds = asFolder === undefined ? slots.kinds : []
    const places = asFolder === undefined ? slots.places : [{ at: 0, path: asFolder, isFile: false }]
    const merged: Slots = {
      ...before,
      places: places.length > 0 ? places : before.places,
      kinds: kinds.length > 0 ? kinds : before.kinds,
      conditions: slots.conditions.length > 0 ? slots.conditions : before.conditions,
      refs: slots.refs,
    }
    discourse.frame = { of: 'files', slots: merged }
    return readFileClause(merged, discourse)
  }
  if (frame?.of === 'search' && slots.places.length > 0) {
    const [set] = setsOf(slots, discourse, false)
    return frame.questions.map((question) => (set === undefined ? question : movedSearch(question, set.folder, discourse.turn)))
  }
  return undefined
}

/** `and tests?` after a question about a folder: most likely a folder too. */
function bareWord(tokens: readonly Token[]): string | undefined {
  const content = tokens.filter(({ kind, word }) => kind === 'word' && (!isEmptyWord(word) || word === 'files'))
  const [only] = content
  return content.length === 1 &&
    only !== undefined &&
    /^[a-z]+$/.test(only.text) &&
    /^(tests?|specs?|images|docs|logs|fonts|styles)$/.test(only.word)
    ? only.text
    : undefined
}

function movedSearch(question: Question, folder: string, turn: number): Question {
  if (question.ask === 'search') return { ...question, search: { ...question.search, folder, turn } }
  if (question.ask !== 'number' || question.quantity.of !== 'search') return question
  return { ask: 'number', quantity: { ...question.quantity, search: { ...question.quantity.search, folder, turn } } }
}

function withLeftOver(questions: Question[], unknown: readonly string[], context: ClauseContext): Question[] {
  if (unknown.length === 0) return questions
  const words = unknown.map((word) => `“${word}”`).join(', ')
  return [...questions, { ask: 'unknown', text: context.shown, why: `I left out ${words}` }]
}
