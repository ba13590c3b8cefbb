import { isJsonObject, type JsonObject } from '../messages.ts'

/** A text in a parsed value, by where it stands. */
export interface TextPlace {
  in: JsonObject
  key: string
}

/** An event that was parsed, and the JSON before and after its text. */
interface Template {
  before: string
  after: string
  value: JsonObject
  place: TextPlace
}

/** What can't stand in a JSON text as it is: https://www.rfc-editor.org/rfc/rfc8259#section-7 */
const special = /["\\\p{Cc}]/u

/**
 * Parses the events of a stream, nearly all of which differ from the one before in a single text: what stands around it is compared, and
 * only the text itself is parsed. Any other event is parsed whole, so that the result is always what `JSON.parse` gives.
 */
export class JsonTemplate {
  readonly #find: (value: JsonObject) => TextPlace | undefined
  #known: Template | undefined
  #misses = 0
  /** Events in a row that were parsed whole. */
  #unlike = 0

  /** `find` tells where the text that changes stands in a parsed event. */
  constructor(find: (value: JsonObject) => TextPlace | undefined) {
    this.#find = find
  }

  /** The value of `data`; the next call may use its objects again. Throws what `JSON.parse` throws. */
  parse(data: string): unknown {
    const known = this.#known
    // Where no two events are alike, comparing them would only cost.
    const isWorthTrying = this.#unlike < 64 || this.#unlike % 64 === 0
    if (known !== undefined && isWorthTrying) {
      const { before, after, value, place } = known
      const end = data.length - after.length
      // Slices, because comparing two strings is several times as fast as `startsWith` and `endsWith`.
      if (end >= before.length && data.slice(0, before.length) === before && data.slice(end) === after) {
        const text = unquoted(data.slice(before.length, end))
        if (text !== undefined) {
          place.in[place.key] = text
          this.#unlike = 0
          return value
        }
      }
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
    this.#misses++
    // Ever more rarely, for streams in which no two events are alike.
    if ((this.#misses & (this.#misses - 1)) !== 0) return
    const quoted = JSON.stringify(text)
    const at = data.lastIndexOf(quoted)
    if (at !== -1) this.#known = templateOf(data.slice(0, at + 1), data.slice(at + quoted.length - 1), this.#find) ?? this.#known
  }
}

/** Undefined when it is another text that stands between the two: the same words may come elsewhere in an event. */
function templateOf(before: string, after: string, find: (value: JsonObject) => TextPlace | undefined): Template | undefined {
  const text = 'what stands between'
  let value: unknown
  try {
    value = JSON.parse(before + text + after)
  } catch {
    return undefined
  }
  const place = isJsonObject(value) ? find(value) : undefined
  return isJsonObject(value) && place?.in[place.key] === text ? { before, after, value, place } : undefined
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
