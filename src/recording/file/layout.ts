/** Maximum line length, in characters. Only a long string or key can exceed it. */
export const width = 120

/**
 * Formats JSON so that people can read it and compare it line by line. A value that fits is written on one line. Otherwise, each field and
 * item gets its own line. If an array contains only plain items, several items share a line.
 */
export function layOut(value: unknown, indent = '', before = 0): string {
  if (typeof value !== 'object' || value === null) return onOneLine(value)
  if (roomBeside(value, width) >= 0) {
    const line = onOneLine(value)
    if (before + line.length <= width) return line
  }
  const inner = `${indent}  `
  const lines = Array.isArray(value) ? linesOfItems(value, inner) : linesOfFields(value, inner)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${lines.map((one) => `${inner}${one}`).join(',\n')}\n${indent}${close}`
}

function linesOfFields(value: object, indent: string): string[] {
  const lines: string[] = []
  for (const [key, item] of Object.entries(value)) {
    const name = `${JSON.stringify(key)}: `
    lines.push(`${name}${layOut(item, indent, indent.length + name.length)}`)
  }
  return lines
}

function linesOfItems(items: readonly unknown[], indent: string): string[] {
  const lines: string[] = []
  if (items.some((item) => typeof item === 'object' && item !== null)) {
    for (const item of items) lines.push(layOut(item, indent, indent.length))
    return lines
  }
  for (const item of items) {
    const text = JSON.stringify(item)
    const last = lines.at(-1)
    const joined = `${last}, ${text}`
    if (last !== undefined && indent.length + joined.length <= width) lines[lines.length - 1] = joined
    else lines.push(text)
  }
  return lines
}

/**
 * Estimates how much of `room` (in characters) a value leaves free. Stops as soon as the result is negative, which means that the value
 * doesn't fit.
 */
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
