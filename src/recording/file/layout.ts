import { atOnce, type InParts } from '../../core/time/in-parts.ts'

/** Longest line that holds a whole value. */
export const width = 120

/** Of an array of texts or numbers. */
const itemsInOnePart = 1_000

/**
 * JSON to be read, and compared line by line: a value that fits on a line stands on one, of any other each field and item does; plain items of
 * an array fill lines.
 */
export function layOut(value: unknown, indent = '', before = 0): string {
  return atOnce(layOutInParts(value, indent, before))
}

/** The same in parts. */
export function* layOutInParts(value: unknown, indent: string, before: number): InParts<string> {
  if (typeof value !== 'object' || value === null) return onOneLine(value)
  if (roomBeside(value, width) >= 0) {
    const line = onOneLine(value)
    if (before + line.length <= width) return line
  }
  yield
  const inner = `${indent}  `
  const lines = yield* Array.isArray(value) ? linesOfItems(value, inner) : linesOfFields(value, inner)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  yield
  return `${open}\n${lines.map((one) => `${inner}${one}`).join(',\n')}\n${indent}${close}`
}

function* linesOfFields(value: object, indent: string): InParts<string[]> {
  const lines: string[] = []
  for (const [key, item] of Object.entries(value)) {
    const name = `${JSON.stringify(key)}: `
    lines.push(`${name}${yield* layOutInParts(item, indent, indent.length + name.length)}`)
  }
  return lines
}

function* linesOfItems(items: readonly unknown[], indent: string): InParts<string[]> {
  const lines: string[] = []
  if (items.some((item) => typeof item === 'object' && item !== null)) {
    for (const item of items) lines.push(yield* layOutInParts(item, indent, indent.length))
    return lines
  }
  for (const [at, item] of items.entries()) {
    if (at % itemsInOnePart === 0) yield
    const text = JSON.stringify(item)
    const last = lines.at(-1)
    const joined = `${last}, ${text}`
    if (last !== undefined && indent.length + joined.length <= width) lines[lines.length - 1] = joined
    else lines.push(text)
  }
  return lines
}

/** What is left of `room` beside a value's texts; negative where there is too little. A long value is not written in order to know that. */
function roomBeside(value: unknown, room: number): number {
  if (typeof value === 'string') return room - value.length
  if (typeof value !== 'object' || value === null) return room
  let left = room
  if (Array.isArray(value)) {
    for (const item of value) {
      left = roomBeside(item, left)
      if (left < 0) break
    }
    return left
  }
  for (const [key, item] of Object.entries(value)) {
    left = roomBeside(item, left - key.length)
    if (left < 0) break
  }
  return left
}

function onOneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  const fields = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${onOneLine(item)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}
