import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'

/** The position of a value: a field of an object, or an index of an array. */
interface Place {
  holder: JsonObject | Json[]
  key: string | number
  /** Whether the next piece continues the same text. */
  continues: boolean
}

/**
 * Matches one step of a path: `.name`, `[0]` or `['name']`. Only paths that refer to a single value are supported. Format:
 * https://www.rfc-editor.org/rfc/rfc9535
 */
const step = /\.([^.[\]'"]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/y

/**
 * Collects the arguments of a call from Vertex AI's `partialArgs`: each value arrives separately, and a text in several pieces.
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling
 */
export class PartialArgs {
  readonly #root: JsonObject = {}
  readonly #places = new Map<string, Place>()
  #unreadable: string | undefined

  add(pieces: Json | undefined): void {
    for (const piece of Array.isArray(pieces) ? pieces : []) if (isJsonObject(piece)) this.#add(piece)
  }

  /** The arguments. A piece with an invalid path makes this a text that is not valid JSON, so that no arguments are guessed. */
  get value(): JsonObject | string {
    return this.#unreadable === undefined ? this.#root : `unreadable arguments at ${this.#unreadable}`
  }

  #add(piece: JsonObject): void {
    const path = typeof piece.jsonPath === 'string' ? piece.jsonPath : ''
    const place = this.#places.get(path) ?? locate(this.#root, path)
    if (place === undefined) {
      this.#unreadable ??= path
      return
    }
    this.#places.set(path, place)
    const value = givenValue(piece)
    const before = place.continues ? read(place.holder, place.key) : undefined
    if (value !== undefined)
      write(place.holder, place.key, typeof before === 'string' && typeof value === 'string' ? before + value : value)
    place.continues = piece.willContinue === true
  }
}

function givenValue({ stringValue, numberValue, boolValue, nullValue }: JsonObject): Json | undefined {
  return stringValue ?? numberValue ?? boolValue ?? (nullValue === undefined ? undefined : null)
}

/** Resolves a path. Creates missing objects and arrays. Undefined for an invalid path, and for a path beyond the end of an array. */
function locate(root: JsonObject, path: string): Place | undefined {
  const keys = keysOf(path)
  const last = keys?.pop()
  if (keys === undefined || last === undefined) return undefined
  let holder: JsonObject | Json[] = root
  for (const [at, key] of keys.entries()) {
    if (!fits(holder, key)) return undefined
    let next = read(holder, key)
    if (next === undefined) {
      next = typeof (keys[at + 1] ?? last) === 'number' ? [] : {}
      write(holder, key, next)
    }
    if (typeof next !== 'object' || next === null) return undefined
    holder = next
  }
  return fits(holder, last) ? { holder, key: last, continues: false } : undefined
}

function keysOf(path: string): (string | number)[] | undefined {
  if (!path.startsWith('$')) return undefined
  const keys: (string | number)[] = []
  step.lastIndex = 1
  while (step.lastIndex < path.length) {
    const found = step.exec(path)
    if (found === null) return undefined
    const [, name, index, single, double] = found
    keys.push(index === undefined ? (name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')) : Number(index))
  }
  return keys
}

function fits(holder: JsonObject | Json[], key: string | number): boolean {
  return Array.isArray(holder) ? typeof key === 'number' && key <= holder.length : typeof key === 'string'
}

function read(holder: JsonObject | Json[], key: string | number): Json | undefined {
  if (Array.isArray(holder)) return typeof key === 'number' ? holder[key] : undefined
  return Object.hasOwn(holder, key) ? holder[key] : undefined
}

function write(holder: JsonObject | Json[], key: string | number, value: Json): void {
  // Defines `__proto__` like any other field, because assigning it would set the prototype.
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true })
}
