import { messageOf } from '../core/errors.ts'
import type { Content, ContentPart } from '../core/messages.ts'

/**
 * A stable, useful text of anything a tool may return. Never throws. Dates become ISO texts, Maps objects, Sets arrays, Errors their
 * message, binary data a note of its size; cycles are cut; lone surrogates are replaced. Never empty: some providers refuse empty results.
 */
export function resultText(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '(empty result)' : value.toWellFormed()
  if (value === undefined) return '(no result)'
  try {
    if (typeof value !== 'object' || value === null) return plainText(value)
    if (value instanceof Error) return messageOf(value).toWellFormed()
    if (value instanceof Date) return dateText(value)
    if (isBinary(value)) return binaryNote(value)
    return stringify(value) ?? '(no result)'
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

function stringify(value: object): string | undefined {
  // The chain from the root to what is being written, as given and as shown: only a repetition within it is a cycle.
  const ancestors: { given: object; shown: object }[] = []
  const above = new Set<object>()
  return JSON.stringify(value, function (this: unknown, key: string, given: unknown): unknown {
    // `given` has been through toJSON, which of a Buffer spells out every byte, and of many an Error its stack.
    const original = isRecord(this) ? this[key] : undefined
    const item = isRecord(original) && (original instanceof Error || isBinary(original)) ? original : given
    if (typeof item === 'bigint') return item.toString()
    if (typeof item === 'number' && !Number.isFinite(item)) return String(item)
    if (typeof item !== 'object' || item === null) return item
    for (let last = ancestors.at(-1); last !== undefined && last.shown !== this; last = ancestors.at(-1)) {
      above.delete(last.given)
      ancestors.pop()
    }
    if (above.has(item)) return '(circular)'
    if (item instanceof Error) return messageOf(item)
    if (isBinary(item)) return binaryNote(item)
    const shown = item instanceof Map ? mapObject(item) : item instanceof Set ? [...item] : item
    ancestors.push({ given: item, shown })
    above.add(item)
    return shown
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function mapObject(map: Map<unknown, unknown>): Record<string, unknown> {
  return Object.fromEntries([...map].map(([key, item]) => [typeof key === 'string' ? key : resultText(key), item]))
}

export interface CappedContent {
  content: Content
  /** Bytes of text that were cut; 0 when nothing was. */
  cutBytes: number
}

/** Base64 of a picture or document above this size is not passed on: no provider takes it. */
const maxMediaBytes = 20 * 1024 * 1024
/** How many bytes pictures and documents of one result may have for each byte of text it may have: 20 MiB by default. */
const mediaBytesPerByte = 320
const maxParts = 256

/**
 * Keeps at most `maxBytes` of text (UTF-8), head and tail, with a note in between of how much was cut; pictures and documents up to 320 times as
 * much; and the first 256 parts.
 */
export function capContent(content: Content, maxBytes: number): CappedContent {
  if (typeof content === 'string') {
    const capped = capText(content, maxBytes)
    return { content: capped.text, cutBytes: capped.cutBytes }
  }
  let left = maxBytes
  let mediaLeft = maxBytes * mediaBytesPerByte
  let cutBytes = 0
  let leftOut = 0
  const parts: ContentPart[] = []
  for (const part of content) {
    const isTooMany = parts.length >= maxParts
    if (part.type !== 'text') {
      const size = 'data' in part ? part.data.length : part.url.length
      if (isTooMany) leftOut += size
      else if (size <= Math.min(maxMediaBytes, mediaLeft)) {
        mediaLeft -= size
        parts.push({ ...part })
      } else {
        cutBytes += size
        parts.push({ type: 'text', text: `(${part.type} of ${size} base64 characters left out: too large)` })
      }
      continue
    }
    const bytes = Buffer.byteLength(part.text)
    // Once nothing fits, one note stands for all that follow, however many.
    if (isTooMany || (left === 0 && bytes > 0)) {
      leftOut += bytes
      continue
    }
    const capped = capText(part.text.toWellFormed(), left)
    left = capped.cutBytes > 0 ? 0 : left - bytes
    cutBytes += capped.cutBytes
    parts.push({ type: 'text', text: capped.text })
  }
  if (leftOut > 0) parts.push({ type: 'text', text: `(… ${leftOut} bytes left out …)` })
  return { content: parts, cutBytes: cutBytes + leftOut }
}

/** Its first whole characters, at most so many bytes of them (UTF-8). */
export function headOf(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.from(text.slice(0, maxBytes)).subarray(0, maxBytes)
  return bytes.toString('utf8', 0, characterStart(bytes, bytes.length))
}

function capText(text: string, maxBytes: number): { text: string; cutBytes: number } {
  // A character has at most 3 bytes for each UTF-16 unit, so a short text needs no count.
  if (text.length * 3 <= maxBytes) return { text, cutBytes: 0 }
  const total = Buffer.byteLength(text)
  if (total <= maxBytes) return { text, cutBytes: 0 }
  const headBytes = Math.floor((maxBytes * 2) / 3)
  // Encoding no more units than can matter makes the cost that of the cap, not of the text; and a copy, unlike a slice, does not keep the
  // long original alive.
  const head = Buffer.from(text.slice(0, headBytes)).subarray(0, headBytes)
  const tailBytes = maxBytes - headBytes
  const tail = Buffer.from(text.slice(-Math.max(tailBytes, 1)))
  const headEnd = characterStart(head, head.length)
  const tailStart = nextCharacter(tail, Math.max(0, tail.length - tailBytes))
  const keptTail = tailBytes === 0 ? '' : tail.toString('utf8', tailStart)
  const cutBytes = total - headEnd - (tailBytes === 0 ? 0 : tail.length - tailStart)
  return { text: `${head.toString('utf8', 0, headEnd)}\n\n(… ${cutBytes} of ${total} bytes cut here …)\n\n${keptTail}`, cutBytes }
}

/** The end of the last whole character in the first `end` bytes. */
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
