import { jsonIn } from '../json.ts'
import { setField } from '../messages.ts'
import { atOnce, type InParts } from '../time/give-way.ts'
import { credentialsIn, hideInWords, lookForCredentials } from './credential-options.ts'
import { type DecodedText, decodeText } from './decoded-text.ts'
import { jsonSecretsIn, lookForNamedValues, namedValuesIn } from './named-values.ts'
import { isSecretKey } from './secret-keys.ts'
import { SecretTexts } from './secret-texts.ts'
import { hideParts, type Look, REDACTED, type Span } from './spans.ts'
import { lookForTokens, tokensIn } from './tokens.ts'

const maxDepth = 12
/** A word that is too short for a token. The shortest token that consists only of word characters has 19 characters. */
const shortWord = /^\w{0,18}$/

/**
 * Hides secrets in a text. Replaces `secrets` in any encoding, and everything that looks like a key or token. A key is recognized by its
 * shape, or because it follows a name such as `password`. `secretKeys` adds JSON keys whose values are replaced.
 */
export function redactText(text: string, secrets: Iterable<string> = noSecrets, secretKeys: ReadonlySet<string> = noKeys): string {
  return atOnce(redactTextInParts(text, secretTextsOf(secrets), secretKeys))
}

/** Like `redactText`, but in parts, for texts of several megabytes. */
export function* redactTextInParts(text: string, secrets: SecretTexts, secretKeys: ReadonlySet<string> = noKeys): InParts<string> {
  if (secrets.isFull && text !== '') return REDACTED
  if (shortWord.test(text) && !secrets.mayBeIn(text)) return text
  const spans = yield* spansIn(text, secrets, secretKeys)
  return spans.length === 0 ? text : hideParts(text, spans)
}

/**
 * Replaces `secrets`, and keys that are recognized by their shape. Values that are recognized only by a name before them
 * (`password: …`) stay, because a program may read the text.
 */
export function redactTokens(text: string, secrets: Iterable<string> = noSecrets): string {
  const known = secretTextsOf(secrets)
  const decoded = atOnce(decodeText(text))
  return hideParts(text, [...known.findIn(text), ...inBoth(text, decoded, tokensIn)])
}

/** Finds the parts of a text that must be hidden. */
export function secretsIn(text: string, secrets: SecretTexts): Span[] {
  return atOnce(spansIn(text, secrets, noKeys))
}

const noKeys: ReadonlySet<string> = new Set()
const noSecrets = new SecretTexts()

// All searches use the original text. If one match were hidden first, part of another match could stay visible.
function* spansIn(text: string, secrets: SecretTexts, secretKeys: ReadonlySet<string>): InParts<Span[]> {
  const json = yield* jsonSecretsIn(text, secretKeys)
  const decoded = yield* decodeText(text)
  const known = yield* secrets.findInParts(text, decoded)
  yield
  const tokens = inBoth(text, decoded, tokensIn)
  yield
  const named = inBoth(text, decoded, namedValuesIn)
  yield
  const credentials = inBoth(text, decoded, (one) => credentialsIn(one))
  return [...json, ...known, ...tokens, ...named, ...credentials]
}

/** Like `secretsIn`, for a text that is not complete yet. Ignores everything before `start`. */
export function lookForSecrets(text: string, secrets: SecretTexts, start: number): Look {
  const decoded = atOnce(decodeText(text))
  const found = atOnce(jsonSecretsIn(text, noKeys))
  let decided = text.length
  const take = (look: Look, end: number, place: Place = asItIs) => {
    decided = Math.min(decided, place(look.decided))
    for (const span of look.found) {
      found.push(place === asItIs ? span : placed(span, place))
      // If a match reaches the end, later text may make it longer.
      if (span.to >= end) decided = Math.min(decided, place(span.from))
    }
  }
  take(secrets.lookAt(text, decoded), Number.POSITIVE_INFINITY)
  take(lookForTokens(text, start), text.length)
  take(lookForNamedValues(text), text.length)
  take(lookForCredentials(text), text.length)
  for (const { from, to } of found) if (to >= text.length) decided = Math.min(decided, from)
  if (decoded !== undefined) {
    const { starts } = decoded
    const undone = decoded.text.slice(0, decoded.decided)
    const place = (at: number) => starts[at] ?? text.length
    const first = Math.max(
      0,
      starts.subarray(0, undone.length).findIndex((at) => at >= start),
    )
    take(lookForTokens(undone, first), undone.length, place)
    take(lookForNamedValues(undone), undone.length, place)
    take(lookForCredentials(undone), undone.length, place)
  }
  return { found: found.filter(({ from }) => from >= start), decided }
}

