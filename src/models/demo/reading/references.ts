import type { Quantity } from '../intents.ts'
import type { Discourse } from './discourse.ts'
import { ordinalOf } from './number-words.ts'
import type { Token } from './tokens.ts'

/** The kinds of number one can refer to by name: `the count`, `both line counts`, `that sum`. */
const nouns: [RegExp, (quantity: Quantity) => boolean][] = [
  [/^(file )?counts?$/, (quantity) => quantity.of === 'count' || quantity.of === 'search' || quantity.of === 'file'],
  [/^(line counts?|lines|numbers? of lines|lengths?)$/, (quantity) => 'measure' in quantity && quantity.measure === 'lines'],
  [/^(sizes?|bytes|file sizes?)$/, (quantity) => 'measure' in quantity && quantity.measure === 'bytes'],
  [/^numbers? of files$/, (quantity) => quantity.of === 'count'],
  [/^(averages?|means?)$/, (quantity) => quantity.of === 'average' || quantity.of === 'formula'],
  [/^totals?$/, (quantity) => quantity.of === 'total' || quantity.of === 'sum' || quantity.of === 'formula'],
  [
    /^(sums?|products?|differences?|quotients?|ratios?|percentages?|halves|half)$/,
    (quantity) => quantity.of === 'formula' || quantity.of === 'sum',
  ],
  [/^(numbers?|values?|results?|answers?|figures?|amounts?|ones?|of them|of those|)$/, () => true],
]

const single = /^(?:the |that |this |its |which )?(?:(last|latest|previous|final|same) )?(.*)$/
const nth = /^(?:the )?(\w+)(?: (.*))?$/
const several =
  /^(?:the |these |those |all (?:of )?(?:the |these |those )?|both (?:of )?(?:the |these |those )?)?(?:last |previous )?(\d+)? ?(.*)$/

/**
 * The numbers that words refer to: `it`, `that`, `the result`, `the count`, `the second number`, `both counts`, `the two`, `them`.
 * Undefined when the words are no reference; empty when nothing was said they could refer to.
 */
export function readReference(tokens: readonly Token[], discourse: Discourse): Quantity[] | undefined {
  const words = tokens.map((token) => token.word).filter((word) => !/^(,|up|together|then|now|and|is|are|was)$/.test(word))
  const text = words.join(' ')
  if (/^(it|that|this|which|itself)$/.test(text)) return lastOf(discourse, () => true)
  if (/^(them|these|those|both|all|both of (them|these|those)|all of (them|these|those)|they)$/.test(text))
    return lastOnes(discourse, () => true)
  const ordinal = nth.exec(text)
  const place = ordinalOf(ordinal?.[1] ?? '')
  if (ordinal && place !== undefined) {
    const fits = nounTest(ordinal[2] ?? '')
    return fits && inOrder(discourse, fits).slice(place - 1, place)
  }
  // `their line counts`, of two files found one after the other; of a list of files they are the files' own.
  if (words[0] === 'their') return discourse.subject === 'file' ? severalOf(words.slice(1).join(' '), discourse) : undefined
  const many = several.exec(text)
  if (many && (many[1] !== undefined || /^(these|those|all|both)\b/.test(text) || /s$/.test(many[2] ?? '')) && many[2] !== 'lines') {
    const fits = nounTest(many[2] ?? '')
    if (fits) return lastOnes(discourse, fits, many[1] === undefined ? undefined : Number(many[1]))
  }
  const one = single.exec(text)
  if (one === null || text === '' || !/^(the|that|this|last|previous|result|answer|total|its)\b/.test(text)) return undefined
  const fits = one[2] === '' ? undefined : nounTest(one[2] ?? '')
  if (fits === undefined || (words[0] === 'its' && !/^(half|double)/.test(one[2] ?? ''))) return undefined
  return lastOf(discourse, fits)
}

/** At least two, or none. */
function severalOf(noun: string, discourse: Discourse): Quantity[] | undefined {
  const fits = nounTest(noun)
  const found = fits && lastOnes(discourse, fits)
  return found !== undefined && found.length > 1 ? found : undefined
}

/** Which numbers a noun can mean. */
function nounTest(words: string): ((quantity: Quantity) => boolean) | undefined {
  return nouns.find(([wanted]) => wanted.test(words))?.[1]
}

/** The last number of that sort; the last of all where there is none. */
function lastOf(discourse: Discourse, fits: (quantity: Quantity) => boolean): Quantity[] {
  const last = discourse.numbers.findLast(({ quantity }) => fits(quantity)) ?? discourse.numbers.at(-1)
  return last === undefined ? [] : [last.quantity]
}

/** The last few numbers, of the message that spoke of numbers last; those asked for as such before others. */
function lastOnes(discourse: Discourse, fits: (quantity: Quantity) => boolean, count?: number): Quantity[] {
  const fitting = discourse.numbers.filter(({ quantity }) => fits(quantity))
  const pool = fitting.length >= 2 ? fitting : discourse.numbers
  const asked = pool.filter(({ implied }) => !implied)
  const wanted = count ?? 2
  const from = asked.length >= wanted ? asked : pool
  const turn = from.at(-1)?.turn
  const recent = from.filter((number) => number.turn === turn)
  const taken = count !== undefined ? from.slice(-count) : recent.length >= 2 ? recent : from.slice(-2)
  return taken.map(({ quantity }) => quantity)
}

/** The numbers of the last message that had any, first one first. */
function inOrder(discourse: Discourse, fits: (quantity: Quantity) => boolean): Quantity[] {
  const turn = discourse.numbers.at(-1)?.turn
  const recent = discourse.numbers.filter((number) => number.turn === turn)
  const fitting = (list: typeof recent) => list.filter(({ quantity }) => fits(quantity)).map(({ quantity }) => quantity)
  const asked = fitting(recent.filter(({ implied }) => !implied))
  return asked.length >= 2 ? asked : fitting(recent)
}
