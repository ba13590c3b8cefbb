import type { Bounds, Condition } from '../intents.ts'
import { bytesOfUnit } from './number-words.ts'
import { type Clause, type Found, phrase } from './phrases.ts'
import { isOneOf } from './words.ts'

/** What a clause demands of files, and of their number. */
export interface Conditions {
  conditions: Condition[]
  /** `more than 10 TypeScript files`: how many there should be. */
  expected?: Bounds
}

type Bound = (n: number) => { least?: number; most?: number }
const more: Bound = (n) => ({ least: Math.floor(n) + 1 })
const fewer: Bound = (n) => ({ most: Math.ceil(n) - 1 })
const least: Bound = (n) => ({ least: Math.ceil(n) })
const most: Bound = (n) => ({ most: Math.floor(n) })
const exactly: Bound = (n) => ({ least: n, most: n })

/** What may stand between `than` and a number it does not change. */
const boundTable: [string, Bound, string][] = [
  ['no|not more|greater|larger|longer|bigger than n:@number unit:@unit?', most, 'at most'],
  ['no|not fewer|less|shorter|smaller than n:@number unit:@unit?', least, 'at least'],
  ['at least n:@number unit:@unit?', least, 'at least'],
  ['a? minimum of n:@number unit:@unit?', least, 'at least'],
  ['at most n:@number unit:@unit?', most, 'at most'],
  ['a? maximum of n:@number unit:@unit?', most, 'at most'],
  ['up to n:@number unit:@unit?', most, 'at most'],
  ['n:@number or more|longer|larger|bigger unit:@unit?', least, 'at least'],
  ['n:@number or fewer|less|shorter|smaller unit:@unit?', most, 'at most'],
  ['n:@number unit:@unit or more|longer|larger|bigger', least, 'at least'],
  ['n:@number unit:@unit or fewer|less|shorter|smaller', most, 'at most'],
  ['word:more|greater|longer|larger|bigger|heavier than n:@number unit:@unit?', more, 'more than'],
  ['word:fewer|less|shorter|smaller|lighter than n:@number unit:@unit?', fewer, 'fewer than'],
  ['over|above|exceeding|beyond|exceed|exceeds n:@number unit:@unit', more, 'more than'],
  ['under|below n:@number unit:@unit', fewer, 'fewer than'],
  ['exactly|precisely n:@number unit:@unit', exactly, 'exactly'],
  ['with|have|has|having|of n:@number unit:@unit', exactly, 'exactly'],
  ['with|have|has|having|contain|contains no|zero unit:@unit', exactly, 'exactly'],
]
const boundPhrases = boundTable.map(([text, bound, says]) => ({ wanted: phrase(text), bound, says }))
const between = phrase('between|from low:@number and|to high:@number unit:@unit?')
const empty = phrase('empty')

/** Takes what a clause says of how long or large files have to be, or how many there should be. */
export function takeConditions(clause: Clause): Conditions {
  const conditions: Conditions = { conditions: [] }
  for (const { wanted, bound, says } of boundPhrases) {
    for (const found of clause.takeEach(wanted)) {
      const n = found.captured.n?.[0]?.value ?? 0
      addBounds(conditions, found, `${says} ${n}`, (scale) => bound(n * scale))
    }
  }
  for (const found of clause.takeEach(between)) {
    const [low, high] = [found.captured.low?.[0]?.value ?? 0, found.captured.high?.[0]?.value ?? 0]
    const [least, most] = [Math.min(low, high), Math.max(low, high)]
    addBounds(conditions, found, `between ${least} and ${most}`, (scale) => ({ least: least * scale, most: most * scale }))
  }
  for (const _ of clause.takeEach(empty)) conditions.conditions.push({ measure: 'bytes', most: 0, text: '0 bytes' })
  return conditions
}

/** A bound of lines or bytes is a condition on files; one without a unit says how many files there should be, unless its word is `longer`. */
function addBounds(to: Conditions, found: Found, says: string, bounds: (scale: number) => { least?: number; most?: number }): void {
  const unit = found.captured.unit?.[0]?.word
  const word = found.captured.word?.[0]?.word ?? ''
  if (isOneOf('line', unit) || (unit === undefined && /^(longer|shorter)$/.test(word))) {
    to.conditions.push({ measure: 'lines', ...bounds(1), text: `${says} ${/ 1$/.test(says) ? 'line' : 'lines'}` })
  } else if (unit !== undefined || /^(larger|bigger|smaller|heavier|lighter)$/.test(word)) {
    const shown = unit === undefined || /^b(ytes?)?$/.test(unit) ? 'bytes' : /^[kmg]i?b$/.test(unit) ? unit.toUpperCase() : unit
    to.conditions.push({ measure: 'bytes', ...bounds(bytesOfUnit(unit ?? '')), text: `${says} ${shown}` })
  } else {
    to.expected = { ...bounds(1), text: says }
  }
}
