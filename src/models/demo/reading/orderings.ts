import type { Order, Top } from '../intents.ts'
import { looksLikeFile } from './file-names.ts'
import { kindOfWord } from './kinds.ts'
import { ordinalOf } from './number-words.ts'
import { type Clause, type Found, phrase } from './phrases.ts'
import { isOneOf } from './words.ts'

type SortMeasure = Top['measure']

/** What a clause says of an order. */
export interface Orderings {
  /** In the order of the text. */
  tops: Top[]
  /** `sorted by size`, `newest first`. */
  sort?: { measure: SortMeasure; order: Order }
  /** `3 files`, without a word for which. */
  limit?: number
  /** A comparison or an order of something that can't be measured here. */
  strange?: string
}

/** Takes what a clause says of the order of files: the longest, the 3 newest, sorted by size. */
export function takeOrderings(clause: Clause): Orderings {
  const orderings: Orderings = { tops: [] }
  takeSort(clause, orderings)
  takeTops(clause, orderings)
  return orderings
}

const sortMeasures: [SortMeasure, string][] = [
  ['lines', 'lines|line|length|loc'],
  ['bytes', 'size|bytes|sizes|weight'],
  ['modified', 'date|modified|modification|age|time|recency|changed'],
  ['name', 'name|names|path|alphabet|alphabetically'],
]
const sortPhrases = sortMeasures.flatMap(([measure, words]) => [
  {
    measure,
    wanted: phrase(
      `sorted|ordered|ranked|sort|order|sorting|arranged by|in|on|with @the? number? of? line? ${words} counts|count|order|date|time?`,
    ),
  },
  { measure, wanted: phrase(`sorted|ordered|arranged ${words}`) },
  { measure, wanted: phrase(`by @the? number? of? line? ${words} counts|count|date|time?`) },
  { measure, wanted: phrase(`in terms of @the? number? of? line? ${words} counts|count|date|time?`) },
])
const supFirst = phrase('sup:@superlative ones? first')
const direction = phrase('in? dir:descending|ascending|decreasing|increasing|reverse|alphabetical order?')

function takeSort(clause: Clause, orderings: Orderings): void {
  const first = clause.takePhrase(supFirst)?.captured.sup?.[0]?.word
  if (first !== undefined) orderings.sort = orderOf(first)
  for (const { measure, wanted } of sortPhrases) {
    if (clause.takePhrase(wanted)) orderings.sort = { measure, order: orderings.sort?.order ?? (measure === 'name' ? 'asc' : 'desc') }
  }
  const dir = clause.takePhrase(direction)?.captured.dir?.[0]?.word
  if (dir === undefined) return
  const order = /^(asc|incr|alpha)/.test(dir) ? 'asc' : 'desc'
  orderings.sort = { measure: orderings.sort?.measure ?? 'name', order }
}

/** What a superlative measures, and from which end. */
function orderOf(superlative: string): { measure: SortMeasure; order: Order } {
  const is = (name: string) => isOneOf(name, superlative)
  if (is('longest')) return { measure: 'lines', order: 'desc' }
  if (is('shortest')) return { measure: 'lines', order: 'asc' }
  if (is('smallest')) return { measure: 'bytes', order: 'asc' }
  if (is('newest')) return { measure: 'modified', order: 'desc' }
  if (is('oldest')) return { measure: 'modified', order: 'asc' }
  return { measure: 'bytes', order: 'desc' }
}

/** `when was a.ts last modified` asks for a time, `the last modified file` for a file. */
const lastModified = [
  phrase('@the? latest:last|latest modified|changed|edited|updated|touched'),
  phrase('modified|changed|edited|updated|touched last|latest'),
]
const topPhrases = [
  phrase('@the? ord:@ordinal or? @the? sup:@superlative'),
  phrase('@the? top? n:@number sup:@superlative'),
  phrase('@the? sup:@superlative n:@number'),
  phrase(
    '@the? top? n:@number? @the? extreme:most|fewest|least|highest|lowest|maximum|minimum|greatest|smallest amount|number? of? unit:@unit count|counts? of? code?',
  ),
  phrase('@the? ord:@ordinal? recent:most|least recently|recent modified|changed|edited|updated|touched|written?'),
  phrase('modified|changed|edited|updated|touched recent:most|least recently|recent'),
  phrase('@the? sup:@superlative'),
]
/** Folders by their number of files: that would take a list of each. */
const mostFiles = phrase('most|fewest|least file|files')
const topCount = phrase('@the? top|first n:@number')
/** `the 3 files that …`: how many are wanted. */
const someFiles = phrase('n:@number @file')