function inBoth(text: string, decoded: DecodedText | undefined, find: (text: string) => Span[]): Span[] {
  const found = find(text)
  if (decoded !== undefined) for (const span of find(decoded.text)) found.push(placed(span, (at) => decoded.starts[at] ?? 0))
  return found
}

/** Maps a position in a decoded text to a position in the original text. */
type Place = (at: number) => number

function asItIs(at: number): number {
  return at
}

/** Converts the positions of a span. Drops `shown`: its quotes fit the decoded text, but may be escaped in the original. */
function placed({ from, to }: Span, place: Place): Span {
  return { from: place(from), to: place(to) }
}

function secretTextsOf(secrets: Iterable<string>): SecretTexts {
  return secrets instanceof SecretTexts ? secrets : new SecretTexts(secrets)
}

/**
 * Copies `value` so that it is safe to log. Replaces values under secret-looking keys and texts that look like tokens, at any depth. Errors
 * become plain objects. Cycles, and values nested more than 12 levels deep, are cut off. Never throws. `secretKeys`: further keys whose
 * values are replaced. `secrets`: further texts to replace.
 */
export function redact(value: unknown, secretKeys: ReadonlySet<string> = noKeys, secrets: Iterable<string> = noSecrets): unknown {
  const known = secretTextsOf(secrets)
  const open = new Set<object>()
  const visit = (item: unknown, depth: number): unknown => {
    if (typeof item === 'string') return redactText(item, known, secretKeys)
    if (typeof item === 'bigint') return `${item}n`
    // JSON has no functions, and `JSON.stringify` would call one named `toJSON`.
    if (typeof item === 'function') return undefined
    if (typeof item !== 'object' || item === null) return item
    if (open.has(item)) return '[circular]'
    if (depth > maxDepth) return '[too deep]'
    open.add(item)
    try {
      return copy(item, depth + 1)
    } catch {
      return unreadable
    } finally {
      open.delete(item)
    }
  }
  const copy = (item: object, depth: number): unknown => {
    if (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) return `[${item.byteLength} bytes]`
    if (item instanceof Date) return Number.isNaN(item.getTime()) ? 'Invalid Date' : item.toISOString()
    if (Array.isArray(item) || item instanceof Set) return hideInWords([...item], (entry) => visit(entry, depth))
    if (!(item instanceof Error) && 'toJSON' in item && typeof item.toJSON === 'function') {
      const json: unknown = item.toJSON()
      if (json !== item) return visit(json, depth)
    }
    const clean: Record<string, unknown> = {}
    for (const [key, entry] of fieldsOf(item)) {
      const hidden = entry !== undefined && entry !== null && (isSecretKey(key) || secretKeys.has(key))
      const name = redactText(key, known)
      const copied = hidden ? REDACTED : visit(entry, depth)
      setField(clean, name, copied)
    }
    return clean
  }
  try {
    return visit(value, 0)
  } catch {
    return unreadable
  }
}

const unreadable = '[unreadable]'

/** Returns the fields of an object, a Map or an Error. If a getter throws, only the value of that field is lost. */
function fieldsOf(item: object): [key: string, entry: unknown][] {
  if (item instanceof Map) return Array.from(item, ([key, entry]) => [keyText(key), entry])
  const keys = Object.keys(item)
  if (item instanceof Error)
    keys.push(...['name', 'message', 'stack', 'cause', 'errors'].filter((key) => key in item && !keys.includes(key)))
  return keys.map((key) => [key, fieldOf(item, key)])
}

function fieldOf(item: object, key: string): unknown {
  try {
    return Reflect.get(item, key)
  } catch {
    return unreadable
  }
}

/** A Map's key as a text. An object is not rendered, because it could contain anything. */
function keyText(key: unknown): string {
  return (typeof key === 'object' && key !== null) || typeof key === 'function' ? `[${typeof key}]` : String(key)
}

/** Collects the values of `secretKeys` and of secret-looking keys, so that they can be hidden in other texts, too. */
export function secretTexts(value: unknown, secretKeys: ReadonlySet<string>): string[] {
  const found: string[] = []
  const visit = (item: unknown, hidden: boolean, depth: number): void => {
    if (depth > maxDepth) return
    if (typeof item === 'string' || typeof item === 'number') {
      if (hidden && String(item).length >= 3) found.push(String(item))
      // Models sometimes write an object as a string that contains its JSON.
      else if (typeof item === 'string' && /^\s*[[{"]/.test(item)) visit(jsonIn(item), hidden, depth + 1)
    } else if (Array.isArray(item)) {
      for (const entry of item) visit(entry, hidden, depth + 1)
    } else if (typeof item === 'object' && item !== null) {
      for (const [key, entry] of Object.entries(item)) visit(entry, hidden || secretKeys.has(key) || isSecretKey(key), depth + 1)
    }
  }
  visit(value, false, 0)
  return found
}
