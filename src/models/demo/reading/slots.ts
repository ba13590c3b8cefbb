import type { Measure, Range } from '../intents.ts'
import { type Conditions, takeConditions } from './conditions.ts'
import { type KindWords, takeKinds } from './kind-words.ts'
import { type Orderings, takeOrderings } from './orderings.ts'
import { type Clause, type Phrase, phrase } from './phrases.ts'
import { type Place, takePlaces } from './places.ts'
import { isEmptyWord, wordSet } from './words.ts'

/** What a clause about files says, word by word, before it is decided what it asks. */
export interface Slots extends KindWords, Conditions, Orderings {
  places: Place[]
  measures: Measure[]
  aggregate?: 'total' | 'average'
  range?: Range
  asks: ReadonlySet<Ask>
  refs: ReadonlySet<Ref>
  noun?: 'file' | 'folder'
  /** Only the folder itself, not what is below. */
  flat: boolean
  /** Words nothing was made of. */
  unknown: string[]
}

type Ask = 'count' | 'list' | 'give' | 'find' | 'exists' | 'which' | 'where' | 'when' | 'read' | 'each' | 'share' | 'difference' | 'yes-no'
/** `it`: the one spoken of. `them`: the several. `result`: the number. */
type Ref = 'it' | 'them' | 'result'

/** Files by the time of their last change can be put in order, not chosen. */
const timeWords = wordSet('today yesterday week weeks month months year years hour hours minutes days since ago')

interface Named<T> {
  name: T
  wanted: Phrase[]
}

function named<T>([name, texts]: [T, string[]]): Named<T> {
  return { name, wanted: texts.map(phrase) }
}

const idioms = [
  'in order to',
  'of course',
  'by the way',
  'for example',
  'at the moment',
  'right now',
  'at present',
  'as well',
  'in detail',
  'in particular',
  'at all',
  'at once',
  'for me',
  'in your answer',
  'step by step',
  'one by one',
  'at a glance',
  'out of',
  'excluding|except|without|ignoring|skipping|not counting|including? node_modules|.git',
  'as a number',
  'in them',
  'i would like to know',
  'a list of',
  'in length|size',
  'of code',
].map(phrase)

const ranges: [Phrase, (n: number, m: number) => Range][] = [
  [phrase('first|top|initial|opening n:@number @line'), (n) => ({ from: 1, to: n })],
  [phrase('last|bottom|final|closing n:@number @line'), (n) => ({ last: n })],
  [phrase('n:@number first|top @line'), (n) => ({ from: 1, to: n })],
  [phrase('n:@number last @line'), (n) => ({ last: n })],
  [
    phrase('@line from|between? n:@number to|through|until|and|till|-|–|− m:@number'),
    (n, m) => ({ from: Math.min(n, m), to: Math.max(n, m) }),
  ],
  [phrase('@line number|no|nr? n:@number'), (n) => ({ from: n, to: n })],
  [phrase('first|top|opening line'), () => ({ from: 1, to: 1 })],
  [phrase('last|final|bottom line'), () => ({ last: 1 })],
]
const ordinalLine = phrase('n:@ordinal line')
const ordinalWords = 'zeroth first second third fourth fifth sixth seventh eighth ninth tenth'.split(' ')

/** `the first 10 lines`, `lines 5 to 8`, `the third line`. */
function takeRange(clause: Clause): Range | undefined {
  for (const [wanted, make] of ranges) {
    const found = clause.takePhrase(wanted)
    if (found) return make(Math.max(found.captured.n?.[0]?.value ?? 1, 1), Math.max(found.captured.m?.[0]?.value ?? 1, 1))
  }
  const nth = clause.takePhrase(ordinalLine)?.captured.n?.[0]?.word
  return nth === undefined ? undefined : { from: ordinalWords.indexOf(nth), to: ordinalWords.indexOf(nth) }
}

const measurePhrases: [Measure, string[]][] = [
  ['words', ['how many words', 'number of words', 'words|word count|counts?']],
  ['characters', ['how many characters|chars|letters', 'number of characters|chars|letters', 'characters|character|chars|letters count?']],
  [
    'modified',
    [
      'last|latest? modification|change|update|edit date|time?',
      'last|recently? modified|changed|edited|updated|touched date|time|on|at?',
      'how old|recent|new',
      'date|time of last|latest? change|modification|edit|update',
    ],
  ],
  [
    'lines',
    [
      'how many @line of? code?',
      'number|amount|count|counts|numbers of @line of? code?',
      'line|lines|loc of? code? count|counts|length|number|numbers',
      '@line of code',
      'how long',
      'length|lengths in? lines?',
      '@line',
    ],
  ],
  [
    'bytes',
    [
      'how many|much @byte',
      'how big|large|heavy|small',
      'how much disk? space|storage|room',
      'number|amount of @byte',
      'file|files|disk? size|sizes|weight|space in? @byte?',
      '@byte',
    ],
  ],
]
const compiledMeasures = measurePhrases.map(named)