function takeTops(clause: Clause, orderings: Orderings): void {
  const asksWhen = clause.tokens.some(
    ({ kind, text, word }) => (kind === 'path' && looksLikeFile(text)) || /^(when|it|its|they|that)$/.test(word),
  )
  const phrases = asksWhen ? topPhrases : [...topPhrases, ...lastModified]
  const found = phrases.flatMap((wanted) => clause.takeEach(wanted)).sort((a, b) => a.start - b.start)
  const uncounted = clause.find(mostFiles)
  if (uncounted)
    orderings.strange = clause.tokens
      .slice(uncounted.start, uncounted.end)
      .map(({ text }) => text)
      .join(' ')
  orderings.tops = found.map((top) => topOf(clause, top, orderings))
  // `the longest and shortest files` are one each.
  if (orderings.tops.length > 1)
    for (const [index, top] of orderings.tops.entries()) if (found[index]?.captured.n === undefined) top.most = 1
  const count = clause.takePhrase(topCount)?.captured.n?.[0]?.value ?? numberBeforeFiles(clause)
  if (count === undefined) return
  const [only] = orderings.tops
  if (only !== undefined && orderings.tops.length === 1) only.most = count
  else if (orderings.sort !== undefined && only === undefined) {
    orderings.tops.push({ ...orderings.sort, skip: 0, most: count, word: wordOf(orderings.sort) })
    delete orderings.sort
  } else orderings.limit = count
}

/** `the 3 files with the most lines`: the number stands apart from what orders. */
function numberBeforeFiles(clause: Clause): number | undefined {
  const found = clause.find(someFiles)
  if (found) clause.take(found.start)
  return found?.captured.n?.[0]?.value
}

/** The first few of the order a phrase speaks of. */
function topOf(clause: Clause, found: Found, orderings: Orderings): Top {
  const { sup, ord, n, extreme, unit, recent } = found.captured
  const word = sup?.[0]?.word
  const next = clause.token(found.end)?.word
  if (/^(line|name|path|word|function|sentence)$/.test(next ?? '') && word !== undefined) orderings.strange = `${word} ${next}`
  const most = n?.[0]?.value ?? (isPlural(clause, found.end) ? 5 : 1)
  const skip = (ordinalOf(ord?.[0]?.word ?? '') ?? 1) - 1
  if (word !== undefined) {
    const order = orderOf(word)
    // `the largest by lines`.
    const measure = orderings.sort?.measure ?? order.measure
    delete orderings.sort
    return { ...order, measure, skip, most: Math.max(most, 1), word: measure === order.measure ? word : wordOf({ ...order, measure }) }
  }
  const down = /^(fewest|least|lowest|minimum|smallest)$/.test(extreme?.[0]?.word ?? recent?.[0]?.word ?? '')
  const measure = extreme === undefined ? 'modified' : isOneOf('line', unit?.[0]?.word) ? 'lines' : 'bytes'
  const order: Order = down ? 'asc' : 'desc'
  return { measure, order, skip, most: Math.max(most, 1), word: wordOf({ measure, order }) }
}

/** The word an order is spoken of with. */
function wordOf({ measure, order }: { measure: SortMeasure; order: Order }): string {
  if (measure === 'lines') return order === 'desc' ? 'longest' : 'shortest'
  if (measure === 'bytes') return order === 'desc' ? 'largest' : 'smallest'
  if (measure === 'modified') return order === 'desc' ? 'newest' : 'oldest'
  return order === 'desc' ? 'last' : 'first'
}

/** `the longest files`, `the largest TypeScript tests`: more than one, how many is left to us. */
function isPlural(clause: Clause, from: number): boolean {
  let at = from
  let last = ''
  for (; at < clause.tokens.length; at++) {
    const token = clause.tokens[at]
    if (
      token === undefined ||
      (kindOfWord(token.word) === undefined && !isOneOf('file', token.word) && token.kind !== 'ending' && token.kind !== 'glob')
    )
      break
    last = token.word
  }
  return /^(files|tests|images|specs|pictures|photos|videos|fonts|stylesheets|archives)$/.test(last)
}
