import type { Question } from '../intents.ts'
import { amount, showBytes } from './amounts.ts'
import type { Answer } from './answers.ts'
import type { Cabinet } from './cabinet.ts'
import { capital, countFiles, placeOfSearch, quote } from './describe.ts'
import { excerpt } from './desk.ts'
import { andThen, knownAs } from './outcome.ts'
import { type FetchedPage, type Found, fetchPage, readFile, searchFor } from './quantities.ts'

/** Which files mention a text, or where it stands. */
export function answerSearch({ search, form }: Extract<Question, { ask: 'search' }>, cabinet: Cabinet): Answer {
  return andThen(searchFor(search, cabinet), (found) => {
    const what = quote(search)
    const where = placeOfSearch(search)
    if (found.lines === 0) return knownAs(`${form === 'yes-no' ? 'No, n' : 'N'}othing ${where} mentions ${what}.`)
    const counted = search.isFile
      ? `${search.folder} mentions ${what}`
      : `${countFiles(search, found.files)} ${found.files === 1 ? 'mentions' : 'mention'} ${what}`
    if (search.isFile && form !== 'places')
      return knownAs(
        `${form === 'yes-no' ? 'Yes, ' : ''}${counted} on ${amount(found.lines, 'line')}: ${found.matches
          .slice(0, mostPlaces)
          .map(({ line }) => line)
          .join(', ')}.`,
      )
    if (form === 'yes-no') return knownAs(`Yes, ${counted}: ${joinFew(byFile(found), found)}.`)
    if (form === 'files')
      return knownAs(
        found.files <= 3
          ? `${counted}: ${joinFew(byFile(found), found)}.`
          : [`${counted}:`, ...byFile(found).map((file) => `- ${file}`), ...missing(found)].join('\n'),
      )
    const places = found.matches.slice(0, mostPlaces).map(({ path, line, text }) => `- ${path}:${line}: ${excerpt(text, 120)}`)
    const times = found.times === undefined ? '' : `${amount(found.times, 'time')}, `
    const rest = found.lines - places.length
    return knownAs(
      [
        `${capital(what)} is found ${times}on ${amount(found.lines, 'line')} ${search.isFile ? where : `in ${countFiles(search, found.files)}`}:`,
        ...places,
        ...(rest > 0 ? [`… and on ${amount(rest, 'more line', 'more lines')}.`] : []),
      ].join('\n'),
    )
  })
}

const mostPlaces = 20

/** `src/a.ts (lines 3 and 8)`, each file once. */
function byFile({ matches }: Found): string[] {
  const lines = new Map<string, number[]>()
  for (const { path, line } of matches) lines.set(path, [...(lines.get(path) ?? []), line])
  return [...lines].map(([path, list]) => {
    const shown = list.slice(0, 5).join(', ') + (list.length > 5 ? ', …' : '')
    return `${path} (${list.length === 1 ? 'line' : 'lines'} ${shown})`
  })
}

function joinFew(files: readonly string[], found: Found): string {
  return [...files.slice(0, 10), ...(files.length > 10 ? [`and ${files.length - 10} more`] : []), ...missing(found)].join(', ')
}

/** Matches beyond the limit are counted, but not told one by one. */
function missing({ files, matches }: Found): string[] {
  const seen = new Set(matches.map(({ path }) => path)).size
  return files > seen ? [`… and ${amount(files - seen, 'more file', 'more files')}`] : []
}

/** Lines of a file, in a block. */
export function answerRead({ file, range }: Extract<Question, { ask: 'read' }>, cabinet: Cabinet): Answer {
  const answer = andThen(readFile(file, range ?? 'shown', cabinet), ({ path, from, to, totalLines, text, isCut }) => {
    if (text === '' && totalLines === 0) return knownAs(`${path} is empty.`)
    const lines =
      from === 1 && to === totalLines
        ? `all ${amount(totalLines, 'line')}`
        : from === to
          ? `line ${from} of ${totalLines}`
          : `lines ${from} to ${to} of ${totalLines}`
    // A fence longer than any in the text, so that the text can't end it.
    const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)))
    return knownAs(`${path}, ${lines}${isCut ? ' (cut)' : ''}:\n\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`)
  })
  return answer.is === 'none' ? { ...answer, lacks: 'nothing to read' } : answer
}

const mostPageText = 600

/** What a page is, and what of it was asked for. */
export function answerPage({ page, aspects }: Extract<Question, { ask: 'page' }>, cabinet: Cabinet): Answer {
  return andThen(fetchPage(page, cabinet), (found) => {
    const told: string[] = []
    if (aspects.includes('title'))
      told.push(titleOf(found) === undefined ? `${found.url} has no title.` : `The title of ${found.url} is “${titleOf(found) ?? ''}”.`)
    if (aspects.includes('status') && found.status !== undefined) told.push(`It answers with HTTP status ${found.status}.`)
    if (aspects.includes('type')) told.push(`Its content type is ${found.contentType || 'not given'}.`)
    const size = found.bytes === undefined ? '' : `, ${showBytes(found.bytes)}${found.isCut ? ' (as far as it was read)' : ''}`
    if (aspects.length === 0)
      told.push(
        `${found.url} answers with HTTP status ${found.status ?? 'unknown'}: ${found.contentType || 'no content type'}${size}.${titleOf(found) === undefined ? '' : ` Its title is “${titleOf(found) ?? ''}”.`}`,
      )
    const wantsText = aspects.length === 0 || aspects.includes('text')
    return knownAs(
      wantsText && found.text.trim() !== '' ? `${told.join(' ')}\n\n> ${excerpt(found.text, mostPageText)}`.trimStart() : told.join(' '),
    )
  })
}

/** Of HTML the tool gives the readable text, its title first. */
function titleOf({ text, contentType }: FetchedPage): string | undefined {
  const tag = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]
  const line = tag ?? (/html/i.test(contentType) ? text.split('\n').find((each) => each.trim() !== '') : /^#\s+(.+)$/m.exec(text)?.[1])
  return line === undefined ? undefined : excerpt(line.replace(/^#\s+/, ''), 200)
}
