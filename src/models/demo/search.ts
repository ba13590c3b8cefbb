import { isJsonObject, type Json } from '../../core/messages.ts'
import { placeOf, readBareFolder, readPlace } from './file-sets.ts'
import { plural } from './files.ts'
import type { Phrase } from './phrase.ts'
import { excerpt, type Plan, type Reader, type Reading, readerOf, unreadable } from './plans.ts'

interface Search {
  text: string
  isDefinition: boolean
  /** A folder or a file. */
  path: string
  form: 'lines' | 'files' | 'count'
}

const definition = '\\b(function|class|interface|type|const|let|var|enum|def|fn|func|struct|trait|module|namespace)\\s+'
const maxShown = 20

const tellMatches =
  ({ text, isDefinition, path, form }: Search): Plan =>
  (desk) => {
    const query = isDefinition ? `${definition}${text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}\\b` : text
    const limit = form === 'lines' ? maxShown : 200
    const { count, files, matches } = desk.object('search_files', { query, ...(isDefinition ? { regex: true } : {}), path, limit })
    if (typeof count !== 'number' || typeof files !== 'number' || !Array.isArray(matches)) throw unreadable('search_files')
    const what = `${isDefinition ? 'A definition of ' : ''}“${text}”`
    if (count === 0) return { text: `${what} is found nowhere ${placeOf(path)}.`, number: '0' }
    const found = matches.filter(isMatch)
    const paths = [...new Set(found.map((match) => match.path))]
    const told = { number: String(form === 'files' ? files : count), files: paths.map((each) => ({ path: each })) }
    const head = `${what} is found on ${plural(count, 'line')} in ${plural(files, 'file')} ${placeOf(path)}`
    if (form === 'count') return { ...told, text: `${head}.` }
    const lines =
      form === 'files' ? paths.slice(0, 2 * maxShown) : found.map((match) => `${match.path}:${match.line}: ${excerpt(match.text, 120)}`)
    const missing = (form === 'files' ? files : count) - lines.length
    return {
      ...told,
      text: [`${head}:`, ...lines.map((line) => `- ${line}`), ...(missing > 0 ? [`… and ${missing} more.`] : [])].join('\n'),
    }
  }

function isMatch(value: Json): value is { path: string; line: number; text: string } {
  return isJsonObject(value) && typeof value.path === 'string' && typeof value.line === 'number' && typeof value.text === 'string'
}

/** What can be searched for only in quotes: such words are grammar, or not about files. */
const noTerm =
  /^(it|that|this|them|those|something|anything|everything|web|internet|google|online|text|word|files?|code|what|where|who|me|you|bugs?|errors?)$/

function search(term: Phrase | undefined, place: Phrase | undefined, form: Search['form'], isDefinition = false): Reading | undefined {
  const path = place === undefined ? '.' : folderOrFile(place)
  if (term === undefined || path === undefined || noTerm.test(term.text)) return undefined
  return readingOf({ text: term.raw, isDefinition, path, form })
}

function readingOf(wanted: Search): Reading {
  const again = (phrase: Phrase) => {
    const path = readPlace(phrase) ?? readBareFolder(phrase)
    return path === undefined ? undefined : readingOf({ ...wanted, path })
  }
  return { plan: tellMatches(wanted), again }
}

function folderOrFile(place: Phrase): string | undefined {
  if (/^(<file>|<path>|<filetext>)$/.test(place.text)) return place.raw
  return readBareFolder(place) ?? (/^(?!web$|internet$|online$|google$)[\w-]+$/i.test(place.raw) ? place.raw : undefined)
}

/** `find runLoop`, but not `find bugs`: what isn't quoted has to look like code. */
function codeOnly(term: Phrase | undefined): Phrase | undefined {
  const looksLikeCode = term?.text === '<text>' || (/[A-Z_\d]/.test(term?.raw ?? '') && !/^[A-Z]?[a-z]+$/.test(term?.raw ?? ''))
  return looksLikeCode ? term : undefined
}

const where = '(?: (?:in|of|from|under|inside) PLACE)?'
const mention = '(?:mentions?|contains?|uses?|imports?|includes?|calls?|containing|mentioning|using|with)'

/** Questions for a text: where it is, which files mention it, how often. */
export const readSearch: Reader = readerOf(
  [
    `(?:where is|where|find where|find|show) TERM(?: is)? (?:defined|declared|implemented)${where}
    (?:find|show|where is) (?:definition|declaration) of TERM${where}`,
    ({ term, place }) => search(term, place, 'lines', true),
  ],
  [
    `(?:which|what|list|find|show) files?(?: in (?<place>\\S+))?(?: that| which)? ${mention} TERM
    (?:which|what|list|find|show) files?(?: that| which)? ${mention} TERM${where}`,
    ({ term, place }) => search(term, place, 'files'),
  ],
  [
    `(?:how many|count|number of) (?:files|lines)(?: in (?<place>\\S+))?(?: that| which)? ${mention} TERM
    (?:how many|count|number of) (?:files|lines)(?: that| which)? ${mention} TERM${where}
    how (?:many times|often) (?:does|is|do) TERM (?:occur|appear|mentioned|used|come up|called|found)${where}`,
    ({ term, place }) => search(term, place, 'count'),
  ],
  [
    `(?:search|grep) (?:in )?(?<place>\\S+(?: folder| directory)?) for TERM
    grep TERM (?<place>\\S+)
    (?:search|search for|grep|grep for|look for|lines (?:with|containing)) TERM${where}`,
    ({ term, place }) => search(term, place, 'lines'),
  ],
  [
    `(?:find|find where|where is|where are) TERM(?: used| mentioned| called)?${where}`,
    ({ term, place }) => search(codeOnly(term), place, 'lines'),
  ],
  [`(?:does|do) (?<place><file>|<path>) ${mention} TERM`, ({ term, place }) => search(term, place, 'count')],
)
