import { isJsonObject, type Json, type JsonObject } from '../../../messages.ts'
import type { FileRef, Formula, Page, Quantity, Range, Search } from '../intents.ts'
import { showNumber } from './amounts.ts'
import { type Cabinet, searchArguments, sizeOf } from './cabinet.ts'
import { emptyFact } from './describe.ts'
import { all, andThen, failed, knownAs, none, type Outcome } from './outcome.ts'

/** A number, and whether it is only the least it can be. */
export interface Amount {
  value: number
  isLeast?: boolean
  /** Digits a JavaScript number would lose. */
  exact?: string
}

/** Finds out a number, through the desk. */
export function measure(quantity: Quantity, cabinet: Cabinet): Outcome<Amount> {
  switch (quantity.of) {
    case 'literal':
      return knownAs({ value: quantity.value })
    case 'count':
      return andThen(cabinet.filesOf(quantity.set, false), ({ count, isWhole }) =>
        knownAs(isWhole ? { value: count } : { value: count, isLeast: true }),
      )
    case 'total':
    case 'average':
      return measureSet(quantity, cabinet)
    case 'file':
      return measureFile(quantity.file, quantity.measure, cabinet)
    case 'search':
      return andThen(searchFor(quantity.search, cabinet), (found) => countMatches(found, quantity.unit))
    case 'page':
      return andThen(fetchPage(quantity.page, cabinet), (page) => measurePage(page, quantity.measure))
    case 'call':
      return andThen(cabinet.desk.ask(quantity.call.turn, quantity.call.tool, quantity.call.args), ({ value, text }) => {
        const number = numberIn(value ?? text)
        return number === undefined
          ? failed(`The result of \`${quantity.call.tool}\` is not a number I could calculate with.`)
          : knownAs({ value: number })
      })
    case 'sum':
      return andThen(all(quantity.items.map((item) => measure(item, cabinet))), (amounts) =>
        knownAs({
          value: amounts.reduce((total, { value }) => total + value, 0),
          isLeast: amounts.some(({ isLeast }) => isLeast === true),
        }),
      )
    case 'formula':
      return andThen(calculate(quantity.formula, cabinet), ({ result }) => knownAs(result))
  }
}

function measureSet({ of, set, measure }: Extract<Quantity, { of: 'total' | 'average' }>, cabinet: Cabinet): Outcome<Amount> {
  return andThen(cabinet.filesOf(set, measure === 'lines'), ({ count, isWhole, totalLines, totalBytes }) => {
    if (count === 0) return none(emptyFact(set))
    const total = measure === 'lines' ? totalLines : totalBytes
    const value = of === 'average' ? total / count : total
    return knownAs(isWhole ? { value } : { value, isLeast: true })
  })
}

function measureFile(file: FileRef, wanted: Extract<Quantity, { of: 'file' }>['measure'], cabinet: Cabinet): Outcome<Amount> {
  if (wanted === 'words' || wanted === 'characters') {
    return andThen(readFile(file, undefined, cabinet), ({ text, isCut }) =>
      knownAs({ value: wanted === 'words' ? countWords(text) : [...text].length, ...(isCut ? { isLeast: true } : {}) }),
    )
  }
  return andThen(cabinet.fileOf(file, wanted === 'lines'), (found) =>
    wanted === 'lines' && found.lines === undefined
      ? failed(`${found.path} is not a text file, so its lines can't be counted.`)
      : knownAs({ value: sizeOf(found, wanted) }),
  )
}

function countWords(text: string): number {
  return text.match(/\S+/g)?.length ?? 0
}

/** Some lines of a file. */
export interface FileText {
  path: string
  from: number
  to: number
  totalLines: number
  text: string
  isCut: boolean
}

const mostLinesShown = 200

