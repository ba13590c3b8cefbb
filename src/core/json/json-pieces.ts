import { setField } from '../messages.ts'
import { giveWay, inTurns } from '../time/give-way.ts'

/**
 * The JSON of a value, in pieces. Each piece takes a millisecond or two to write or read, so a large value does not block the thread.
 * `undefined` is written as the empty text.
 */
export type JsonPieces =
  | { json: string }
  /** The pieces of an array. A piece is either the JSON of several items, as an array, or one item that is itself in pieces. */
  | { items: ({ json: string } | { item: JsonPieces })[] }
  /** The pieces of an object. A piece is either the JSON of several entries, as an object, or one entry whose value is in pieces. */
  | { entries: ({ json: string } | { key: string; value: JsonPieces })[] }

/** Maximum weight of a piece, as `weightOf` estimates it. */
const mostWeight = 10_000
/** Reading this many characters takes about as long as reading one value. */
const charactersAValue = 200

/** Estimates the work to write `value`: 1 for each value in it, and 1 for every 200 characters. Stops counting beyond `mostWeight`. */
export function weightOf(value: unknown): number {
  const left = [value]
  let weight = 0
  while (left.length > 0 && weight <= mostWeight) {
    const next = left.pop()
    weight += 1
    if (typeof next === 'string') weight += next.length / charactersAValue
    if (typeof next !== 'object' || next === null) continue
    if (Array.isArray(next)) {
      if (next.length > mostWeight - weight) return mostWeight + 1
      for (const item of next) left.push(item)
      continue
    }
    for (const key in next) {
      weight += key.length / charactersAValue
      left.push(Reflect.get(next, key))
      if (left.length > mostWeight) return mostWeight + 1
    }
  }
  return weight
}

/**
 * Writes `value` as `JSON.stringify` does. After each piece, yields the number of characters of the piece. Throws if the value is cyclic,
 * or nested more deeply than `deepest`.
 */
export function* toPieces(value: unknown, deepest: number, above: ReadonlySet<unknown> = new Set()): Generator<number, JsonPieces> {
  if (!isSplittable(value) || weightOf(value) <= mostWeight) {
    const json = JSON.stringify(value) ?? ''
    yield json.length
    return { json }
  }
  if (above.has(value)) throw new TypeError('A circular value is not JSON.')
  if (above.size >= deepest) throw new RangeError('The value is nested too deeply for JSON.')
  const within = new Set(above).add(value)
  if (Array.isArray(value)) {
    const items: Extract<JsonPieces, { items: unknown }>['items'] = []
    for (const group of grouped(value, (item) => item)) {
      if (group.large === undefined) {
        const json = JSON.stringify(group.small)
        yield json.length
        items.push({ json })
      } else items.push({ item: yield* toPieces(group.large, deepest, within) })
    }
    return { items }
  }
  const entries: Extract<JsonPieces, { entries: unknown }>['entries'] = []
  for (const group of grouped(Object.entries(value), ([, item]) => item)) {
    if (group.large === undefined) {
      const json = JSON.stringify(Object.fromEntries(group.small))
      yield json.length
      entries.push({ json })
    } else {
      const [key, item] = group.large
      entries.push({ key, value: yield* toPieces(item, deepest, within) })
    }
  }
  return { entries }
}

/** Groups small values into pieces of up to `mostWeight`. A larger value that can be split forms its own group. */
function* grouped<T>(all: readonly T[], contentOf: (one: T) => unknown): Generator<{ small: T[]; large?: T }> {
  let [small, weight]: [T[], number] = [[], 0]
  for (const one of all) {
    const value = contentOf(one)
    const own = weightOf(value)
    const isLarge = own > mostWeight && isSplittable(value)
    if (small.length > 0 && (isLarge || weight + own > mostWeight)) {
      yield { small }
      small = []
      weight = 0
    }
    if (isLarge) yield { small: [], large: one }
    else {
      small.push(one)
      weight += own
    }
  }
  if (small.length > 0) yield { small }
}

/** Arrays and plain objects can be split. Other objects may define their own JSON, so they can't be split. */
function isSplittable(value: unknown): value is readonly unknown[] | Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || typeof Reflect.get(value, 'toJSON') === 'function') return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The deepest nesting that is written as JSON. */
const deepestWritten = 1_000

/** Writes plain data of any size as `JSON.stringify` does, yielding to the event loop in between. */
export async function writeJson(value: unknown): Promise<string> {
  return textOfPieces(await inTurns(toPieces(value, deepestWritten)))
}

export function textOfPieces(pieces: JsonPieces): string {
  if ('json' in pieces) return pieces.json
  if ('items' in pieces)
    return `[${pieces.items.map((part) => ('json' in part ? part.json.slice(1, -1) : textOfPieces(part.item))).join()}]`
  const inner = pieces.entries.map((part) =>
    'json' in part ? part.json.slice(1, -1) : `${JSON.stringify(part.key)}:${textOfPieces(part.value)}`,
  )
  return `{${inner.filter((text) => text !== '').join()}}`
}

/** Parses the pieces one by one. Rejects with the signal's reason if the signal is aborted. */
export async function readPieces(pieces: JsonPieces, signal: AbortSignal): Promise<unknown> {
  if ('json' in pieces) return pieces.json === '' ? undefined : JSON.parse(pieces.json)
  if ('items' in pieces) {
    const items: unknown[] = []
    for (const part of pieces.items) {
      await giveWay(signal)
      if ('json' in part) for (const item of JSON.parse(part.json)) items.push(item)
      else items.push(await readPieces(part.item, signal))
    }
    return items
  }
  const object: Record<string, unknown> = {}
  for (const part of pieces.entries) {
    await giveWay(signal)
    const some = 'json' in part ? Object.entries(JSON.parse(part.json)) : [[part.key, await readPieces(part.value, signal)] as const]
    for (const [key, value] of some) setField(object, key, value)
  }
  return object
}
