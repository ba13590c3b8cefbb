import { mistakes } from '../../core/nearest-name.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { readArithmetic } from './arithmetic.ts'
import { readClock } from './clock.ts'
import { readFile, readFiles, readSearch } from './files.ts'
import { readNamedCall } from './named-calls.ts'
import { type Reading, Words } from './reading.ts'
import { readTalk } from './talk.ts'

/** Maximum length of a question in characters, and maximum number of its clauses. A request that spells out a call may be longer. */
const [maxLength, maxClauses] = [400, 10]
const quotedText = /"[^"\n]+"|“[^”\n]+”|`[^`\n]+`|(?<!\w)'[^'\n]+'(?!\w)/g
const separator = /[.?!;。？！]+(?:\s+|$)|\n+|,?\s+(?:and then|and|then)\s+|,\s+/g

/** Reads every clause of a request, correcting typing mistakes if necessary. If that fails, returns the first unknown part. */
export function readRequest(text: string, tools: readonly ToolDefinition[]): Reading[] | string {
  const call = readNamedCall(text, tools)
  if (call !== undefined) return [call]
  if (text === '' || text.length > maxLength) return text
  const quotes: string[] = []
  const masked = text.replace(/[\uE000\uE001]/g, '').replace(quotedText, (quote) => `\uE000${quotes.push(quote) - 1}\uE001`)
  const restore = (part: string) => part.replace(/\uE000(\d+)\uE001/g, (_, at) => quotes[Number(at)] ?? '')
  const asTyped = readClauses(masked, restore, tools)
  const slips: string[] = []
  const corrected = masked.replace(/(?<![\w./@-])[a-z]{3,}(?![\w/@-]|\.\w)/gi, (word) => {
    const meant = known.includes(word.toLowerCase()) ? undefined : known.find((each) => isSlip(word.toLowerCase(), each))
    if (meant !== undefined) slips.push(`“${word}” as “${meant}”`)
    return meant ?? word
  })
  const readings = typeof asTyped === 'string' && slips.length > 0 ? readClauses(corrected, restore, tools) : asTyped
  if (typeof readings === 'string' || readings === asTyped) return asTyped
  return [...readings, { says: () => `(I read ${slips.join(' and ')}.)` }]
}

/** Splits a request into clauses that can be read. Longer clauses are tried first. */
function readClauses(request: string, restore: (part: string) => string, tools: readonly ToolDefinition[]): Reading[] | string {
  const ends = [...request.matchAll(separator)].map(({ index, 0: { length } }) => ({ index, next: index + length }))
  ends.push({ index: request.length, next: request.length })
  const tried: number[] = []
  const readFrom = (start: number): Reading[] | undefined => {
    if (start >= request.length) return []
    if (tried.includes(start)) return undefined
    tried.push(start)
    for (const { index, next } of ends.filter((end) => end.index > start).toReversed()) {
      const reading = readClause(request.slice(start, index), restore, tools)
      const rest = reading && readFrom(next)
      if (reading !== undefined && rest !== undefined) return [reading, ...rest]
    }
    return undefined
  }
  return (ends.length > maxClauses ? undefined : readFrom(0)) ?? restore(request.slice(Math.max(0, ...tried)))
}

const polite =
  /^(?:(?:hi|hello|hey|ok|okay|so|and|then|also|now|please|pls)[,!]?|(?:can|could|would|will) you|i(?: would|'d)? (?:want|need|like)(?: you)? to(?: know| see)?|tell me|do you know) (?=.)/i
const politeEnd = /(?:[,\s]+(?:please|pls|thanks|thank you|for me|right now)| ?[.?!,:]+)$/i

function readClause(typed: string, restore: (part: string) => string, tools: readonly ToolDefinition[]): Reading | undefined {
  const call = readNamedCall(restore(typed).trim(), tools)
  let clause = typed.replace(/\s+/g, ' ').trim()
  for (let before = ''; before !== clause; ) {
    before = clause
    clause = clause.replace(polite, '').replace(politeEnd, '')
  }
  clause = clause.replace(/\b(what|where|how|who)['’]?s\b/gi, '$1 is').replace(/^(?:ls|dir) (?=[\w@./~])/i, 'ls in ')
  const unquote = (part: string) => restore(part).replace(/^["“`'](.+)["”`']$/, '$1')
  const first: Reading | undefined = call ?? readTalk(clause) ?? readArithmetic(clause)
  return [readSearch, readClock, readFile, readFiles].reduce((reading, read) => reading ?? read(new Words(clause, unquote)), first)
}

/** The words to which a typing mistake may be corrected. */
const known =
  `what which where when how many time date file files line lines longest largest biggest shortest smallest newest oldest folder folders
  list show read find search count number length size first typescript javascript python markdown today times divided multiplied plus minus
  percent project mention contain under hello help thanks calculate`.split(/\s+/)

/** Whether a word is another word with one typing mistake: a letter missing, added, swapped or, in a long word, replaced. */
function isSlip(typed: string, meant: string): boolean {
  if (typed[0] !== meant[0] || Math.abs(typed.length - meant.length) > 1 || mistakes(typed, meant) !== 1) return false
  return typed.length !== meant.length || meant.length >= 6 || [...typed].sort().join() === [...meant].sort().join()
}
