import type { FileRef, Measure, Quantity, Question } from '../intents.ts'
import { takeConditions } from './conditions.ts'
import type { Discourse } from './discourse.ts'
import { fileNamed, setsOf, topOf } from './file-sets.ts'
import { kindOfWord } from './kinds.ts'
import { Clause, phrase } from './phrases.ts'
import { readSlots, type Slots } from './slots.ts'
import type { Token } from './tokens.ts'
import { isEmptyWord, isGrammarWord, isOneOf } from './words.ts'

type Comparison = Extract<Question, { ask: 'compare' }>
type Asked = Comparison | Extract<Question, { ask: 'number' }>

const compares = phrase('compare|comparison|comparing|versus|vs|compared')
const joints = /^(or|than|versus|vs|and|to|with|against|as)$/
const comparativeOf: [RegExp, Measure | 'count', 'more' | 'less'][] = [
  [/^longer$/, 'lines', 'more'],
  [/^shorter$/, 'lines', 'less'],
  [/^(larger|bigger|heavier)$/, 'bytes', 'more'],
  [/^(smaller|lighter)$/, 'bytes', 'less'],
  [/^newer$/, 'modified', 'more'],
  [/^older$/, 'modified', 'less'],
  [/^(more|greater)$/, 'count', 'more'],
  [/^(fewer|less)$/, 'count', 'less'],
]

/** One of the things compared. */
interface Side {
  slots: Slots
  tokens: readonly Token[]
}

/** `are there more TypeScript files under src or tests?`, `which is longer, a.ts or b.ts?`. Undefined when nothing is compared. */
export function readComparison(tokens: readonly Token[], discourse: Discourse): Asked | undefined {
  const words = tokens.map(({ word }) => word)
  const isCompare = new Clause(tokens).find(compares) !== undefined
  const adjective = comparativeIn(tokens)
  const equal =
    words.some((word) => /^(equal|equally|same)$/.test(word)) || / as (many|long|large|big|much)\b.* as /.test(` ${words.join(' ')} `)
  if (!isCompare && adjective === undefined && !equal) return undefined
  const segments = cutSides(tokens, isCompare || equal)
  const [, implied, wants] = comparativeOf.find(([wanted]) => wanted.test(adjective ?? '')) ?? equalOf(words, equal)
  const read = segments.map(withoutComparative).map((segment): Side => ({ slots: readSlots(new Clause(segment)), tokens: segment }))
  const measure = read.flatMap(({ slots }) => slots.measures)[0] ?? implied
  const all = read.map((side) => asFolder(side, read))
  const speaks = all.filter(
    ({ slots, tokens: own }) =>
      slots.places.length + slots.kinds.length + slots.tops.length > 0 || saysIt(slots) || bareFolder(own) !== undefined,
  )
  // `which folder has more TypeScript files, …` only says what is compared.
  const isHead = ({ tokens: own }: Side) => /^(which|what)$/.test(leadWord(own.map(({ word }) => word)))
  const sides = speaks.filter((side) => !isHead(side) || speaks.length < 3)
  if (sides.length === 0) return compareNumbers(tokens, discourse, implied, wants, adjective ?? '')
  if (sides.length < 2 || read.some(({ slots }) => slots.strange !== undefined)) return undefined
  const quantities = sides.flatMap((side) => sideQuantity(side, all, measure, discourse) ?? [])
  if (quantities.length !== sides.length) return undefined
  const [a, b, ...others] = quantities
  if (/ how many times /.test(` ${words.join(' ')} `) && a !== undefined && b !== undefined && others.length === 0) {
    return { ask: 'number', quantity: { of: 'formula', formula: { turn: discourse.turn, parts: [a, ' / ', b] } } }
  }
  const isYesNo = /^(is|are|does|do|has|have)$/.test(leadWord(words)) && (words.includes('than') || equal)
  const form = isYesNo ? 'yes-no' : /^(how|by)$/.test(leadWord(words)) && words.includes('than') ? 'difference' : 'which'
  return { ask: 'compare', sides: quantities, wants, form, word: adjective ?? '' }
}

/** `which is longer?`: of the last two numbers. */
function compareNumbers(
  tokens: readonly Token[],
  discourse: Discourse,
  measure: Measure | 'count',
  wants: Comparison['wants'],
  word: string,
): Comparison | undefined {
  const says = tokens.every(
    (token) =>
      token.kind === 'comma' ||
      isEmptyWord(token.word) ||
      isOneOf('comparative', token.word) ||
      /^(compare|them|both|two|counts|numbers|2)$/.test(token.word),
  )
  const fitting = discourse.numbers.filter(
    ({ quantity }) => quantity.of !== 'sum' && (measure === 'count' || ('measure' in quantity && quantity.measure === measure)),
  )
  const last = fitting.slice(-2).map(({ quantity }) => quantity)
  return says && last.length === 2 ? { ask: 'compare', sides: last, wants, form: 'which', word } : undefined
}

/** `longer` of `longer than b.ts`; in `longer than 100 lines` it states a condition and compares nothing. */
function comparativeIn(tokens: readonly Token[]): string | undefined {
  const clause = new Clause(tokens)
  takeConditions(clause)
  return clause.rest().find(({ word }) => isOneOf('comparative', word))?.word
}

/** `as long as`, `the same number of`: what is compared, and that it should be equal. */
function equalOf(words: readonly string[], equal: boolean): [undefined, Measure | 'count', 'same' | 'any'] {
  const measure = words.includes('long') ? 'lines' : words.includes('big') || words.includes('large') ? 'bytes' : 'count'
  return [undefined, measure, equal ? 'same' : 'any']
}