/** A file's text: some lines of it, or all of it for counting (`range` undefined), up to 40 000 bytes. */
export function readFile(file: FileRef, range: Range | 'shown' | undefined, cabinet: Cabinet): Outcome<FileText> {
  const turn = turnOf(file)
  const path: Outcome<string> =
    file.by === 'name' ? knownAs(file.name) : andThen(cabinet.fileOf(file, false), (found) => knownAs(found.path))
  return andThen(path, (at) => {
    const read = readLines(at, range, turn, cabinet)
    if (read.is !== 'failed' || file.by !== 'name' || file.name.includes('/')) return read
    // Not at the top: perhaps it is the only file of that name somewhere below.
    const elsewhere = cabinet.fileOf(file, false)
    return elsewhere.is === 'none'
      ? read
      : andThen(elsewhere, (found) => (found.path === at ? read : readLines(found.path, range, turn, cabinet)))
  })
}

/** Reads by path. The last lines can only be asked for once it is known how many there are. */
function readLines(path: string, range: Range | 'shown' | undefined, turn: number, cabinet: Cabinet): Outcome<FileText> {
  const ask = (args: JsonObject) => andThen(cabinet.desk.askForObject(turn, 'read_file', { path, ...args }), readText)
  if (range === undefined) return ask({ maxBytes: 40_000 })
  if (range === 'shown') return ask({ to: mostLinesShown })
  if ('from' in range) return ask({ from: range.from, to: range.to })
  return andThen(ask({ from: 1, to: 1 }), ({ totalLines }) =>
    ask({ from: Math.max(totalLines - range.last + 1, 1), to: Math.max(totalLines, 1) }),
  )
}

function readText({ path, from, to, totalLines, text, truncated }: JsonObject): Outcome<FileText> {
  if (typeof path !== 'string' || typeof text !== 'string') return failed('`read_file` answered with something that is no text of a file.')
  const first = typeof from === 'number' ? from : 1
  const lines = text.split('\n').length
  return knownAs({
    path,
    text,
    from: first,
    to: typeof to === 'number' ? to : first + lines - 1,
    totalLines: typeof totalLines === 'number' ? totalLines : lines,
    isCut: truncated === true,
  })
}

/** The message that spoke of a file first. */
function turnOf(file: FileRef): number {
  return file.by === 'comparison' ? Math.max(...file.files.map(turnOf)) : file.set.turn
}

/** What `search_files` found. */
export interface Found {
  /** Matching lines and files, also those not shown. */
  lines: number
  files: number
  matches: { path: string; line: number; text: string }[]
  /** How often the text itself occurs; undefined when not all lines are there to count in. */
  times?: number
}

/** What a search has found, through the desk. */
export function searchFor(search: Search, cabinet: Cabinet): Outcome<Found> {
  return andThen(cabinet.desk.askForObject(search.turn, 'search_files', searchArguments(search)), ({ count, files, matches }) => {
    if (typeof count !== 'number' || !Array.isArray(matches)) return failed('`search_files` answered without a list of matches.')
    const shown = matches.flatMap(readMatch)
    const distinct = new Set(shown.map(({ path }) => path)).size
    const found: Found = { lines: count, files: typeof files === 'number' ? files : distinct, matches: shown }
    // A line of which only a part is shown may hold more of them than are seen.
    const isWhole = shown.length === count && shown.every(({ text }) => text.length < 490)
    return knownAs(
      isWhole && !search.regex ? { ...found, times: shown.reduce((sum, { text }) => sum + occurrences(text, search), 0) } : found,
    )
  })
}

function readMatch(match: Json): Found['matches'] {
  if (!isJsonObject(match) || typeof match.path !== 'string') return []
  const { path, line, text } = match
  return [{ path, line: typeof line === 'number' ? line : 0, text: typeof text === 'string' ? text : '' }]
}

/** How often the text is in a line; at least once, for the tool has found it there. */
function occurrences(text: string, { query, ignoreCase }: Search): number {
  const [within, wanted] = ignoreCase ? [text.toLowerCase(), query.toLowerCase()] : [text, query]
  return Math.max(within.split(wanted).length - 1, 1)
}

function countMatches(found: Found, unit: 'times' | 'lines' | 'files'): Outcome<Amount> {
  if (unit === 'files') return knownAs({ value: found.files })
  if (unit === 'lines') return knownAs({ value: found.lines })
  return knownAs(found.times === undefined ? { value: found.lines, isLeast: true } : { value: found.times })
}

/** What `fetch_url` brought. */
export interface FetchedPage {
  url: string
  status?: number
  contentType: string
  text: string
  bytes?: number
  isCut: boolean
}

