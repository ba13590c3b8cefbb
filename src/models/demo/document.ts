import type { JsonObject } from '../../core/messages.ts'
import { type Best, findBest, joinAnd, listFiles, plural, readBest, showBytes, showDate } from './files.ts'
import { bareNames, frame, type Phrase } from './phrase.ts'
import {
  type Desk,
  deadEnd,
  excerpt,
  firstOf,
  type KnownFile,
  type Plan,
  type Reader,
  type Reading,
  readerOf,
  Stopped,
  unreadable,
} from './plans.ts'

/** A file by its name, one that was told of before (`index` among them), or the first of an order. */
type FileRef = { by: 'name'; name: string } | { by: 'told'; index: number } | { by: 'order'; best: Best }

const ordinals = ['first', 'second', 'third', 'fourth', 'fifth']

/** What isn't named is the file told of last. */
function readRef(phrase: Phrase | undefined, before: Reading | undefined): FileRef | undefined {
  if (phrase === undefined || phrase.match(frame('it|that|this|(?:that|this) (?:file|one)'))) return { by: 'told', index: 0 }
  const { ordinal } = phrase.match(frame(`(?<ordinal>${ordinals.join('|')}|last) (?:one|file)`)) ?? {}
  if (ordinal !== undefined) return { by: 'told', index: ordinals.indexOf(ordinal.text) }
  const { name } = phrase.match(frame(`(?:file )?(?:called |named )?(?<name><file>|<filetext>|${bareNames})(?: file)?`)) ?? {}
  if (name !== undefined) return { by: 'name', name: name.raw.replace(/^\.\/(?=.)/, '') }
  const best = readBest(phrase, before?.set)
  return best?.count === 1 ? { by: 'order', best } : undefined
}

/** The file that is meant, with its lines counted where it has some. */
function locate(desk: Desk, ref: FileRef): KnownFile {
  if (ref.by === 'name' && ref.name.includes('/')) return byPath(desk, ref.name)
  if (ref.by === 'name') {
    const { files } = listFiles(desk, { path: '.', pattern: patternFor(ref.name), lines: true, limit: 50 })
    const depth = ({ path }: KnownFile) => path.split('/').length
    const [nearest] = files.toSorted((a, b) => depth(a) - depth(b))
    if (nearest === undefined) throw new Stopped('failed', `There is no file ${ref.name} in this project.`)
    return nearest
  }
  const file = ref.by === 'order' ? findBest(desk, ref.best)[0] : desk.lastFiles().at(ref.index)
  if (file === undefined) throw new Stopped('failed', 'There is no such file.')
  return file.lines === undefined ? byPath(desk, file.path) : file
}

function byPath(desk: Desk, path: string): KnownFile {
  const file = listFiles(desk, { path, lines: true }).files.find((each) => each.path === path)
  if (file === undefined) throw new Stopped('failed', `There is no file ${path}; it may be a folder.`)
  return file
}

/** A bare name stands for any ending and any case: `readme` for README.md. */
function patternFor(name: string): string {
  if (name.includes('.')) return name.replace(/[\\*?[\]{}()!+@|^$]/g, '\\$&')
  const lower = name.toLowerCase()
  const cases = [lower.toUpperCase(), lower, lower.charAt(0).toUpperCase() + lower.slice(1)]
  return `{${cases.flatMap((each) => [each, `${each}.*`]).join(',')}}`
}

const tellMeasure =
  (measure: string) =>
  (ref: FileRef): Plan =>
  (desk) => {
    const file = locate(desk, ref)
    const { path, lines, bytes = 0 } = file
    const files = [file]
    if (/change|modified|edited|updated/.test(measure)) return { text: `${path} was last changed ${showDate(file.modified)}.`, files }
    if (/byte|size|big|large/.test(measure)) return { text: `${path} has ${showBytes(bytes)}.`, number: String(bytes), files }
    if (lines === undefined) return { ...deadEnd(`${path} is not a text file; it has ${showBytes(bytes)}.`), files }
    if (!/word|char/.test(measure))
      return { text: `${path} has ${plural(lines, 'line')} and ${showBytes(bytes)}.`, number: String(lines), files }
    const { text, to, totalLines } = readLines(desk, { path })
    const count = /word/.test(measure) ? (text.match(/\S+/g)?.length ?? 0) : [...text].length
    const counted = `${path} has ${plural(count, /word/.test(measure) ? 'word' : 'character')}`
    if (to >= totalLines) return { text: `${counted}.`, number: String(count), files }
    return { text: `${counted} in its first ${to} lines; the other ${totalLines - to} are too long for me to read.`, files }
  }

function readLines(desk: Desk, args: JsonObject): { text: string; from: number; to: number; totalLines: number } {
  const { text, from, to, totalLines } = desk.object('read_file', args)
  const isWhole = typeof text === 'string' && typeof from === 'number' && typeof to === 'number' && typeof totalLines === 'number'
  if (!isWhole) throw unreadable('read_file')
  return { text, from, to, totalLines }
}

/** Lines from 1, both included; `last` counts from the end. */
type Range = { from: number; to: number } | { last: number }
const whole: Range = { from: 1, to: 200 }

