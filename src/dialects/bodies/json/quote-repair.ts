import { setField } from '../../../core/messages.ts'
import type { DeclaredTools } from '../../declared-tools.ts'
import { LooseReader, readEscape } from './json-text.ts'

/** The head of a call, up to its arguments. Bounded: names and blanks have limits. */
const head =
  /^\s{0,64}\{\s{0,64}["']name["']\s{0,64}:\s{0,64}["']([^"'\n]{1,128})["']\s{0,64},\s{0,64}["'](?:arguments|parameters|args|input)["']\s{0,64}:\s{0,64}\{/

/**
 * Reads a call whose strings hold unescaped quotes, by the keys its tool declares: a quote ends a string only where a declared key,
 * or the end of the call, comes behind it. Undefined when even that does not read.
 */
export function repairQuotes(text: string, tools: DeclaredTools): { name: string; arguments: Record<string, unknown> } | undefined {
  const found = head.exec(text.slice(0, 512))
  const name = found?.[1] === undefined ? undefined : tools.resolve(found[1])
  const keys = name === undefined ? undefined : tools.properties(name)
  if (found === null || name === undefined || keys === undefined) return undefined
  const end = lastQuote(text)
  const args: Record<string, unknown> = {}
  let at = found[0].length
  for (;;) {
    const key = keyAt(text, at, keys)
    if (key === undefined) return undefined
    at = key.end
    let value: unknown
    if (text.charAt(at) === '"') {
      const close = stringEnd(text, at + 1, end, keys)
      if (close < 0) return undefined
      value = decode(text.slice(at + 1, close))
      at = close + 1
    } else {
      const reader = new LooseReader(text.slice(at))
      value = reader.readValue(0)
      if (reader.problem !== undefined) return undefined
      at += reader.at
    }
    setField(args, key.name, value)
    at = skipBlanks(text, at)
    if (text.charAt(at) !== ',') return /^\s*\}[\s}\]]*$/.test(text.slice(at)) ? { name, arguments: args } : undefined
    at = skipBlanks(text, at + 1)
  }
}

/** The quote behind which only brackets come. */
function lastQuote(text: string): number {
  let at = text.length - 1
  while (at >= 0 && '}] \t\r\n'.includes(text.charAt(at))) at--
  return at >= 0 && text.charAt(at) === '"' ? at : -1
}

function stringEnd(text: string, from: number, last: number, keys: Record<string, unknown>): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    if (isEscaped(text, at, from)) continue
    if (at === last) return at
    const comma = skipBlanks(text, at + 1)
    if (text.charAt(comma) === ',' && keyAt(text, skipBlanks(text, comma + 1), keys) !== undefined) return at
  }
  return -1
}

function isEscaped(text: string, at: number, from: number): boolean {
  let slashes = 0
  while (at - slashes - 1 >= from && slashes < 64 && text.charAt(at - slashes - 1) === '\\') slashes++
  return slashes % 2 === 1
}

/** The declared key that stands at `at`, colon included. */
function keyAt(text: string, at: number, keys: Record<string, unknown>): { name: string; end: number } | undefined {
  const start = skipBlanks(text, at)
  if (text.charAt(start) !== '"') return undefined
  const close = text.slice(start + 1, start + 130).indexOf('"')
  if (close < 0) return undefined
  const name = text.slice(start + 1, start + 1 + close)
  const colon = skipBlanks(text, start + close + 2)
  return Object.hasOwn(keys, name) && text.charAt(colon) === ':' ? { name, end: skipBlanks(text, colon + 1) } : undefined
}

function skipBlanks(text: string, from: number): number {
  let at = from
  // Bounded, so that looking ahead from every quote stays linear.
  while (at - from < 64 && ' \t\r\n'.includes(text.charAt(at)) && at < text.length) at++
  return at
}

function decode(text: string): string {
  let read = ''
  let from = 0
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', from)) {
    const escaped = readEscape(text, at)
    read += text.slice(from, at) + escaped.text
    from = escaped.end
  }
  return read + text.slice(from)
}
