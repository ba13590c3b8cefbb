import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { keepShape } from '../../core/v8/keep-shape.ts'

/** A text in a parsed value, by where it stands. */
export interface TextPlace {
  in: JsonObject
  key: string
}

/** An event that was parsed, and the JSON around what changes in it: one text, and behind it any number of numbers. */
interface Template {
  before: string
  /** Between the text and the first number, the numbers, and the last one and the end. */
  after: readonly string[]
  value: JsonObject
  text: TextPlace
  numbers: readonly TextPlace[]
}

/** What can't stand in a JSON text as it is: https://www.rfc-editor.org/rfc/rfc8259#section-7 */
const special = /["\\\p{Cc}]/u
/** Whole numbers that are exact in a double, as values of an object. */
const wholeNumber = /(?<=":)(0|[1-9]\d{0,14})(?=[,}])/
/** Beyond so many events in a row that are like no other, only every so many-th is compared. */
const patience = 8

/**
 * Parses the events of a stream, nearly all of which differ from the one before in a text and perhaps some counts: what stands around
 * those is compared, and only they are read. Any other event is parsed whole, so that the result is always what `JSON.parse` gives.
 */
export class JsonTemplate {
  readonly #find: (value: JsonObject) => TextPlace | undefined
  #known: Template | undefined
  /** What stood behind the text of the last event that was parsed whole: text and numbers in turn. */
  #behind: readonly string[] = []
  #misses = 0
  #unlike = 0

  /** `find` tells where the text that changes stands in a parsed event. */
  constructor(find: (value: JsonObject) => TextPlace | undefined) {
    this.#find = find
  }

  /** The value of `data`; the next call may use its objects again. Throws what `JSON.parse` throws. */
  parse(data: string): unknown {
    const isWorthTrying = this.#unlike < patience || this.#unlike % patience === 0
    if (this.#known !== undefined && isWorthTrying && fill(this.#known, data)) {
      this.#unlike = 0
      return this.#known.value
    }
    this.#unlike++
    const value: unknown = JSON.parse(data)
    if (isWorthTrying && isJsonObject(value)) this.#learn(data, value)
    return value
  }

  #learn(data: string, value: JsonObject): void {
    const place = this.#find(value)
    const text = place?.in[place.key]
    if (typeof text !== 'string' || text === '') return
    const quoted = JSON.stringify(text)
    const at = data.lastIndexOf(quoted)
    if (at === -1) return
    this.#misses++
    // Ever more rarely, for streams in which no two events are alike.
    if ((this.#misses & (this.#misses - 1)) !== 0) return
    const earlier = this.#behind
    this.#behind = data.slice(at + quoted.length - 1).split(wholeNumber)
    this.#known = templateOf(data.slice(0, at + 1), withoutConstants(this.#behind, earlier), this.#find) ?? this.#known
  }
}

/** The pieces between the numbers that changed; where the two have not the same form, none is known to change. */
function withoutConstants(behind: readonly string[], earlier: readonly string[]): string[] {
  const isAlike = behind.length === earlier.length && behind.every((piece, at) => at % 2 === 1 || piece === earlier[at])
  const pieces = ['']
  for (const [at, piece] of behind.entries()) {
    if (at % 2 === 1 && isAlike && piece !== earlier[at]) pieces.push('')
    else pieces.push((pieces.pop() ?? '') + piece)
  }
  return pieces
}

/** Undefined when it is another text that stands between the two: the same words may come elsewhere in an event. */
function templateOf(before: string, after: readonly string[], find: (value: JsonObject) => TextPlace | undefined): Template | undefined {
  const text = 'what stands between'
  const marks = after.slice(1).map((_, at) => 900_000_000_000_001 + at)
  let value: unknown
  try {
    value = JSON.parse(`${before}${text}${after.map((piece, at) => `${piece}${marks[at] ?? ''}`).join('')}`)
  } catch {
    return undefined
  }
  const place = isJsonObject(value) ? find(value) : undefined
  if (!isJsonObject(value) || place?.in[place.key] !== text) return undefined
  const numbers = marks.flatMap((mark) => placesOf(value, mark))
  return numbers.length === marks.length ? { before, after, value, text: place, numbers } : undefined
}

function placesOf(value: Json, mark: number): TextPlace[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap((item) => placesOf(item, mark))
  return Object.entries(value).flatMap(([key, item]) => (item === mark ? [{ in: value, key }] : placesOf(item, mark)))
}

const counts: number[] = []

/** Puts what `data` has in the template's places; false, and nothing changed, when it is another event. */
function fill({ before, after, text, numbers }: Template, data: string): boolean {
  // Slices, because comparing two strings is several times as fast as `startsWith`.
  if (data.slice(0, before.length) !== before) return false
  const end = closingQuote(data, before.length)
  let at = end
  for (let n = 0; n < after.length; n++) {
    const piece = after[n] ?? ''
    if (data.slice(at, at + piece.length) !== piece) return false
    at += piece.length
    if (n === numbers.length) break
    const start = at
    let count = 0
    for (let digit = data.charCodeAt(at) - 48; digit >= 0 && digit <= 9; digit = data.charCodeAt(at) - 48) {
      count = count * 10 + digit
      at++
    }
    if (at === start || at - start > 15 || (at - start > 1 && data.charCodeAt(start) === 48)) return false
    counts[n] = count
  }
  const told = at === data.length ? unquoted(data.slice(before.length, end)) : undefined
  if (told === undefined) return false
  text.in[text.key] = told
  for (let n = 0; n < numbers.length; n++) {
    const place = numbers[n]
    if (place !== undefined) place.in[place.key] = counts[n] ?? 0
  }
  return true
}

/** Where the text that begins at `from` ends: at a quote that is not escaped, or behind the data. */
function closingQuote(data: string, from: number): number {
  for (let at = data.indexOf('"', from); at !== -1; at = data.indexOf('"', at + 1)) {
    let first = at
    while (first > from && data.charCodeAt(first - 1) === 92) first--
    if ((at - first) % 2 === 0) return at
  }
  return data.length
}

/** Undefined when it is not the inside of one text: then the event only looks like the others. */
function unquoted(inside: string): string | undefined {
  if (!special.test(inside)) return inside
  try {
    return JSON.parse(`"${inside}"`)
  } catch {
    return undefined
  }
}

keepShape(JsonTemplate)
