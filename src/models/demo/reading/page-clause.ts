import type { Page, Quantity, Question } from '../intents.ts'
import type { Discourse } from './discourse.ts'
import type { Token } from './tokens.ts'

type Aspect = Extract<Question, { ask: 'page' }>['aspects'][number]

const texts: [RegExp, Aspect][] = [
  [/^(title|titled|heading)$/, 'title'],
  [/^(status|code|reachable|up|online)$/, 'status'],
  [/^(type|content-type|format)$/, 'type'],
  [/^(text|content|contents|says?|body|about|read|show|print|summary)$/, 'text'],
]
const measures: [RegExp, Extract<Quantity, { of: 'page' }>['measure']][] = [
  [/^words?$/, 'words'],
  [/^(characters?|chars|letters)$/, 'characters'],
  [/^lines?$/, 'lines'],
  [/^(size|bytes?|big|large|kb|length|long)$/, 'bytes'],
]

/** Reads a clause about a page of the web: one with a URL in it, or one that speaks of the last page (`its title`). */
export function readPageClause(tokens: readonly Token[], discourse: Discourse): Question[] | undefined {
  const urls = tokens.filter(({ kind }) => kind === 'url').map(({ text }) => text)
  const words = tokens.filter(({ kind }) => kind === 'word').map(({ word }) => word)
  const refers =
    discourse.subject === 'page' &&
    discourse.page !== undefined &&
    words.some((word) => /^(its?|that|this|page|site|website|there|the)$/.test(word))
  const pages: Page[] =
    urls.length > 0 ? urls.map((url) => ({ turn: discourse.turn, url })) : refers && discourse.page ? [discourse.page] : []
  if (pages.length === 0) return undefined
  const aspects = texts.filter(([wanted]) => words.some((word) => wanted.test(word))).map(([, aspect]) => aspect)
  const wantedMeasures = measures.filter(([wanted]) => words.some((word) => wanted.test(word))).map(([, measure]) => measure)
  const isFetch = words.some((word) => /^(fetch|get|download|open|load|visit|retrieve|read|check|request|curl|browse)$/.test(word))
  if (urls.length === 0 && aspects.length === 0 && wantedMeasures.length === 0) return undefined
  return pages.flatMap((page): Question[] => {
    const numbers = wantedMeasures.map((measure): Question => ({ ask: 'number', quantity: { of: 'page', page, measure } }))
    const told = aspects.length > 1 && isFetch ? aspects.filter((aspect) => aspect !== 'text') : aspects
    return told.length > 0 || numbers.length === 0 ? [{ ask: 'page', page, aspects: told }, ...numbers] : numbers
  })
}
