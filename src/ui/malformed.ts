import { show, ToolloopError } from '../core/errors.ts'
import { isDeeperThan } from '../core/json.ts'
import { isJsonObject, type JsonObject } from '../core/messages.ts'

// Checks of values that a client has sent. Each of these functions throws an error that names the invalid place.

/** Returns the error for an invalid value. `path` is its place in the input, such as `messages[0].parts[1].text`. */
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

/** Reads the id of a call. */
export function idAt(value: unknown, path: string): string {
  return typeof value === 'string' && value !== '' && value.length <= maxIdLength ? value : fail(path, 'the id of a call', value)
}

/** Reads the id that the page has given to a message. */
export function messageIdAt(value: unknown, path: string): string {
  return typeof value === 'string' && value.length <= maxIdLength
    ? value
    : fail(path, `a string of at most ${maxIdLength} characters`, value)
}

/** Reads the name of a tool. Allows only names that every provider accepts. */
export function toolNameAt(value: unknown, path: string): string {
  return typeof value === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(value) ? value : fail(path, 'the name of a tool', value)
}

/** Accepts only `https:`, `http:` and `data:` URLs, because any other URL could open a local resource of the machine that reads it. */
export function urlAt(value: unknown, path: string): string {
  const isUrl = typeof value === 'string' && /^(https?:\/\/|data:)/i.test(value)
  return isUrl ? value : fail(path, 'a URL that begins with `https:`, `http:` or `data:`', value)
}

export function jsonOf(value: unknown, path: string): string {
  try {
    if (!isDeeperThan(maxLevels, value)) return JSON.stringify(value ?? null)
  } catch {
    // The value can't be serialized.
  }
  return fail(path, 'plain JSON of no great depth', value)
}

/** Maximum depth of the JSON. Node.js before version 26 supports only a few thousand levels. */
const maxLevels = 1_000

const maxIdLength = 512

function fail(path: string, expected: string, got: unknown): never {
  throw malformed(path, expected, got)
}
