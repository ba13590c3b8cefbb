import { show, ToolloopError } from '../core/errors.ts'
import { isDeeperThan } from '../core/json.ts'
import { isJsonObject, type JsonObject } from '../core/messages.ts'

// What a client sends may be anything. Each of these names the place where it is not what it has to be.

/** `path`: where it was given, such as `messages[0].parts[1].text`. */
export function malformed(path: string, expected: string, got: unknown): ToolloopError {
  return new ToolloopError('invalid_message', `Expected ${path} to be ${expected}, got \`${show(got)}\``)
}

export function objectAt(value: unknown, path: string): JsonObject {
  return isJsonObject(value) ? value : fail(path, 'an object', value)
}

export function listAt(value: unknown, path: string): readonly unknown[] {
  return Array.isArray(value) ? value : fail(path, 'an array', value)
}

export function textAt(value: unknown, path: string): string {
  return typeof value === 'string' ? value : fail(path, 'a string', value)
}

export function optionalText(value: unknown, path: string): string | undefined {
  return value === undefined || value === null ? undefined : textAt(value, path)
}

/** The id of a call. */
export function idAt(value: unknown, path: string): string {
  return typeof value === 'string' && value !== '' && value.length <= maxIdLength ? value : fail(path, 'the id of a call', value)
}

/** What a page calls a message. */
export function messageIdAt(value: unknown, path: string): string {
  return typeof value === 'string' && value.length <= maxIdLength
    ? value
    : fail(path, `a string of at most ${maxIdLength} characters`, value)
}

/** A name that every provider takes. */
export function toolNameAt(value: unknown, path: string): string {
  return typeof value === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(value) ? value : fail(path, 'the name of a tool', value)
}

/** `https:`, `http:` or `data:`: whatever else a URL may be opens something on the machine that reads it. */
export function urlAt(value: unknown, path: string): string {
  const isUrl = typeof value === 'string' && /^(https?:\/\/|data:)/i.test(value)
  return isUrl ? value : fail(path, 'a URL that begins with `https:`, `http:` or `data:`', value)
}

/** A value as JSON text. */
export function jsonOf(value: unknown, path: string): string {
  try {
    if (!isDeeperThan(maxLevels, value)) return JSON.stringify(value ?? null)
  } catch {
    // What can't be written is refused as what is too deep.
  }
  return fail(path, 'plain JSON of no great depth', value)
}

/** Node.js 26 writes JSON of any depth, earlier versions up to a few thousand levels. */
const maxLevels = 1_000

const maxIdLength = 512

function fail(path: string, expected: string, got: unknown): never {
  throw malformed(path, expected, got)
}
