import { messageOf } from '../core/errors.ts'
import type { Content, ContentPart } from '../core/messages.ts'

/** Limits for the text of an object. Writing a longer text would block the event loop. */
const maxValues = 1_000_000
const maxCharacters = 16 * 1024 * 1024

/**
 * Converts any value that a tool returns to a stable, readable text. Dates become ISO 8601 strings, Maps become objects, Sets become
 * arrays, Errors become their messages, and binary data becomes a note with its size. Cycles are cut off, and lone surrogates are replaced.
 * At most 1,000,000 values of an object are written, with at most 16 Mi characters of text in total. Notes say how many values or
 * characters are left out. Never throws. Never returns an empty text, because some providers refuse empty results.
 */
export function resultText(value: unknown): string {
  return textWithin(value, { values: maxValues, characters: maxCharacters })
}

/** The numbers of values and characters that may still be written. */
interface Room {
  values: number
  characters: number
}

function textWithin(value: unknown, room: Room): string {
  if (typeof value === 'string') return value === '' ? '(empty result)' : value.toWellFormed()
  if (value === undefined) return '(no result)'
  try {
    if (typeof value !== 'object' || value === null) return plainText(value)
    if (value instanceof Error) return messageOf(value).toWellFormed()
    if (value instanceof Date) return dateText(value)
    if (isBinary(value)) return binaryNote(value)
    return stringify(value, room) ?? '(no result)'
  } catch (error) {
    return `(a result that can't be turned into text: ${messageOf(error)})`
  }
}

function plainText(value: unknown): string {
  return typeof value === 'function' ? `(function ${value.name || 'without a name'})` : String(value)
}

function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'Invalid Date' : date.toISOString()
}

function isBinary(value: object): value is ArrayBufferView | ArrayBufferLike {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer
}

function binaryNote(value: { byteLength: number }): string {
  return `(binary data, ${value.byteLength} bytes)`
}

