import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { describeSet, everything, type FileSet, globOf, placeOf, readBareFolder, readPlace, readSet } from './file-sets.ts'
import { frame, Phrase } from './phrase.ts'
import { type Desk, deadEnd, type KnownFile, type Plan, type Reader, type Reading, readerOf, type Told, unreadable } from './plans.ts'

/** What `list_files` says. */
export function listFiles(desk: Desk, args: JsonObject): { count: number; totalBytes: number; totalLines: number; files: KnownFile[] } {
  const { count, totalBytes, totalLines, files } = desk.object('list_files', args)
  if (typeof count !== 'number' || !Array.isArray(files)) throw unreadable('list_files')
  const numberOr0 = (value: Json | undefined) => (typeof value === 'number' ? value : 0)
  return { count, totalBytes: numberOr0(totalBytes), totalLines: numberOr0(totalLines), files: files.filter(isKnownFile) }
}

function isKnownFile(value: Json): value is JsonObject & KnownFile {
  return isJsonObject(value) && typeof value.path === 'string' && typeof value.bytes === 'number'
}

function argsOf(set: FileSet, more: JsonObject): JsonObject {
  const pattern = globOf(set)
  return { path: set.folder, ...(pattern === undefined ? {} : { pattern }), ...(set.isFolders ? { folders: true } : {}), ...more }
}

const maxListed = 40

function bullets(files: readonly KnownFile[], count: number): string[] {
  return [...files.map(({ path }) => `- ${path}`), ...(count > files.length ? [`… and ${count - files.length} more.`] : [])]
}

type SetPlan = (set: FileSet) => Plan

const tellSet =
  (form: 'count' | 'exists' | 'list'): SetPlan =>
  (set) =>
  (desk) => {
    const { count, files } = listFiles(desk, argsOf(set, { limit: form === 'list' ? maxListed : 1 }))
    const said = `here ${count === 1 ? 'is' : 'are'} ${describeSet(set, count)}`
    if (form === 'exists') return { text: `${count === 0 ? 'No' : 'Yes'}, t${said}.` }
    if (count === 0) return { ...none(set), number: '0' }
    if (form === 'count') return { text: `T${said}.`, number: String(count) }
    return { text: [`T${said}:`, ...bullets(files, count)].join('\n'), number: String(count), files }
  }

function none(set: FileSet): Told {
  return deadEnd(`There are ${describeSet(set, 0)}.`)
}

/** What lies directly in a folder, as `ls` shows it. */
function look(folder: string | undefined): Reading | undefined {
  if (folder === undefined) return undefined
  const plan: Plan = (desk) => {
    const here: JsonObject = { path: folder, recursive: false, limit: maxListed }
    const [folders, { count, files }] = [listFiles(desk, { ...here, folders: true }), listFiles(desk, here)]
    const counted = `${plural(folders.count, 'folder')} and ${plural(count, 'file')}`
    const shown = [...folders.files.map(({ path }) => `- ${path}/`), ...bullets(files, count)]
    return { text: [`${folder === '.' ? 'This folder' : folder} has ${counted}:`, ...shown].join('\n'), number: String(count), files }
  }
  return { plan, again: (phrase) => look(readPlace(phrase) ?? readBareFolder(phrase)) }
}

const total =
  (measure: 'lines' | 'bytes'): SetPlan =>
  (set) =>
  (desk) => {
    const { count, totalBytes, totalLines } = listFiles(desk, argsOf(set, { ...(measure === 'lines' ? { lines: true } : {}), limit: 1 }))
    if (count === 0) return none(set)
    const amount = measure === 'lines' ? plural(totalLines, 'line') : showBytes(totalBytes)
    const text = `The ${describeSet(set, count)} ${count === 1 ? 'has' : 'have'} ${amount} in total.`
    return { text, number: String(measure === 'lines' ? totalLines : totalBytes) }
  }

