import { JsonScanner } from './json-scanner.ts'

const [comma, bracket, closingBracket, brace, closingBrace] = [44, 91, 93, 123, 125]

/**
 * Counts the values of JSON as it arrives, in pieces of any size, without parsing it: parsing many values is slow. Objects, arrays,
 * strings, numbers, `true`, `false` and `null` are values; keys are not.
 */
export class ValueCount {
  // JSON strings contain no line breaks. Ending strings at line breaks keeps a stray quote from hiding the values that follow.
  readonly #json = new JsonScanner({ endsWithLine: true })
  #values = 0
  /** Whether the next character starts a value unless it closes a bracket. True at the start and after an opening bracket. */
  #mayBegin = true

  /** Reads more of the text, or of its UTF-8 bytes. Returns the number of values so far. */
  add(piece: string | Uint8Array): number {
    for (let at = 0; at < piece.length; at++) this.#read(typeof piece === 'string' ? piece.charCodeAt(at) : (piece[at] ?? 0))
    return this.#values
  }

  #read(code: number): void {
    if (!this.#json.read(code)) return
    if (code === comma || (this.#mayBegin && code !== closingBracket && code !== closingBrace)) this.#values++
    this.#mayBegin = code === bracket || code === brace
  }
}

/** Counts the values of a JSON text; see `ValueCount`. */
export function countValues(json: string): number {
  return new ValueCount().add(json)
}

/** Whether a value contains more than `most` values, itself included. Stops once that is known. */
export function hasMoreValues(most: number, value: unknown): boolean {
  const open: unknown[] = [value]
  let count = 1
  for (let item = open.pop(); item !== undefined && count <= most; item = open.pop()) {
    if (typeof item !== 'object' || item === null) continue
    const inner: unknown[] = Array.isArray(item) ? item : Object.values(item)
    count += inner.length
    if (count <= most) for (const one of inner) if (typeof one === 'object' && one !== null) open.push(one)
  }
  return count > most
}

/** Parses JSON. Returns undefined if it has more than `most` values. Otherwise throws a `SyntaxError` if the text is not JSON. */
export function parseUpTo(most: number, json: string): unknown {
  // Each value takes at least two characters, with the comma or bracket before it.
  return json.length > 2 * most && countValues(json) > most ? undefined : JSON.parse(json)
}