function stringify(value: object, room: Room): string | undefined {
  // The objects that contain the current value, before and after conversion. A value that is one of them is a cycle.
  const ancestors: { given: object; shown: object }[] = []
  const above = new Set<object>()
  return JSON.stringify(value, function (this: unknown, key: string, given: unknown): unknown {
    // `given` is the result of `toJSON`, which for many Errors contains the stack.
    const original = isRecord(this) ? this[key] : undefined
    const item = original instanceof Error ? original : given
    if (typeof item === 'bigint') return item.toString()
    if (typeof item === 'number' && !Number.isFinite(item)) return String(item)
    if (typeof item === 'string') return headWithin(item, room)
    if (typeof item !== 'object' || item === null) return item
    for (let last = ancestors.at(-1); last !== undefined && last.shown !== this; last = ancestors.at(-1)) {
      above.delete(last.given)
      ancestors.pop()
    }
    if (above.has(item)) return '(circular)'
    if (item instanceof Error) return messageOf(item)
    if (isBinary(item)) return binaryNote(item)
    if (room.values === 0) return '(…)'
    const shown = item instanceof Map ? mapWithin(item, room) : isList(item) ? listWithin(item, room) : objectWithin(item, room)
    ancestors.push({ given: item, shown })
    above.add(item)
    return shown
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isList(value: object): value is unknown[] | Set<unknown> {
  return Array.isArray(value) || value instanceof Set
}

function headWithin(text: string, room: Room): string {
  const taken = Math.min(text.length, room.characters)
  room.characters -= taken
  return taken === text.length ? text : `${text.slice(0, taken)}(… ${text.length - taken} more characters left out …)`
}

/** Reserves up to `size` of the values that may still be written, and returns the number reserved. */
function takeOf(size: number, room: Room): number {
  const taken = Math.min(size, room.values)
  room.values -= taken
  return taken
}

/** Returns the items for which there is room. If all items fit, returns the array itself. */
function listWithin(list: unknown[] | Set<unknown>, room: Room): unknown[] {
  const size = Array.isArray(list) ? list.length : list.size
  const taken = takeOf(size, room)
  if (Array.isArray(list) && taken === size && !list.some(isBytes)) return list
  const shown = firstOf(list, taken).map(inPlaceOfBytes)
  return taken === size ? shown : [...shown, leftOutNote(size - taken)]
}

function mapWithin(map: Map<unknown, unknown>, room: Room): object {
  const fields = firstOf(map, takeOf(map.size, room))
  const named = fields.map(([key, value]): [string, unknown] => [typeof key === 'string' ? key : textWithin(key, room), value])
  return objectOf(named, map.size - fields.length)
}

/** Returns the object itself if all of it is written. Otherwise returns a copy with fewer fields. */
function objectWithin(object: object, room: Room): object {
  const keys = Object.keys(object)
  const taken = takeOf(keys.length, room)
  const fieldOf = (key: string): unknown => Reflect.get(object, key)
  if (taken === keys.length && !keys.some((key) => isBytes(fieldOf(key)))) return object
  const fields = keys.slice(0, taken).map((key): [string, unknown] => [key, fieldOf(key)])
  return objectOf(fields, keys.length - taken)
}

function objectOf(fields: [string, unknown][], leftOut: number): object {
  const shown = fields.map(([key, value]) => [key, inPlaceOfBytes(value)])
  return Object.fromEntries(leftOut === 0 ? shown : [...shown, ['…', leftOutNote(leftOut)]])
}

function leftOutNote(values: number): string {
  return `(… ${values} more values left out …)`
}

function firstOf<T>(values: Iterable<T>, count: number): T[] {
  const first: T[] = []
  if (count > 0) for (const value of values) if (first.push(value) === count) break
  return first
}

/** Replaces binary data before `JSON.stringify` calls `toJSON`, because the `toJSON` of a Buffer writes every byte. */
function inPlaceOfBytes(value: unknown): unknown {
  return isBytes(value) ? binaryNote(value) : value
}

function isBytes(value: unknown): value is ArrayBufferView | ArrayBufferLike {
  return isRecord(value) && isBinary(value)
}

export interface CappedContent {
  content: Content
  /** Number of bytes of text that were cut off; 0 if the text is complete. */
  cutBytes: number
}

/** Maximum size of a picture or document in base64 characters. No provider accepts a larger picture or document. */
const maxMediaBytes = 20 * 1024 * 1024
/** The limit for pictures and documents is the text limit times this factor. By default, it is 20 MiB. */
const mediaBytesPerByte = 320
const maxParts = 256

/**
 * Limits the content of a result. Keeps at most `maxBytes` of text (UTF-8): its head and its tail, with a note between them that says how
 * many bytes were cut. Keeps up to 320 times as many bytes of pictures and documents, and the first 256 parts. Notes count as text. If
 * there is no room for a note, only the head is kept.
 */
export function capContent(content: Content, maxBytes: number): CappedContent {
  if (typeof content === 'string') {
    const capped = capText(content, maxBytes)
    return { content: capped.text, cutBytes: capped.cutBytes }
  }
  const whole = capParts(content, maxBytes, maxBytes)
  if (whole.leftOut === 0) return { content: whole.parts, cutBytes: whole.cutBytes }
  const room = Math.max(0, maxBytes - Buffer.byteLength(partsNote(sizeOf(content))))
  const { parts, cutBytes, leftOut } = capParts(content, room, maxBytes)
  parts.push({ type: 'text', text: headOf(partsNote(leftOut), maxBytes) })
  return { content: parts, cutBytes: cutBytes + leftOut }
}

/** `leftOut`: the total size in bytes of the parts that were dropped without a note. */
function capParts(content: readonly ContentPart[], textBytes: number, maxBytes: number) {
  let left = textBytes
  let mediaLeft = maxBytes * mediaBytesPerByte
  let cutBytes = 0
  let leftOut = 0
  const parts: ContentPart[] = []
  for (const part of content) {
    const size = bytesOf(part)
    if (parts.length >= maxParts) {
      leftOut += size
    } else if (part.type !== 'text' && size <= Math.min(maxMediaBytes, mediaLeft)) {
      mediaLeft -= size
      parts.push({ ...part })
    } else {
      const text = part.type === 'text' ? part.text.toWellFormed() : `(${part.type} of ${size} base64 characters left out: too large)`
      const capped = capText(text, left)
      const isLost = capped.cutBytes > 0 && (part.type !== 'text' || !capped.isNoted)
      // Once a part and its note don't fit, a single note stands for all remaining parts.
      if (isLost) leftOut += size
      else {
        left = capped.cutBytes > 0 ? 0 : left - Buffer.byteLength(text)
        cutBytes += part.type === 'text' ? capped.cutBytes : size
        parts.push({ type: 'text', text: capped.text })
      }
    }
  }
  return { parts, cutBytes, leftOut }
}

function partsNote(bytes: number): string {
  return `(… ${bytes} bytes left out …)`
}

function sizeOf(content: readonly ContentPart[]): number {
  return content.reduce((sum, part) => sum + bytesOf(part), 0)
}

function bytesOf(part: ContentPart): number {
  if (part.type === 'text') return Buffer.byteLength(part.text)
  return 'data' in part ? part.data.length : part.url.length
}

/** Returns the first characters of a text, at most `maxBytes` bytes (UTF-8). Does not split a character. */
export function headOf(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.from(text.slice(0, maxBytes)).subarray(0, maxBytes)
  return bytes.toString('utf8', 0, characterStart(bytes, bytes.length))
}

/** `isNoted`: whether the text contains a note about the cut. */
function capText(text: string, maxBytes: number): { text: string; cutBytes: number; isNoted?: true } {
  // A UTF-16 unit takes at most 3 bytes in UTF-8, so a short text need not be measured.
  if (text.length * 3 <= maxBytes) return { text, cutBytes: 0 }
  const total = Buffer.byteLength(text)
  if (total <= maxBytes) return { text, cutBytes: 0 }
  const room = maxBytes - Buffer.byteLength(cutNote(total, total))
  if (room < 0) {
    const head = headOf(text, maxBytes)
    return { text: head, cutBytes: total - Buffer.byteLength(head) }
  }
  const headBytes = Math.floor((room * 2) / 3)
  // Only as much text as may fit is encoded, so the cost depends on the limit, not on the length of the text. The result is a copy, because
  // a slice would keep the long original in memory.
  const head = Buffer.from(text.slice(0, headBytes)).subarray(0, headBytes)
  const tailBytes = room - headBytes
  const tail = Buffer.from(text.slice(-Math.max(tailBytes, 1)))
  const headEnd = characterStart(head, head.length)
  const tailStart = nextCharacter(tail, Math.max(0, tail.length - tailBytes))
  const keptTail = tailBytes === 0 ? '' : tail.toString('utf8', tailStart)
  const cutBytes = total - headEnd - (tailBytes === 0 ? 0 : tail.length - tailStart)
  return { text: `${head.toString('utf8', 0, headEnd)}${cutNote(cutBytes, total)}${keptTail}`, cutBytes, isNoted: true }
}

function cutNote(cutBytes: number, total: number): string {
  return `\n\n(… ${cutBytes} of ${total} bytes cut here …)\n\n`
}

/** Returns the position after the last complete character within the first `end` bytes. */
function characterStart(bytes: Buffer, end: number): number {
  let start = end
  while (start > 0 && ((bytes[start - 1] ?? 0) & 0xc0) === 0x80) start--
  if (start === 0) return 0
  const lead = bytes[start - 1] ?? 0
  const length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2
  return end - (start - 1) >= length ? end : start - 1
}

function nextCharacter(bytes: Buffer, from: number): number {
  let start = from
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++
  return start
}