/** The first word that tells what sort of question it is. */
function leadWord(words: readonly string[]): string {
  return words.find((word) => !/^(and|then|but|also|please|,|tell|me|if|whether|so)$/.test(word)) ?? ''
}

function saysIt(slots: Slots): boolean {
  return slots.refs.has('it') && !slots.asks.has('which')
}

/** The parts between `or`, `than` and their like; commas part only behind a head such as `which is longer`. */
function cutSides(tokens: readonly Token[], joinsAll: boolean): Token[][] {
  const hasOther = tokens.some(({ word }) => /^(or|than|versus|vs)$/.test(word))
  const segments: Token[][] = [[]]
  for (const token of tokens) {
    const parts =
      token.kind === 'comma' ||
      (joints.test(token.word) && (/^(or|than|versus|vs)$/.test(token.word) || joinsAll || (hasOther && token.word === 'and')))
    if (parts) segments.push([])
    else segments.at(-1)?.push(token)
  }
  return segments.filter((segment) => segment.length > 0)
}

/** The adjective has been read; left in, `more` and `longer` would be taken for conditions. */
function withoutComparative(segment: readonly Token[]): Token[] {
  return segment.filter(
    ({ word }) => !isOneOf('comparative', word) && !/^(compare|comparison|comparing|compared|between|both|either)$/.test(word),
  )
}

/** What is compared of a side: a file's measure, or that of all the files it names. */
function sideQuantity(side: Side, sides: readonly Side[], measure: Measure | 'count', discourse: Discourse): Quantity | undefined {
  const filled = fill(side, sides)
  const files = filled.places.filter(({ isFile }) => isFile)
  const folder = filled.places.find(({ isFile }) => !isFile)?.path
  const [named] = files
  const unit = measure === 'count' ? 'lines' : measure
  if (named !== undefined) return { of: 'file', file: fileNamed(named.path, discourse.turn, folder), measure: unit }
  const [top] = filled.tops
  const [set] = setsOf(filled, discourse, false)
  if (set === undefined) return undefined
  if (top !== undefined) {
    const file: FileRef = { by: 'set', set: topOf(set, top) }
    return { of: 'file', file, measure: measure === 'count' ? (top.measure === 'name' ? 'lines' : top.measure) : measure }
  }
  if (saysIt(side.slots) && side.slots.places.length + side.slots.kinds.length === 0) {
    return discourse.file && { of: 'file', file: discourse.file, measure: unit }
  }
  if (measure === 'lines' || measure === 'bytes') return { of: filled.aggregate ?? 'total', set, measure }
  return measure === 'count' ? { of: 'count', set } : undefined
}

/** What a side leaves out, another one says: `Python or TypeScript files under src`, `TypeScript files under src than under tests`. */
function fill(side: Side, sides: readonly Side[]): Slots {
  const { slots } = side
  const bare = bareFolder(side.tokens)
  const own =
    slots.places.length === 0 && slots.kinds.length === 0 && bare !== undefined ? [{ at: 0, path: bare, isFile: false }] : slots.places
  const others = sides.filter((other) => other !== side).map((other) => other.slots)
  const isFile = own.some((place) => place.isFile)
  const otherPlaces = others.find((other) => other.places.length > 0)?.places ?? []
  return {
    ...slots,
    kinds: slots.kinds.length > 0 || isFile ? slots.kinds : kindsOf(others),
    places: own.length > 0 ? own : otherPlaces.filter((place) => !place.isFile),
    tops: slots.tops.length > 0 || isFile ? slots.tops : (others.find((other) => other.tops.length > 0 && own.length > 0)?.tops ?? []),
    conditions: slots.conditions.length > 0 ? slots.conditions : (others.find((other) => other.conditions.length > 0)?.conditions ?? []),
    ...(slots.noun === undefined && slots.kinds.length === 0 ? { noun: 'file' as const } : {}),
    refs: new Set(),
  }
}

function kindsOf(others: readonly Slots[]): Slots['kinds'] {
  return others.find((other) => other.kinds.length > 0)?.kinds ?? []
}

/** `src or tests`: a kind alone on its side is a folder, where another side is one. */
function asFolder(side: Side, sides: readonly Side[]): Side {
  const { slots, tokens } = side
  const content = tokens.filter(({ kind, word }) => kind === 'word' && !isEmptyWord(word))
  const [only] = content
  const isAlone = content.length === 1 && slots.kinds.length === 1 && slots.places.length === 0 && slots.noun === undefined
  const besideFolder = sides.some(
    ({ slots: other, tokens: own }) =>
      other.places.some((place) => !place.isFile) || (other.kinds.length === 0 && bareFolder(own) !== undefined),
  )
  if (only === undefined || !isAlone || !besideFolder || !/^[a-z]/.test(only.text)) return side
  return { ...side, slots: { ...slots, kinds: [], places: [{ at: 0, path: only.text, isFile: false }] } }
}

/** A side that is nothing but an unknown word, or ends with one: `which has more files, src or lib`. */
function bareFolder(tokens: readonly Token[]): string | undefined {
  const content = tokens.filter(({ word, kind }) => kind === 'word' && !isGrammarWord(word) && kindOfWord(word) === undefined)
  const [only] = content
  return content.length === 1 ? only?.text : undefined
}
