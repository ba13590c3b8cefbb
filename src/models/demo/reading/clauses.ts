import { isKindNoun, kindOfWord } from './kinds.ts'
import type { Token } from './tokens.ts'
import { isOneOf, isUnit, wordSet } from './words.ts'

/** Any of these begins a clause. */
const questionWords = wordSet('how what which where when who why whose is are does do did can could would has whether')
/** So does an order. */
const verbs = wordSet(`
  count list show display find search grep read print open cat view compare add subtract multiply divide double triple
  halve square cube calculate compute evaluate sum fetch get download call invoke use run tell give name say sort report
  check explain write delete create remove summarize summarise translate take increase decrease reduce raise look locate
  enumerate quote describe fix rename move copy edit make let work determine identify pick choose output average total`)
/** And arithmetic, which goes on with the last result. */
const operatorWords = wordSet('times multiplied plus minus divided squared cubed half twice halved doubled tripled')
/** What stands between clauses and belongs to neither. */
const connectors = wordSet('and then also but finally next please afterwards so now lastly furthermore additionally as well or')
const definite = wordSet('the its their that each')
/** Behind an article, what asks for something of its own: `…, and the total`. */
const nounsOfResults = wordSet(`
  total sum average mean number count line lines product difference size title ratio first last top result name names
  amount percentage square combined date time weekday day status same current modification file second third word words
  bytes overall`)

/** The clauses of a sentence: each asks for something of its own. Commas and `and` part them only where something new begins. */
export function splitSentence(tokens: readonly Token[]): Token[][] {
  const clauses: Token[][] = []
  let clause: Token[] = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined) break
    const isJoint = token.kind === 'comma' || (token.kind === 'word' && /^(and|then|but|also)$/.test(token.word))
    // `… but are not tests` says more of the same files.
    const narrows = token.word === 'but' && /^(is|are|do|does|did|has|have|not)$/.test(tokens[at + 1]?.word ?? '')
    const begins = isJoint && !narrows && clause.length > 0 ? startOfNext(tokens, at) : undefined
    if (begins !== undefined && begins < tokens.length && startsClause(tokens, begins) && !wantsMore(clause, tokens, begins)) {
      clauses.push(clause)
      clause = []
      at = begins - 1
      continue
    }
    clause.push(token)
  }
  if (clause.length > 0) clauses.push(clause)
  return clauses
}

/** The sentences of a request. */
export function splitSentences(tokens: readonly Token[]): Token[][] {
  const sentences: Token[][] = [[]]
  for (const token of tokens) {
    if (token.kind === 'stop') sentences.push([])
    else sentences.at(-1)?.push(token)
  }
  return sentences.filter((sentence) => sentence.some(({ kind }) => kind !== 'comma'))
}

function startOfNext(tokens: readonly Token[], from: number): number {
  let at = from
  while (tokens[at]?.kind === 'comma' || connectors.has(tokens[at]?.word ?? '')) at++
  return at
}

function startsClause(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at]
  const next = tokens[at + 1]
  if (token === undefined) return false
  if (token.kind === 'url') return false
  if (token.kind !== 'word') return token.kind === 'number' && isOneOf('superlative', next?.word)
  if (isOneOf('superlative', token.word)) return next?.word !== 'first'
  if (questionWords.has(token.word) || operatorWords.has(token.word)) return true
  if (verbs.has(token.word))
    return !isOneOf('file', next?.word) && !isUnit(next?.word ?? '') && !(token.word === 'total' && next === undefined)
  if (!definite.has(token.word)) return token.word === 'all' && next?.word === 'of'
  if (token.word === 'its' || token.word === 'their') return true
  if (next === undefined) return false
  return (
    next.kind === 'number' ||
    isOneOf('superlative', next.word) ||
    /^(most|fewest|least|half|other)$/.test(next.word) ||
    nounsOfResults.has(next.word)
  )
}

/** Words that speak of two things: the next `and` stands between these, not between clauses. */
const opensPair = wordSet('compare between sum difference product average mean ratio quotient both either add subtract multiply divide')

/** Whether the words so far are waiting for another part, so that what follows belongs to them. */
function wantsMore(clause: readonly Token[], tokens: readonly Token[], next: number): boolean {
  const words = clause.map(({ word }) => word)
  const last = clause.at(-1)
  const start = tokens[next]
  const isNounPhrase = start !== undefined && (definite.has(start.word) || isOneOf('superlative', start.word) || start.kind === 'number')
  if (last === undefined || start === undefined) return false
  const head = tokens[next + (definite.has(start.word) ? 1 : 0)]?.word
  // `the longest and the shortest file`, `line count and size of a.ts`.
  if (
    isNounPhrase &&
    isOneOf('superlative', last.word) &&
    isOneOf('superlative', tokens.slice(next, next + 3).find(({ word }) => isOneOf('superlative', word))?.word)
  )
    return true
  // `count and list the files`: the verbs have the same object.
  const isVerb = isOneOf('list', last.word) || isOneOf('count', last.word)
  if (isVerb && words.every((word) => word === last.word || connectors.has(word))) return true
  if (!isNounPhrase) return false
  const open = words.findLastIndex((word) => opensPair.has(word))
  if (open !== -1 && !words.slice(open).includes('and') && takesPair(words, open)) return true
  // `which is longer, the first or …`: nothing to compare has been named yet.
  const comparative = clause.findIndex(({ word }) => isOneOf('comparative', word))
  if (
    comparative !== -1 &&
    clause[comparative + 2]?.kind !== 'number' &&
    clause.slice(comparative + 1).every(({ kind, word }) => kind === 'word' && !kindOfWord(word) && !isKindNoun(word))
  ) {
    return tokens.slice(next).some(({ word }) => /^(or|than)$/.test(word)) && !words.includes('than')
  }
  return head === 'same' && words.includes('as')
}

/** `add both counts` has all it needs. */
function takesPair(words: readonly string[], open: number): boolean {
  const after = words.slice(open + 1)
  return (
    after.length > 0 &&
    !/^(it|that|them|both|this|these|those|all|up)$/.test(after[0] ?? '') &&
    !after.some((word) => /^(counts|numbers|results|values|sizes|totals|by|from|both|two|2)$/.test(word))
  )
}