const show =
  (range: Range) =>
  (ref: FileRef): Plan =>
  (desk) => {
    const file = locate(desk, ref)
    const { path, lines = whole.to } = file
    if (file.lines === 0) return { text: `${path} is empty.`, files: [file] }
    const { from, to } = 'last' in range ? { from: Math.max(1, lines - range.last + 1), to: lines } : range
    if (from > lines) return { ...deadEnd(`${path} has only ${plural(lines, 'line')}.`), files: [file] }
    const read = readLines(desk, { path, from, to: Math.min(to, lines) })
    // A fence longer than any in the text, so that the text can't end it.
    const fence = '`'.repeat(Math.max(3, ...[...read.text.matchAll(/`+/g)].map(([run]) => run.length + 1)))
    return {
      text: `${path}, lines ${read.from} to ${read.to} of ${read.totalLines}:\n\n${fence}\n${read.text.replace(/\n$/, '')}\n${fence}`,
      files: [file],
    }
  }

const tellPlace =
  (ref: FileRef): Plan =>
  (desk) => {
    const isBare = ref.by === 'name' && !ref.name.includes('/')
    const files = isBare ? listFiles(desk, { path: '.', pattern: patternFor(ref.name), limit: 20 }).files : [locate(desk, ref)]
    if (files.length === 0 && isBare) return deadEnd(`There is no file ${ref.name} in this project.`)
    return { text: `There is ${joinAnd(files.map(({ path }) => path))}.`, files }
  }

function about(phrase: Phrase | undefined, before: Reading | undefined, planFor: (ref: FileRef) => Plan): Reading | undefined {
  const ref = readRef(phrase, before)
  return ref && { plan: planFor(ref), again: (next) => about(next, before, planFor) }
}

function showLines(range: Range, file: Phrase | undefined, before: Reading | undefined): Reading | undefined {
  const isRange = 'last' in range ? range.last > 0 : range.from > 0 && range.to >= range.from
  return isRange ? about(file, before, show(range)) : undefined
}

const see = '(?:read|show|cat|open|print|display|view|see|dump|get|give)'
const unit = '(?:line|word|character|char|byte)s?'
const readFile = readerOf(
  [
    `how (?<measure>long|big|large) is FILE
    (?:what is |what are )?(?<measure>length|size|${unit} (?:count|length)) (?:of|for|in) FILE
    (?:what is )?(?:total )?(?:number|count) of (?<measure>${unit}) (?:of|in) FILE
    when (?:was|did) FILE (?:last )?(?<measure>modified|changed|edited|updated|change)(?: last)?
    how many (?<measure>${unit}) (?:of code |of text )?(?:does|do|are in|is in|in|are|has) FILE(?: have| has| contain)?
    (?:what is |how many is )?its (?<measure>length|size(?: in bytes)?|${unit} count|number of ${unit})
    (?:what is )?(?<file><file>|<filetext>|readme) (?<measure>length|size|${unit} count)`,
    ({ measure, file }, before) => about(file, before, tellMeasure(measure?.text ?? '')),
  ],
  [
    `(?:(?:${see}|what is|what are) )?(?<end>first|last|top|bottom)(?: (?<number>\\d+))? lines?(?: (?:of|from|in) FILE)?
    (?<end>head|tail)(?: - (?:n )?(?<number>\\d+))? FILE`,
    ({ end, number, file }, before) => showLines(rangeOf(end, number), file, before),
  ],
  [
    `(?:(?:${see}|what is) )?lines? (?<from>\\d+)(?: (?:to|-|through|until|and) (?<to>\\d+))?(?: (?:of|from|in) FILE)?`,
    ({ from, to, file }, before) => showLines({ from: Number(from?.text), to: Number((to ?? from)?.text) }, file, before),
  ],
  [
    `${see}(?: (?:contents?|text) of)? FILE
    what (?:is|are)(?: (?:contents? of|in|inside))+ FILE
    what does FILE (?:say|contain|look like)
    (?<file><file>|readme)`,
    ({ file }, before) => about(file, before, show(whole)),
  ],
  [
    '(?:where is|where can i find|find|locate|is|do you have|do we have|does PROJECT have|search for) NAMED',
    ({ file }, before) => about(file, before, tellPlace),
  ],
)

function rangeOf(end: Phrase | undefined, number: Phrase | undefined): Range {
  const count = number === undefined ? (/head|tail/.test(end?.text ?? '') ? 10 : 1) : Number(number.text)
  return /last|bottom|tail/.test(end?.text ?? '') ? { last: count } : { from: 1, to: count }
}

function page(named: Phrase | undefined, wantsText: boolean, before?: Reading): Reading | undefined {
  const url = named === undefined ? before?.url : /^https?:/i.test(named.raw) ? named.raw : `https://${named.raw}`
  if (url === undefined) return undefined
  const plan: Plan = (desk) => {
    const { text, status } = desk.object('fetch_url', { url })
    if (typeof text !== 'string') throw unreadable('fetch_url')
    // Of HTML the tool gives the readable text, its title first.
    const [, title, body = text] = /^Title: (.*)\n\n([\s\S]*)$/.exec(text) ?? []
    const titled = title === undefined ? `${url} has no title.` : `The title of ${url} is “${excerpt(title)}”.`
    return { text: wantsText ? `${url} answers with HTTP status ${String(status)}. ${titled}\n\n> ${excerpt(body, 600)}` : titled }
  }
  return { plan, url }
}

const readPage = readerOf(
  [
    '(?:(?:fetch|get|open|read|load|visit|show|download|go|check|curl|what is|page|website|content|of|at|from|to|in|on) )*(?<url><url>)',
    ({ url }) => page(url, true),
  ],
  ['(?:(?:fetch|get|show|read|what is) )*title (?:(?:of|page|website|at) )*(?<url><url>)', ({ url }) => page(url, false)],
  ['(?:what is |show )?its title', (_, before) => page(undefined, false, before)],
)

/** Questions about one file or web page: what it says, how long it is, where it is. */
export const readDocument: Reader = firstOf([readPage, readFile])
