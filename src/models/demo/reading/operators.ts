import { type Phrase, phrase } from './phrases.ts'
import { apply, averageOf, chain, changeBy, percentOf, type Sign, strengths, type Term } from './terms.ts'

/** What stands between two numbers. */
export interface Infix {
  wanted: Phrase
  /** See `strengths`. */
  strength: number
  make: (left: Term, right: Term) => Term
}

const signs: [Sign, string[]][] = [
  ['^', ['raised? to the? power of?', 'raised to', '* *', '^']],
  ['*', ['multiplied|multiply by|with', 'times|*|×']],
  ['/', ['divided|divide by', '/|÷']],
  ['+', ['+|plus', 'added to', 'increased by']],
  ['-', ['minus|-|−|–', 'decreased|reduced by']],
  ['mod', ['modulo|mod']],
]

export const infixes: readonly Infix[] = [
  ...['percent|% of', 'per cent of'].map((text): Infix => ({ wanted: phrase(text), strength: 2, make: percentOf })),
  ...signs.flatMap(([sign, texts]) =>
    texts.map((text): Infix => ({ wanted: phrase(text), strength: strengths[sign], make: (left, right) => apply(sign, left, right) })),
  ),
]

/** `3 x 4`: a letter, so only between numbers. */
export const letterTimes: Infix = { wanted: phrase('x'), strength: 2, make: (left, right) => apply('*', left, right) }

type Change = (term: Term) => Term

/** Words that change the one number beside them. */
export interface Changing {
  wanted: Phrase
  change: Change
}

const times =
  (factor: number): Change =>
  (term) =>
    apply('*', term, factor)
const over =
  (divisor: number): Change =>
  (term) =>
    apply('/', term, divisor)
const power =
  (exponent: number): Change =>
  (term) =>
    apply('^', term, exponent)
const compile = ([text, change]: [string, Change]): Changing => ({ wanted: phrase(text), change })

/** What stands behind a number and changes it. */
export const suffixes: readonly Changing[] = (
  [
    ['squared', power(2)],
    ['cubed', power(3)],
    ['doubled|twice', times(2)],
    ['tripled', times(3)],
    ['halved', over(2)],
    ['percent|%', over(100)],
    ['per cent', over(100)],
  ] satisfies [string, Change][]
).map(compile)

/** What stands before a number and changes it; alone it changes the last result. */
export const prefixes: readonly Changing[] = (
  [
    ['one? half of?', over(2)],
    ['twice|double|doubling', times(2)],
    ['thrice|triple|tripling', times(3)],
    ['quadruple', times(4)],
    ['halve|halving', over(2)],
    ['square root of', (term) => ({ call: 'sqrt', term })],
    ['cube root of', (term) => ({ call: 'cbrt', term })],
    ['root of', (term) => ({ call: 'sqrt', term })],
    ['square|squaring of?', power(2)],
    ['cube of?', power(3)],
    ['one|a third of', over(3)],
    ['one|a quarter|fourth of', over(4)],
    ['one|a fifth of', over(5)],
    ['one|a tenth of', over(10)],
    ['two|2 thirds of', (term) => over(3)(times(2)(term))],
    ['three|3 quarters|fourths of', (term) => over(4)(times(3)(term))],
    ['negative|minus|-|−', (term) => ({ negative: term })],
  ] satisfies [string, Change][]
).map(compile)

type Gather = (terms: readonly Term[]) => Term | undefined
const pair =
  (sign: Sign): Gather =>
  (terms) =>
    terms.length === 2 ? chain(sign, terms) : undefined

/** `the sum of A, B and C`, `the difference between A and B`. */
export const gatherings: readonly { wanted: Phrase; gather: Gather }[] = (
  [
    ['sum|total of', (terms) => chain('+', terms)],
    ['product of', (terms) => chain('*', terms)],
    ['difference of|between', pair('-')],
    ['ratio|quotient of|between', pair('/')],
    ['average|mean of', averageOf],
  ] satisfies [string, Gather][]
).map(([text, gather]) => ({ wanted: phrase(text), gather }))

/** `multiply A by B`: the word between both, and what becomes of them. Without A the last result is meant. */
export const commands: readonly { wanted: Phrase; joint: Phrase; make: (a: Term, b: Term) => Term }[] = (
  [
    ['multiply|multiplying', 'by|with|and', (a, b) => apply('*', a, b)],
    ['divide|dividing', 'by', (a, b) => apply('/', a, b)],
    ['add|adding', 'to', (a, b) => apply('+', b, a)],
    ['subtract|deduct|subtracting|take', 'from', (a, b) => apply('-', b, a)],
    ['raise', 'to the? power of?', (a, b) => apply('^', a, b)],
    ['increase|grow|raise', 'by', (a, b) => changeBy('+', a, b)],
    ['decrease|reduce|lower', 'by', (a, b) => changeBy('-', a, b)],
  ] satisfies [string, string, (a: Term, b: Term) => Term][]
).map(([verb, joint, make]) => ({ wanted: phrase(verb), joint: phrase(joint), make }))

/** `add both`, `sum them up`, `multiply the two`: all of several numbers; with a single one, the last result joins in. */
export const listCommands: readonly { wanted: Phrase; gather: Gather; join?: (result: Term, term: Term) => Term }[] = [
  { wanted: phrase('add|sum|total|adding up?'), gather: (terms) => chain('+', terms), join: (result, term) => apply('+', result, term) },
  { wanted: phrase('subtract|deduct'), gather: pair('-'), join: (result, term) => apply('-', result, term) },
  { wanted: phrase('multiply'), gather: (terms) => chain('*', terms) },
  { wanted: phrase('divide'), gather: pair('/') },
  { wanted: phrase('average'), gather: averageOf },
]
