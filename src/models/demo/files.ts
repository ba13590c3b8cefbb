import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { excerpt, type MadeCall, type Question, type Unresolved, type Words } from './reading.ts'

/** Labels and globs of file types, by name (`typescript`) or extension (`ts`). */
const kinds = new Map<string, { label: string; pattern: string }>()
const table = 'TypeScript ts,tsx,mts,cts|JavaScript js,jsx,mjs,cjs|Python py|Markdown md|JSON json|YAML yaml,yml|HTML html|CSS css'
for (const [label = '', endings = ''] of table.split('|').map((entry) => entry.split(' '))) {
  for (const ending of endings.split(',')) kinds.set(ending, { label: `.${ending}`, pattern: `*.${ending}` })
  kinds.set(label.toLowerCase(), { label, pattern: `*.${endings.includes(',') ? `{${endings}}` : endings}` })
}

/** Converts a place to a path relative to the workspace. `.` is the workspace itself. */
function pathOf(place = ''): string {
  if (/^(?:|project|repo|repository|workspace|codebase|folder|directory|this)$/i.test(place)) return '.'
  return /^(?:readme|changelog)$/i.test(place) ? `${place.toUpperCase()}.md` : place.replace(/^\.\/(?=.)|(?<=.)\/+$/g, '')
}

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
const inPlace = (path: Json | undefined) => (path === '.' ? 'in this project' : `in ${String(path)}`)

/** Describes the files: `4 TypeScript files in src`, `0 .md files in this project`. */
function describe({ path, pattern, folders }: JsonObject, count: number): string {
  const label = [...kinds.values()].findLast((kind) => kind.pattern === pattern)?.label ?? String(pattern ?? '').replace('*', '')
  return `${plural(count, `${label} ${folders === true ? 'folder' : 'file'}`.trim())} ${inPlace(path)}`
}

/** Formats a heading and its lines, followed by the number of omitted lines. */
function bullets(head: string, lines: readonly string[], count: number): string {
  return [head, ...lines.map((line) => `- ${line}`), ...(count > lines.length ? [`… and ${count - lines.length} more.`] : [])].join('\n')
}

type Item = JsonObject & { path: string }
const isItem = (value: Json): value is Item => isJsonObject(value) && typeof value.path === 'string'

/** Describes a list of files. If the list is sorted, only its first file is described. */
const tellFiles: Question['tell'] = (result, args) => {
  if (!isJsonObject(result) || typeof result.count !== 'number' || !Array.isArray(result.files)) return undefined
  const { count, totalLines } = result
  const files = result.files.filter(isItem)
  const paths = files.map(({ path }) => path)
  const head = `There ${count === 1 ? 'is' : 'are'} ${describe(args, count)}`
  const note = typeof result.note === 'string' ? ` (${result.note})` : ''
  if (count > 0 && args.sort !== undefined) return `${tellFirst(files, args, count)}.${note}`
  if (count > 0 && args.lines === true) return `${head}, with ${plural(Number(totalLines), 'line')} in total.${note}`
  if (count === 0 || args.limit === 1) return `${head}.${note}`
  return bullets(`${head}:${note}`, paths, count)
}

/** Describes the first file of a sorted list, and all files with the same value. */
function tellFirst(files: readonly Item[], args: JsonObject, count: number): string {
  const key = args.sort === 'lines' ? 'lines' : args.sort === 'size' ? 'bytes' : 'modified'
  const [first, ...others] = files.filter((file) => file[key] !== undefined)
  if (first === undefined) return `None of the ${describe(args, count)} is a text file`
  const value = first[key]
  const measure = typeof value === 'number' ? plural(value, key.slice(0, -1)) : `changed at ${String(value)}`
  if (first.path === args.path) return `${first.path} has ${measure}`
  const equal = [first, ...others.filter((file) => file[key] === value)].map(({ path }) => path)
  const word = superlatives.find((each) => orderOf(each).sort === args.sort && orderOf(each).order === args.order)
  const more = equal.length === files.length && count > files.length ? ' …' : ''
  const [verb, each] = equal.length === 1 ? ['is', ''] : ['are', ' each']
  return `The ${word} ${describe(args, equal.length).replace(/^\d+ /, '')} ${verb} ${equal.join(', ')}${more}, ${measure}${each}`
}

const superlatives = ['longest', 'shortest', 'largest', 'biggest', 'smallest', 'newest', 'oldest']

function orderOf(word: string): JsonObject {
  const sort = /long|short|lines/.test(word) ? 'lines' : /new|old/.test(word) ? 'modified' : 'size'
  return { ...(sort === 'lines' && { lines: true }), sort, order: /short|small|old/.test(word) ? 'asc' : 'desc', limit: 10 }
}

const folder = '(?:the |this |my |our |folder |directory )*(?!(?:it|that|them) )(\uE000\\d+\uE001|[\\w@.~/-]+)(?: folder| directory)?'
const inside = `(?:in|under|inside|within|of|from|does(?= \\S+ (?:have|contain))) ${folder}`
const placed = new RegExp(` ${inside}(?: have| contain)? `, 'i')
const named = / (?:file )?(\uE000\d+\uE001|[\w@.~/-]*\.[a-z]\w*|readme|changelog) (?:file )?/i
const superlative = new RegExp(` (${superlatives.join('|')}|most lines) `, 'i')

