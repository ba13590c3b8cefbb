import type { Question } from '../intents.ts'
import { readFormula } from './arithmetic.ts'
import { readClockClause } from './clock.ts'
import { readComparison } from './comparison.ts'
import { type Discourse, noteSet, noteSubject } from './discourse.ts'
import { hasSet, readFileClause } from './file-clause.ts'
import { setsOf } from './file-sets.ts'
import { readBareTotal, readOperand } from './operands.ts'
import { readPageClause } from './page-clause.ts'
import { Clause } from './phrases.ts'
import { readSearchClause } from './search-clause.ts'
import { readSlots, type Slots } from './slots.ts'
import type { Token } from './tokens.ts'
import { isVariation, readVariation } from './variations.ts'
import { asksTooMuch, wordSet } from './words.ts'

/** What comes before the word that tells what is to be done. */
const leadIns = wordSet('and then also please now can could you would i want to me so but finally next')
/** Left over, one of these means that the answer would be about the wrong files. */
const negations = wordSet('not no without except excluding besides never neither nor unless but')

/** What is around a clause. */
export interface ClauseContext {
  /** The clause as it was typed, for an answer that quotes it. */
  shown: string
  /** The clauses that follow in the sentence. */
  following: readonly (readonly Token[])[]
}

/** What a clause asks. What is not understood comes back as a question of its own, so that it is not passed over in silence. */
export function readClause(tokens: readonly Token[], discourse: Discourse, context: ClauseContext): Question[] {
  const first = tokens.find(({ word, kind }) => kind !== 'comma' && !leadIns.has(word))
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

/** `test files …` tests nothing. */
function startsWithKind(tokens: readonly Token[], first: Token): boolean {
  return /^(files?)$/.test(tokens[tokens.indexOf(first) + 1]?.word ?? '')
}

/** `and in Berlin?` asks for what was asked of the place before. */
function asClock(questions: Question[], discourse: Discourse): Question[] {
  const asked = questions.map((question) => {
    if (question.ask !== 'clock' || question.aspects.length > 0) return question
    const before = discourse.frame?.of === 'clock' ? discourse.frame.questions[0] : undefined
    return { ...question, aspects: before?.ask === 'clock' ? before.aspects : (['time'] as const).slice() }
  })
  discourse.frame = { of: 'clock', questions: asked }
  return asked
}

/** The last resort, and most of what is asked: something about files. */
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

/** Why a clause had better not be answered: a wrong answer is worse than none. */
function problemOf(slots: Slots): string | undefined {
  if (slots.strange !== undefined) return `“${slots.strange}” is beyond my rules`
  const negation = slots.unknown.find((word) => negations.has(word.toLowerCase()))
  if (negation !== undefined) return `I can't tell what “${negation}” leaves out`
  const isBare = slots.kinds.length === 0 && slots.noun === undefined && slots.measures.length === 0 && slots.tops.length === 0
  if (slots.unknown.length > 0 && isBare && slots.asks.has('count')) return `“${slots.unknown[0] ?? ''}” is nothing I can count`
  if (slots.unknown.length > 0 && isBare) return `I don't know what “${slots.unknown.join(' ')}” means here`
  return slots.unknown.length > 2 ? `I don't know what “${slots.unknown.join(' ')}” means here` : undefined
}

/** The questions, and which words played no part in them. */
function withLeftOver(questions: Question[], unknown: readonly string[], context: ClauseContext): Question[] {
  if (unknown.length === 0) return questions
  const words = unknown.map((word) => `“${word}”`).join(', ')
  return [...questions, { ask: 'unknown', text: context.shown, why: `I left out ${words}` }]
}