/** The first few files of an order: `the 3 longest`, `the largest`. */
export interface Best {
  set: FileSet
  sort: 'lines' | 'size' | 'modified'
  order: 'asc' | 'desc'
  /** As it is said: `longest`. */
  word: string
  count: number
}

const orders = new Map<string, Pick<Best, 'sort' | 'order'>>([
  ['longest', { sort: 'lines', order: 'desc' }],
  ['shortest', { sort: 'lines', order: 'asc' }],
  ['largest', { sort: 'size', order: 'desc' }],
  ['biggest', { sort: 'size', order: 'desc' }],
  ['smallest', { sort: 'size', order: 'asc' }],
  ['newest', { sort: 'modified', order: 'desc' }],
  ['latest', { sort: 'modified', order: 'desc' }],
  ['oldest', { sort: 'modified', order: 'asc' }],
])
const leading = /^(what|which|list|show|find|display|is|are|top|of|one|ones|it|them)$/

/** Reads `the 3 longest TypeScript files in src`, `which file has the most lines`; what isn't said is as in `before`. */
export function readBest(phrase: Phrase, before: FileSet | undefined): Best | undefined {
  const words = phrase.tokens
  const at = words.findIndex(({ form }) => orders.has(form))
  const word = words[at]?.form ?? ''
  const order = orders.get(word)
  if (order === undefined) return undefined
  const numberAt = words.findIndex(({ form }, index) => /^\d+$/.test(form) && index < at)
  const count = numberAt === -1 ? 1 : Number(words[numberAt]?.form)
  const rest = words.filter((_, index) => index !== at && index !== numberAt)
  const from = rest.findIndex(({ form }) => !leading.test(form))
  const set = from === -1 ? before : readSet(new Phrase(rest.slice(from)), before)
  if (set === undefined || set.isFolders || count < 1 || count > 100) return undefined
  return { set, ...order, word, count }
}

/** The files that are wanted; of one that is wanted all that are equal to it. */
export function findBest(desk: Desk, { set, sort, order, count }: Best): KnownFile[] {
  const { files } = listFiles(desk, argsOf(set, { ...(sort === 'lines' ? { lines: true } : {}), sort, order, limit: count + 9 }))
  const measured = sort === 'lines' ? files.filter(({ lines }) => lines !== undefined) : files
  const chosen = measured.slice(0, count)
  const [first] = chosen
  const isSame = (file: KnownFile) => first !== undefined && showMeasure(file, sort) === showMeasure(first, sort)
  return count === 1 ? measured.filter(isSame) : chosen
}

const best =
  (wanted: Best): SetPlan =>
  (set) =>
  (desk) => {
    const { sort, count, word } = wanted
    const files = findBest(desk, { ...wanted, set })
    const [first] = files
    if (first === undefined) return none(set)
    const kind = `${`${set.label} file`.trim()}${files.length > 1 ? 's' : ''} ${placeOf(set.folder)}`
    const which = `The ${count > 1 ? `${files.length} ` : ''}${word} ${kind}`
    const number = sort === 'lines' ? first.lines : sort === 'size' ? first.bytes : undefined
    const told = { files, ...(number === undefined ? {} : { number: String(number) }) }
    if (count > 1)
      return { ...told, text: [`${which}:`, ...files.map((file, at) => `${at + 1}. ${file.path}, ${showMeasure(file, sort)}`)].join('\n') }
    const paths = files.slice(0, 9).map(({ path }) => path)
    const names = joinAnd(files.length > paths.length ? [...paths, 'others'] : paths)
    return {
      ...told,
      text: `${which} ${files.length === 1 ? 'is' : 'are'} ${names}, ${showMeasure(first, sort)}${files.length === 1 ? '' : ' each'}.`,
    }
  }

function showMeasure({ lines = 0, bytes = 0, modified }: KnownFile, sort: Best['sort']): string {
  return sort === 'lines' ? plural(lines, 'line') : sort === 'size' ? showBytes(bytes) : `changed ${showDate(modified)}`
}