/** What is at an address, through the desk. */
export function fetchPage(page: Page, cabinet: Cabinet): Outcome<FetchedPage> {
  return andThen(
    cabinet.desk.askForObject(page.turn, 'fetch_url', { url: page.url }),
    ({ url, status, contentType, text, bytes, truncated }) => {
      if (typeof text !== 'string') return failed('`fetch_url` answered without a text.')
      return knownAs({
        url: typeof url === 'string' ? url : page.url,
        contentType: typeof contentType === 'string' ? contentType : '',
        text,
        isCut: truncated === true,
        ...(typeof status === 'number' ? { status } : {}),
        ...(typeof bytes === 'number' ? { bytes } : {}),
      })
    },
  )
}

function measurePage({ text, bytes, isCut }: FetchedPage, wanted: 'words' | 'characters' | 'lines' | 'bytes'): Outcome<Amount> {
  const value =
    wanted === 'words'
      ? countWords(text)
      : wanted === 'characters'
        ? [...text].length
        : wanted === 'lines'
          ? text.replace(/\n$/, '').split('\n').length
          : (bytes ?? Buffer.byteLength(text))
  return knownAs(isCut ? { value, isLeast: true } : { value })
}

/** The number a result is: itself, or the only one it has. */
function numberIn(value: Json): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'string') return value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : undefined
  if (!isJsonObject(value)) return undefined
  const named = ['result', 'value', 'total', 'count', 'answer'].map((name) => value[name]).find((item) => typeof item === 'number')
  if (typeof named === 'number') return named
  const numbers = Object.values(value).filter((item) => typeof item === 'number')
  return numbers.length === 1 ? numbers[0] : undefined
}

/** An expression and what it comes to. */
export interface Calculated {
  /** The expression with earlier results put in. */
  shown: string
  result: Amount
}

/** Long results are texts, so that no digit is lost; whole ones are shown as they are. */
export function showResult({ value, exact }: Amount): string {
  return exact !== undefined && /^-?\d+$/.test(exact) ? exact : showNumber(value)
}

/** Has an expression calculated, once its operands are known. */
export function calculate(formula: Formula, cabinet: Cabinet): Outcome<Calculated> {
  return andThen(expressionOf(formula, formula.turn, cabinet), (expression) =>
    andThen(cabinet.desk.askForObject(formula.turn, 'calculate', { expression }), ({ result }): Outcome<Calculated> => {
      const value = typeof result === 'string' ? Number(result) : result
      if (typeof value !== 'number' || Number.isNaN(value)) return failed(`\`calculate\` answered without a number for ${expression}.`)
      const amount: Amount = { value, ...(typeof result === 'string' ? { exact: result } : {}) }
      return andThen(shownExpression(formula, cabinet), (shown) => knownAs({ shown, result: amount }))
    }),
  )
}

/** As it is told: with the results of earlier steps instead of how they came about. */
function shownExpression(formula: Formula, cabinet: Cabinet): Outcome<string> {
  const parts = formula.parts.map((part): Outcome<string> => {
    if (typeof part === 'string') return knownAs(part)
    return part.of === 'literal'
      ? knownAs(part.text)
      : andThen(measure(part, cabinet), (found) => knownAs(found.value < 0 ? `(${showResult(found)})` : showResult(found)))
  })
  return andThen(all(parts), (texts) => knownAs(texts.join('')))
}

/** A result of the same message is written out in full: its steps are then calculated side by side, not one after another. */
function expressionOf(formula: Formula, turn: number, cabinet: Cabinet): Outcome<string> {
  const parts = formula.parts.map((part): Outcome<string> => {
    if (typeof part === 'string') return knownAs(part)
    if (part.of === 'literal') return knownAs(part.text)
    if (part.of === 'formula' && part.formula.turn === turn) {
      return andThen(expressionOf(part.formula, turn, cabinet), (text) => knownAs(formula.parts.length === 1 ? text : `(${text})`))
    }
    return andThen(measure(part, cabinet), ({ value, exact }) => knownAs(value < 0 ? `(${exact ?? value})` : (exact ?? String(value))))
  })
  return andThen(all(parts), (texts) => knownAs(texts.join('')))
}
