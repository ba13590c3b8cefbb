import { JsonScanner } from './json-scanner.ts'

const [comma, bracket, closingBracket, brace, closingBrace] = [44, 91, 93, 123, 125]

/**
 * Counts the values of JSON while it arrives, in pieces of any size, without parsing it: parsing very many values takes long. Objects, arrays,
 * strings, numbers, `true`, `false` and `null` are values; keys are not.
 */
export class ValueCount {
  // A line break is never part of a string of JSON. So an open quote before it can't hide the values that follow.
  readonly #json = new JsonScanner({ endsWithLine: true })
  #values = 0
  /** A value begins here, unless a closing bracket comes: at the beginning, and behind an opening bracket. */
  #mayBegin = true

  /** Takes more of the text, or of its bytes in UTF-8. Returns how many values there are so far. */
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

/** Counts the values of a JSON text, as `ValueCount` does. */
export function countValues(json: string): number {
  return new ValueCount().add(json)
}

/** Whether there are more than `most` values in a value, itself included. Stops as soon as that is known. */
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

/** Parses JSON; undefined if it has more than `most` values. Otherwise throws a `SyntaxError` for anything that is not JSON. */
export function parseUpTo(most: number, json: string): unknown {
  // A value takes up two characters, with the comma or bracket before it.
  return json.length > 2 * most && countValues(json) > most ? undefined : JSON.parse(json)
}