/** The reading of a set, and how it goes on: `and in tests?`. */
function about(set: FileSet | undefined, planFor: SetPlan): Reading | undefined {
  if (set === undefined) return undefined
  const again = (phrase: Phrase) => {
    const folder = set.folder === '.' ? undefined : readBareFolder(phrase)
    return about(folder === undefined ? readSet(phrase.match(frame('REST files?'))?.rest ?? phrase, set) : { ...set, folder }, planFor)
  }
  return { plan: planFor(set), set, again }
}

/** A set, or all files of a folder that is named without `in`: `size of src`. */
function readWhole(phrase: Phrase | undefined, isLoose: boolean): FileSet | undefined {
  const folder = phrase && readBareFolder(phrase)
  return folder === undefined ? phrase && readSet(phrase, undefined, isLoose) : { ...everything, folder }
}

function readBestOf(phrase: Phrase, before: Reading | undefined): Reading | undefined {
  const wanted = readBest(phrase, before?.set)
  return wanted && about(wanted.set, best(wanted))
}

/** Questions about many files: how many, which, the longest of them, their size together. */
export const readFiles: Reader = readerOf(
  [
    `ls|dir|list|(?:list|show|what|which) files(?: are)?(?: in this (?:folder|directory))?
    what is in this (?:folder|directory)`,
    () => look('.'),
  ],
  ['(?:ls|dir|(?:what is|look) (?:in|inside|under)) PLACE', ({ place }) => look(place && readBareFolder(place))],
  [
    `(?:which|what) REST (?:has|have|with) (?<word>most|fewest|least) lines
    (?:which|what) REST (?:was |were )?(?:(?:last|most recently) )?(?<word>changed|modified|edited|updated)(?: last| most recently)?`,
    ({ rest, word }, before) => {
      const superlative = { most: 'longest', fewest: 'shortest', least: 'shortest' }[word?.text ?? ''] ?? 'newest'
      return rest && readBestOf(new Phrase([{ raw: superlative, form: superlative, start: 0 }, ...rest.tokens]), before)
    },
  ],
  ['REST', ({ rest }, before) => rest && readBestOf(rest, before)],
  [
    `(?:how many|count|(?:what is )?total)(?: number of)? lines(?: of| in)? REST`,
    ({ rest }) => about(readWhole(rest, true), total('lines')),
  ],
  [
    '(?:how many|count|(?:what is )?(?:total )?(?:number|count) of) REST',
    ({ rest }, before) => about(rest && readSet(rest, before?.set), tellSet('count')),
  ],
  ['how long (?:is|are) REST', ({ rest }) => about(readWhole(rest, false), total('lines'))],
  [
    '(?:(?:what is )?(?:total )?size of|how (?:big|large) (?:is|are)|total size) REST',
    ({ rest }) => about(readWhole(rest, false), total('bytes')),
  ],
  [
    '(?:is|are|do you have|do we have|do you see|does PROJECT (?:have|contain)) REST',
    ({ rest }) => {
      const set = rest && readSet(rest)
      return set && globOf(set) !== undefined ? about(set, tellSet('exists')) : undefined
    },
  ],
  [
    '(?:list|ls|show|what|which|what are|display|print|find|see|where are|search for) REST',
    ({ rest }) => about(rest && readSet(rest), tellSet('list')),
  ],
)

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `17252 bytes (16.8 KB)` */
export function showBytes(bytes: number): string {
  const power = Math.min(3, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${plural(bytes, 'byte')}${power === 0 ? '' : ` (${(bytes / 1024 ** power).toFixed(1)} ${['', 'KB', 'MB', 'GB'][power]})`}`
}

export function showDate(iso = ''): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(iso) ? `on ${iso.slice(0, 10)} at ${iso.slice(11, 16)} UTC` : 'at an unknown time'
}

export function joinAnd(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}
