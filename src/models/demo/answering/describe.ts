import type { FileSet, Measure, Quantity, Search, Top } from '../intents.ts'
import { describeKinds } from '../reading/kinds.ts'
import { amount } from './amounts.ts'

/** `under src`, `directly under src`, `in this project`. */
export function placeOf({ folder, recursive }: Pick<FileSet, 'folder' | 'recursive'>): string {
  const whole = folder === '.' || folder === ''
  if (!recursive) return whole ? 'at the top of this project' : `directly under ${folder}`
  return whole ? 'in this project' : `under ${folder}`
}

/** `TypeScript files with more than 100 lines under src`. */
export function describeSet(set: FileSet, isOne = false): string {
  const { kinds, conditions, without, mentions, what, within } = set
  const parts = [describeKinds(kinds, isOne, what)]
  if (without.length > 0) parts.push(`other than ${describeKinds(without, false)}`)
  if (conditions.length > 0) parts.push(`with ${conditions.map(({ text }) => text).join(' and ')}`)
  if (within === undefined || within.folder !== set.folder) parts.push(placeOf(set))
  const mention = mentions.map(
    ({ search, negated }) =>
      `${negated ? (isOne ? 'does not mention' : 'do not mention') : isOne ? 'mentions' : 'mention'} ${quote(search)}`,
  )
  if (mention.length > 0) parts.push(`that ${mention.join(' and ')}`)
  if (within?.top !== undefined) parts.push(`among the ${within.top.most} ${rankWord(within.top)} ${describeSet(within)}`)
  return parts.join(' ')
}

/** `in src/a.ts` or `under src`. */
export function placeOfSearch({ folder, isFile }: Search): string {
  return isFile ? `in ${folder}` : placeOf({ folder, recursive: true })
}

/** `3 TypeScript files under src`. */
export function countFiles(search: Search, count: number): string {
  return `${amount(count, describeKinds(search.kinds, true), describeKinds(search.kinds, false))} ${placeOfSearch(search)}`
}

/** With a capital, to begin a sentence. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The text searched for, in quotes; a regular expression between slashes. */
export function quote({ query, regex }: Search): string {
  const named = /^\\b\(function\|[^)]*\)\\s\+(.*)\\b$/.exec(query)?.[1]
  const anchored = /^(\^\\s\*)?(.*?)(\\s\*\$)?$/s.exec(query)
  if (regex && anchored !== null && (anchored[1] ?? anchored[3]) !== undefined) return `“${(anchored[2] ?? '').replace(/\\(.)/g, '$1')}”`
  if (regex && named !== undefined) return `a definition of “${named.replace(/\\(.)/g, '$1')}”`
  return regex ? `/${query}/` : `“${query}”`
}

/** `There are no Python files under src`. */
export function emptyFact(set: FileSet): string {
  if (set.top !== undefined && set.top.skip > 0) return `There are not that many ${describeSet(set)}`
  return `There are no ${describeSet(set)}`
}

const ordinals = ['', 'second ', 'third ', 'fourth ', 'fifth ', 'sixth ', 'seventh ', 'eighth ', 'ninth ', 'tenth ']

/** `second longest`. */
export function rankWord({ skip, word }: Top): string {
  return `${ordinals[skip] ?? `${skip + 1}th `}${word}`
}

/** What can't be said about files that are not there. */
export function lackOf(quantity: Quantity): string {
  if (quantity.of === 'formula') return 'nothing to calculate with'
  if (quantity.of === 'file' && quantity.file.by === 'set' && quantity.file.set.top !== undefined)
    return `no ${measureWord(quantity.measure)} of the ${rankWord(quantity.file.set.top)} one`
  return 'measure' in quantity ? `no ${measureWord(quantity.measure)} to tell` : 'nothing to count'
}

function measureWord(measure: Measure): string {
  return { lines: 'line count', bytes: 'size', words: 'word count', characters: 'number of characters', modified: 'time of change' }[
    measure
  ]
}
