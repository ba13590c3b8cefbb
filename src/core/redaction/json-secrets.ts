import { JsonScanner } from '../json/json-scanner.ts'
import { jsonIn } from '../json.ts'
import type { InParts } from '../time/give-way.ts'
import { isSecretKey, mayHaveSecretKey } from './secret-keys.ts'
import { REDACTED, type Span } from './spans.ts'

/** A key and the text between it and its value. Quotes are preceded by backslashes if the JSON is inside a JSON string. */
const keys = /(?<!\\)(\\*)"((?:[^"\\]|\\{1,8}u[0-9a-fA-F]{4}){1,100})\1"\s{0,100}:\s{0,100}/g

const keysInOnePart = 500

/**
 * Finds the values of secret-looking keys, and of `secretKeys`, in a text that is or contains JSON, whole or cut off. Skips property names
 * in a JSON Schema: no values follow them.
 */
export function* jsonSecretsIn(text: string, secretKeys: ReadonlySet<string>): InParts<Span[]> {
  const spans: Span[] = []
  if (!mayHaveKeys(text, secretKeys)) return spans
  let at = 0
  let count = 0
  for (const { 0: found, 1: slashes = '', 2: written = '', index } of text.matchAll(keys)) {
    if (++count % keysInOnePart === 0) yield
    if (index < at) continue
    const key = written.includes('\\')
      ? written.replace(/\\+u(.{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
      : written
    if (!isSecretKey(key) && !secretKeys.has(key)) continue
    const from = index + found.length
    const to = endOfValue(text, from, slashes.length)
    const value = text.slice(from, Math.min(to, from + longestSchema))
    if (to === from || value === 'null' || value === REDACTED || isSchema(value, slashes)) continue
    spans.push({ from, to, shown: `${slashes}"${REDACTED}${slashes}"` })
    at = to
  }
  return spans
}

/** A key may be written with escapes. */
function mayHaveKeys(text: string, secretKeys: ReadonlySet<string>): boolean {
  if (!text.includes('"')) return false
  if (text.includes('\\u') || mayHaveSecretKey(text)) return true
  for (const key of secretKeys) if (text.includes(key)) return true
  return false
}

const longestSchema = 2_000
/** Keywords of a schema. Their values are not secrets. */
const schemaWords = new Set(
  '$ref type title description format minLength maxLength pattern minimum maximum items properties required additionalProperties anyOf oneOf allOf nullable readOnly writeOnly deprecated'.split(
    ' ',
  ),
)

const schemaMarks = /^(\$ref|type|anyOf|oneOf|allOf)$/
const schemaTypes = /^(string|number|integer|boolean|object|array|null)$/

function isSchemaType(type: unknown): boolean {
  return typeof type === 'string' && schemaTypes.test(type)
}

function isSchema(value: string, slashes: string): boolean {
  if (!value.startsWith('{') || !value.endsWith('}')) return false
  const json: unknown = jsonIn(slashes === '' ? value : value.replaceAll(`${slashes}"`, '"'))
  if (typeof json !== 'object' || json === null) return false
  const words = Object.keys(json)
  const { type = [] } = json as { type?: unknown }
  return words.some((word) => schemaMarks.test(word)) && words.every((word) => schemaWords.has(word)) && [type].flat().every(isSchemaType)
}
/**
 * The end of the value that starts at `from`, or of the text if that comes first. `slashes`: the number of backslashes before each quote of
 * this JSON.
 */
function endOfValue(text: string, from: number, slashes: number): number {
  const first = text[from + slashes] === '"' ? '"' : text[from]
  if (first === '"') return endOfString(text, from + slashes + 1, slashes)
  if (first !== '{' && first !== '[') return from + (/^[^\s,}\]\\]{0,100}/.exec(text.slice(from, from + 100))?.[0].length ?? 0)
  const json = new JsonScanner({ slashes })
  for (let at = from; at < text.length; at++) if (json.read(text.charCodeAt(at)) && json.depth === 0) return at + 1
  return text.length
}

/** The position after the closing quote of the string whose content starts at `from`. */
export function endOfString(text: string, from: number, slashes: number): number {
  const json = new JsonScanner({ slashes })
  json.isInString = true
  for (let at = from; at < text.length; at++) {
    json.read(text.charCodeAt(at))
    if (!json.isInString) return at + 1
  }
  return text.length
}