const askPhrases: [Ask, string[]][] = [
  ['difference', ['how many|much @comparative', 'by how many|much', 'difference|differ|differs']],
  ['share', ['percentage|percent|proportion|share|fraction|ratio']],
  ['count', ['how many', 'total? number|amount|count|counts|numbers of', 'count|counts|tally', 'how much', 'number of']],
  ['each', ['each|every', 'counts|sizes|lengths', 'respective|respectively', 'with their|its|the', 'per file']],
  ['exists', ['is|are there any|a|an|some|no?', 'do|does we|you|i|it|they have|contain any|a|an|some?', 'exist|exists|existing', 'any']],
  ['where', ['where|location']],
  ['when', ['when']],
  ['read', ['read|cat|open|view|quote', 'content|contents|text']],
  ['find', ['find|locate|finding']],
  ['list', ['list|lists|show|display|enumerate|names|paths|print']],
  ['give', ['give|name|get|see|output']],
  ['which', ['which|what']],
  ['yes-no', ['whether|if']],
]
const compiledAsks = askPhrases.map(named)

/** Looked for before the places are taken: `in` is part of one. */
const contentsPhrases = ['what is in|inside', 'what does'].map(phrase)

const aggregates: ['total' | 'average', Phrase][] = [
  ['average', phrase('average|mean|avg|averages|typical')],
  ['total', phrase('in? total|sum|overall|altogether|combined|together|totals|all')],
]
const flatPhrases = [
  phrase('directly|immediately'),
  phrase('not recursively|recursive'),
  phrase('without subfolders|subdirectories|subfolder|recursion'),
  phrase('at|on the? top level'),
  phrase('not in subfolders|subdirectories'),
  phrase('top-level'),
  phrase('itself'),
]
const recursivePhrase = phrase('recursively|recursive')

const refPhrases: [Ref, string[]][] = [
  [
    'them',
    [
      'of? them|those|these|they|their|theirs',
      'of which|whom',
      'of? those|these|the files|ones|tests|results|matches',
      'the|that same files|ones?',
    ],
  ],
  ['it', ['its', 'it', 'that|this|the same? file', 'that|this|the one', 'that|this']],
]
const compiledRefs = refPhrases.map(named)

/** Reads what a clause about files says; takes the words it understands. */
export function readSlots(clause: Clause): Slots {
  for (const idiom of idioms) clause.takeEach(idiom)
  const range = takeRange(clause)
  const flat = flatPhrases.filter((wanted) => clause.takePhrase(wanted) !== undefined).length > 0
  clause.takePhrase(recursivePhrase)
  const conditions = takeConditions(clause)
  const orderings = takeOrderings(clause)
  const kindWords = takeKinds(clause)
  const asksContents = contentsPhrases.some((wanted) => clause.find(wanted) !== undefined)
  const places = takePlaces(clause)
  const measures = takeMeasures(clause)
  const refs = takeAll(clause, compiledRefs)
  const aggregate = aggregates.filter(([, wanted]) => clause.takePhrase(wanted) !== undefined)[0]?.[0]
  const asks = takeAll(clause, compiledAsks)
  if (asksContents) asks.add('read')
  const rest = clause.rest().filter((token) => token.kind !== 'comma' && token.kind !== 'open' && token.kind !== 'close')
  const noun = nounOf(clause)
  const [top] = orderings.tops
  const dated = measures.includes('modified') ? clause.tokens.find(({ word }) => timeWords.has(word)) : undefined
  const strange =
    orderings.strange ??
    kindWords.strange ??
    (dated === undefined ? undefined : `modified … ${dated.text}`) ??
    (noun === 'folder' && kindWords.kinds.length === 0 && top !== undefined ? `${top.word} folder` : undefined)
  return {
    ...conditions,
    ...orderings,
    ...kindWords,
    ...(strange === undefined ? {} : { strange }),
    places,
    measures,
    asks,
    refs,
    flat,
    unknown: rest.filter((token) => !(token.kind === 'word' && isEmptyWord(token.word))).map((token) => token.text),
    ...(aggregate === undefined ? {} : { aggregate }),
    ...(range === undefined ? {} : { range }),
    ...(noun === undefined ? {} : { noun }),
  }
}

function takeAll<T>(clause: Clause, table: readonly Named<T>[]): Set<T> {
  const found = new Set<T>()
  for (const { name, wanted } of table) for (const each of wanted) if (clause.takeEach(each).length > 0) found.add(name)
  return found
}

/** What is to be measured, in the order of the text. */
function takeMeasures(clause: Clause): Measure[] {
  const found: { measure: Measure; at: number }[] = []
  for (const { name: measure, wanted } of compiledMeasures) {
    for (const each of wanted) for (const { start } of clause.takeEach(each)) found.push({ measure, at: start })
  }
  found.sort((a, b) => a.at - b.at)
  return [...new Set(found.map(({ measure }) => measure))]
}

/** Whether files or folders are spoken of, where no kind says so. */
function nounOf(clause: Clause): 'file' | 'folder' | undefined {
  for (const token of clause.rest()) {
    if (/^(files?|everything)$/.test(token.word)) return 'file'
    if (/^(sub)?(folders?|director(y|ies)|dirs?)$/.test(token.word)) return 'folder'
  }
  return undefined
}
