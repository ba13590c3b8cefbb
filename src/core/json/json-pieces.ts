import { setField } from '../messages.ts'
import { giveWay, inTurns } from '../time/give-way.ts'

/**
 * A value as JSON in pieces, each of which is written and read in a millisecond or two: a whole of 1 MiB may keep a thread busy for a tenth of a
 * second. Undefined is the empty text.
 */
export type JsonPieces =
  | { json: string }
  /** Of an array: several items as the JSON of an array of them, or one that is in pieces itself. */
  | { items: ({ json: string } | { item: JsonPieces })[] }
  /** Of an object: several entries as the JSON of an object of them, or one that is in pieces itself. */
  | { entries: ({ json: string } | { key: string; value: JsonPieces })[] }

/** Of one piece, as `weightOf` tells it. */
const mostWeight = 10_000
/** A character takes about as much less to read than a value. */
const charactersAValue = 200

/** How much work it is to write `value`: 1 for each value in it, and 1 for 200 characters. What is beyond `mostWeight` is not looked at. */
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
 * Writes `value` as `JSON.stringify` does; after each piece it yields how many characters that has. Throws for what leads back to itself, and what is
 * nested deeper than `deepest`.
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

/** What is small in groups of about the weight of a piece, what is larger and can be split by itself. */
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

/** Arrays and plain objects. What others are as JSON, they say themselves. */
function isSplittable(value: unknown): value is readonly unknown[] | Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || typeof Reflect.get(value, 'toJSON') === 'function') return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Deeper than this nothing can be written as JSON. */
const deepestWritten = 1_000

/** What `JSON.stringify` makes of plain data, however much that is: others get their turn in between. */
export async function writeJson(value: unknown): Promise<string> {
  return textOfPieces(await inTurns(toPieces(value, deepestWritten)))
}

/** The pieces as one text. */
export function textOfPieces(pieces: JsonPieces): string {
  if ('json' in pieces) return pieces.json
  if ('items' in pieces)
    return `[${pieces.items.map((part) => ('json' in part ? part.json.slice(1, -1) : textOfPieces(part.item))).join()}]`
  const inner = pieces.entries.map((part) =>
    'json' in part ? part.json.slice(1, -1) : `${JSON.stringify(part.key)}:${textOfPieces(part.value)}`,
  )
  return `{${inner.filter((text) => text !== '').join()}}`
}

/** The value that is in pieces, read piece by piece. Rejects with the signal's reason. */
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