/** Reads requests to count, list and compare files. */
export function readFiles(words: Words): Question | undefined {
  const isLook = words.take(/ what is (?=in |inside )/i) !== undefined
  const isLines = words.take(/ (?:how many|count) lines(?: of code)? /i) !== undefined
  const isCount = words.take(/ (?:how many|count|number of) /i) !== undefined
  const isBack = words.take(/ of (?:them|those|these) /i) !== undefined
  const [place] = words.take(placed) ?? []
  const word = words.take(superlative)?.[0]?.toLowerCase()
  const noun = words.take(/ (files?|folders?|directories|ls|dir) /i)?.[0]?.toLowerCase()
  const [kind, unknown] = words.left()
  const pattern = kind?.startsWith('.') ? `*${kind}` : kinds.get(kind?.toLowerCase() ?? '')?.pattern
  const folders = noun?.startsWith('fo') || noun === 'directories' || undefined
  if (unknown !== undefined || (kind !== undefined && (pattern === undefined || folders))) return undefined
  const set = { path: pathOf(words.unquote(place ?? '')), ...withoutUndefined({ pattern, folders }) }
  const ask = (more: JsonObject): Question => ({ tool: 'list_files', args: { ...set, ...more }, tell: tellFiles })
  if (word !== undefined) {
    if (isCount || isLines || folders || (noun !== undefined && isBack)) return undefined
    if (noun !== undefined) return ask(orderOf(word))
    if (place !== undefined || kind !== undefined) return undefined
    return { tool: 'list_files', args: (before) => argsLike(before, orderOf(word)), tell: tellFiles }
  }
  if (isLines && !isCount && !isBack && !folders) return ask({ lines: true, limit: 1 })
  return isBack || isLines || (noun === undefined && !isLook) ? undefined : ask({ limit: isCount ? 1 : 40 })
}

/** Returns the arguments that select the same files as the previous call. */
function argsLike(before: MadeCall | undefined, more: JsonObject): JsonObject | Unresolved {
  if (before?.tool !== 'list_files' || before.args.folders === true) return "I don't know which files you mean"
  const { path = '.', pattern } = before.args
  return { path, ...withoutUndefined({ pattern }), ...more }
}

/** Reads requests to show, measure or find a named file. */
export function readFile(words: Words): Question | undefined {
  const [first, count] = words.take(/ (first)(?: (\d+))? lines?(?= (?:of|in|from) )/i) ?? []
  const [ask = ''] = words.take(/ (how long|how many lines|length|how big|how large|size|where|find|read|cat|open|print|say) /i) ?? []
  const isFind = /where|find/i.test(ask)
  const [file] = words.take(named) ?? (isFind ? words.take(/ ([A-Z]{4,}) /) : undefined) ?? []
  if (file === undefined || words.left().length > 0) return undefined
  const path = isFind && /^[a-z]+$/i.test(file) ? `${file.toUpperCase()}*` : pathOf(words.unquote(file))
  if (isFind) return { tool: 'list_files', args: { path: '.', pattern: path, limit: 40 }, tell: tellFiles }
  const word = /big|large|size/i.test(ask) ? 'largest' : /how|length/i.test(ask) ? 'longest' : undefined
  if (word !== undefined) return { tool: 'list_files', args: { path, ...orderOf(word) }, tell: tellFiles }
  const to = Number(count ?? (first === undefined ? 40 : 1))
  return to < 1 ? undefined : { tool: 'read_file', args: { path, to }, tell: tellText }
}

const tellText: Question['tell'] = (result) => {
  if (!isJsonObject(result) || typeof result.text !== 'string') return undefined
  const { path, from, to, totalLines, text } = result
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)))
  if (text === '') return `${String(path)} is empty.`
  return `${String(path)}, lines ${String(from)} to ${String(to)} of ${String(totalLines)}:\n\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`
}

const term = '(?:(?:word|text|string) )?(\uE000\\d+\uE001|[^\\s,]+)'
const mention = '(?:which|what|list|find|show|how many|count) files (?:that )?(?:mentions?|contains?|uses?|imports?)'
/** Matches an unquoted search term, which must look like code. `README` is the name of a file. */
const code = '(?=\\S*(?:[a-z][A-Z]|_|[A-Z]{2}[a-z])|(?:TODO|FIXME) )[^\\s,.]+'
const searches = [
  new RegExp(` (?:${mention}|(?:search|grep|look)(?: for)?) ${term}(?: ${inside})? $`, 'i'),
  new RegExp(` (?:[Ff]ind|[Ww]here is) (\uE000\\d+\uE001|${code})(?: used)?(?: ${inside})? $`),
]
/** Words that are searched only if they are quoted. Without quotes, they belong to the grammar or to another kind of search. */
const noTerm = /^(?:it|that|this|them|something|anything|web|internet|google|online|files?|folders?|me|for)$/i

/** Reads requests to search for a text. */
export function readSearch(words: Words): Question | undefined {
  const [query, place] = searches.map((pattern) => words.take(pattern)).find((found) => found !== undefined) ?? []
  if (query === undefined || noTerm.test(query) || words.left().length > 0) return undefined
  const args = { query: words.unquote(query), path: pathOf(words.unquote(place ?? '')), limit: 20 }
  return { tool: 'search_files', args, tell: tellMatches }
}

const tellMatches: Question['tell'] = (result, { query, path }) => {
  if (!isJsonObject(result) || typeof result.count !== 'number' || !Array.isArray(result.matches)) return undefined
  const { count, files } = result
  const where = count === 0 ? 'nowhere' : `on ${plural(count, 'line')} in ${plural(Number(files), 'file')}`
  const head = `“${String(query)}” is found ${where} ${inPlace(path)}${count === 0 ? '.' : ':'}`
  const lines = result.matches.filter(isItem).map((match) => `${match.path}:${String(match.line)}: ${excerpt(String(match.text), 120)}`)
  return bullets(typeof result.note === 'string' ? `${head} (${result.note})` : head, lines, count)
}
