import { setField } from '../../../core/messages.ts'
import type { DeclaredTools } from '../../declared-tools.ts'
import { LooseReader, readEscape } from './json-text.ts'

// All patterns are limited in length, so that looking ahead from every quote takes linear time.
/** The start of a call, up to its arguments. */
const head =
  /^\s{0,64}\{\s{0,64}["']name["']\s{0,64}:\s{0,64}["']([^"'\n]{1,128})["']\s{0,64},\s{0,64}["'](?:arguments|parameters|args|input)["']\s{0,64}:\s{0,64}\{/
const keyAndColon = /\s{0,64}"([^"]{0,128})"\s{0,64}:\s{0,64}/y
const comma = /\s{0,64},/y

/**
 * Reads a call whose strings contain unescaped quotes, using the keys that its tool declares. A quote ends a string only if a declared key,
 * or the end of the call, follows. Undefined if the call still can't be read.
 */
export function repairQuotes(text: string, tools: DeclaredTools): { name: string; arguments: Record<string, unknown> } | undefined {
  const found = head.exec(text.slice(0, 512))
  const name = found?.[1] === undefined ? undefined : tools.resolve(found[1])
  const keys = name === undefined ? undefined : tools.properties(name)
  if (found === null || name === undefined || keys === undefined) return undefined
  /** The position of the last quote, if only brackets and blanks follow. */
  const last = text.search(/"[}\]\s]*$/)
  const args: Record<string, unknown> = {}
  let at = found[0].length
  for (;;) {
    const key = keyAt(text, at, keys)
    if (key === undefined) return undefined
    at = key.end
    let value: unknown
    if (text.charAt(at) === '"') {
      const close = stringEnd(text, at + 1, last, keys)
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
    const end = commaEnd(text, at)
    if (end < 0) return /^\s*\}[\s}\]]*$/.test(text.slice(at)) ? { name, arguments: args } : undefined
    at = end
  }
}

/** Returns the position of the first quote before a declared key, otherwise of the last quote. */
function stringEnd(text: string, from: number, last: number, keys: Record<string, unknown>): number {
  for (const { 0: found, index } of text.slice(from).matchAll(/\\.|"/gs)) {
    const at = from + index
    if (found !== '"') continue
    const end = commaEnd(text, at + 1)
    if (at === last || (end >= 0 && keyAt(text, end, keys) !== undefined)) return at
  }
  return -1
}

function commaEnd(text: string, at: number): number {
  comma.lastIndex = at
  return comma.test(text) ? comma.lastIndex : -1
}

/** Returns the declared key that starts at position `at`, if a colon follows the key. */
function keyAt(text: string, at: number, keys: Record<string, unknown>): { name: string; end: number } | undefined {
  keyAndColon.lastIndex = at
  const name = keyAndColon.exec(text)?.[1]
  return name === undefined || !Object.hasOwn(keys, name) ? undefined : { name, end: keyAndColon.lastIndex }
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
