import { JsonScanner } from '../json/json-scanner.ts'
import { jsonIn } from '../json.ts'
import type { InParts } from '../time/give-way.ts'
import { isBarePlaceholder, isCode, isFolder, isIdentifier, isQuotedPlaceholder, readBracket } from './placeholders.ts'
import { isSecretKey, mayHaveSecretKey } from './secret-keys.ts'
import { type Look, REDACTED, type Span } from './spans.ts'

const longestName = 100
const mostSpaces = 8

/** Query parameters that hold secrets. Outside a query, their names are ordinary words. */
const secretParameters = /^(key|sig|signature|x-(amz|goog)-signature|code_verifier)$/i
const header = /^(?:proxy-)?authorization$/i
const cookies = /^(?:set-)?cookie$/i
/** Words that can precede `key` in the name of a secret: `api key`, `secret key`, `secret access key`. */
const beforeKey = /(?<![\w-])(?:api|secret(?: access)?) $/i
/** Matches the start of an XML element, up to its `>`. */
const openTag = /^<(?:[\w.-]{1,100}:)?([\w.-]{1,100})(?:\s[^<>]*)?$/
const longestTag = 300
const cdata = '<![CDATA['

/** The characters that separate a name from its value. */
const separator = /[:=>]/g
/** Matches an option of a command line and the spaces after it. */
const option = /(?<![\w-])--([A-Za-z][\w-]{1,60})[ ]{1,4}(?=[^\s-])/g

/**
 * The first 512 characters decide whether a value is a secret. Only secrets are read to their end, so that a text with many names is not
 * read many times.
 */
const mostLookedAt = 512

/** Matches an unquoted value, up to the next name with a value. */
const bare = /(?:(?![,;&]["']?[\w.-]{1,40}["']?[=:])[^\s"'`<>\\]){1,512}/y
/** The number of characters that `bare` looks ahead. */
const aheadOfBare = 48
/** Matches the rest of a line. The line end may be written as `\n`. */
const restOfLine = /(?:(?!\\[nr"])[^\r\n]){1,512}/y
const restOfQuoted = {
  '"': /(?:(?!\\[nr"])[^\r\n"]){1,512}/y,
  "'": /(?:(?!\\[nr"])[^\r\n']){1,512}/y,
  '`': /(?:(?!\\[nr"])[^\r\n`]){1,512}/y,
}
const scheme = /(?:bearer|basic|token|digest|negotiate|apikey|key|aws4-[\w-]{1,30}|hmac[\w-]{0,30}|oauth)[ \t]{1,16}/iy
const content = /[^<\r\n]{0,4096}/y
const slashesBeforeQuote = /\\{0,8}(?=["'`])/y
/** This many characters decide whether a text is a cookie. */
const mostOfCookie = 102
/** Emphasis around a label in Markdown: `**Password:** …`. */
const emphasis = /[*_]{1,3}(?=[ \t])/y
const behindValue = /[ \t]{0,16}/y

/**
 * Finds values that follow the name of a secret in text other than JSON: `password: …`, `?access_token=…`, `API_KEY=…`, `Cookie: …`,
 * `--token …`, `<password>…`. Ignores ordinary words of a sentence.
 */
export function namedValuesIn(text: string): Span[] {
  return lookForNamedValues(text).found
}

/** Like `namedValuesIn`, for a text that is not complete yet. */
export function lookForNamedValues(text: string): Look {
  const look: Look = { found: [], decided: text.length }
  if (!mayHaveSecretKey(text) && !/[?&#][\w-]{0,16}sig/i.test(text)) return look
  let behind = 0
  const note = (value: Value | undefined) => {
    if (value === undefined) return
    if (value.end >= text.length) look.decided = Math.min(look.decided, value.from)
    if (!value.isHidden) return
    look.found.push(value)
    behind = value.to
  }
  for (const { index } of text.matchAll(separator)) {
    if (index < behind) continue
    if (text[index] === '>') {
      if (endsSecretTag(text, index)) note(element(text, index + 1))
      continue
    }
    const name = nameBefore(text, index)
    if (name !== undefined) note(readValue(text, index, name))
  }
  if (!text.includes('--')) return look
  for (const { 0: found, 1: name = '', index } of text.matchAll(option))
    if (isSecretKey(name)) note(optionValue(text, index + found.length, name))
  return look
}

interface Name {
  name: string
  from: number
  /** The quote around the name; empty if the name has no quotes. */
  quote: string
}

interface Value extends Span {
  /** How far the text was read to decide whether the value is a secret. */
  end: number
  isHidden: boolean
}

/** Finds the name of a secret before a separator. */
function nameBefore(text: string, separatorAt: number): Name | undefined {
  let to = separatorAt
  while (to > 0 && separatorAt - to < mostSpaces && isSpace(text[to - 1])) to--
  for (let marks = 0; marks < 3 && text[to - 1] === '*'; marks++) to--
  const last = text[to - 1] ?? ''
  const quote = last === '"' || last === "'" || last === '`' ? last : ''
  if (quote !== '') to--
  if (quote !== '') while (text[to - 1] === '\\') to--
  let from = to
  while (from > 0 && to - from < longestName && isNameUnit(text.charCodeAt(from - 1))) from--
  // Skips the dashes of an option, and periods.
  while (from < to && (text[from] === '-' || text[from] === '.')) from++
  if (from === to) return undefined
  if (/^keys?$/i.test(text.slice(from, to))) from -= beforeKey.exec(text.slice(Math.max(0, from - 20), from))?.[0].length ?? 0
  const name = text.slice(from, to)
  if (name.includes(' ')) return { name, from, quote }
  return isSecretKey(name) || (isParameter(text[from - 1]) && secretParameters.test(name)) ? { name, from, quote } : undefined
}

function readValue(text: string, separatorAt: number, { name, from: nameFrom, quote }: Name): Value | undefined {
  const before = text[nameFrom - 1] ?? ''
  const kind = text[separatorAt]
  // Excludes the default of a shell variable: `${NAME:-default}`.
  if (before === '{' && text[nameFrom - 2] === '$') return undefined
  let from = separatorAt + 1
  // Accepts `==`, `=>` and `:=`. `::` and `://` don't separate a value from a name.
  if (kind === ':' && (text[from] === ':' || text.startsWith('//', from))) return undefined
  if (/[:=!<>]/.test(text[separatorAt - 1] ?? '')) return undefined
  // `==` is a comparison, so no value is assigned.
  if (text[from] === '=' && kind === '=') return undefined
  while (from < separatorAt + 3 && (text[from] === '=' || text[from] === '>')) from++
  const operator = text.slice(separatorAt, from)
  const isTight = from === separatorAt + 1 && kind === '=' && !isSpace(text[from]) && !isSpace(text[separatorAt - 1])
  if (kind === ':') {
    emphasis.lastIndex = from
    from += emphasis.exec(text)?.[0].length ?? 0
  }
  const afterSpaces = from
  while (from < afterSpaces + mostSpaces && isSpace(text[from])) from++
  if (from >= text.length) return undefined
  if (kind === ':' && operator === ':' && quote !== '"') {
    if (cookies.test(name)) return cookieValue(text, from, before)
    if (header.test(name)) return headerValue(text, from, { before, isAlone: standsAlone(text, nameFrom, quote) })
  }
  const inQuotes = quoted(text, from, name)
  if (inQuotes !== undefined) return inQuotes
  if (isParameter(before)) return bareValue(text, from, { name, isCertain: true, isAlone: true })
  return bareValue(text, from, {
    name,
    isCertain: isTight || (kind === ':' && quote !== '' && quote !== '`'),
    isAlone: standsAlone(text, nameFrom, quote),
  })
}

/** Reads a quoted value. Undefined if the value is not quoted. */
function quoted(text: string, from: number, name: string): Value | undefined {
  slashesBeforeQuote.lastIndex = from
  const slashes = slashesBeforeQuote.exec(text)?.[0].length
  if (slashes === undefined) return undefined
  const mark = text[from + slashes] ?? ''
  const start = from + slashes + 1
  if (mark === '"') {
    const to = endOfString(text, start, slashes)
    const value = text.slice(start, Math.min(start + mostLookedAt, to - 1 - slashes))
    const isHidden = !isQuotedPlaceholder(value) && !isFolder(name, value)
    const around = `${text.slice(from, from + slashes)}"`
    return { from, to, end: to, isHidden, shown: `${around}${REDACTED}${around}` }
  }
  let to = start
  const readTo = (most: number) => {
    while (to < most && text[to] !== mark && text[to] !== '\n') to += text[to] === '\\' ? 2 : 1
    to = Math.min(to, text.length)
  }
  readTo(Math.min(text.length, start + mostLookedAt))
  const value = text.slice(start, Math.min(to, start + mostLookedAt))
  const isHidden = value !== '' && !isQuotedPlaceholder(value) && !isFolder(name, value)
  if (isHidden) readTo(text.length)
  return { from: start, to, end: to, isHidden }
}

/** Reads the value after a command-line option. The value may also be an ordinary word of a sentence about the option. */
function optionValue(text: string, from: number, name: string): Value {
  const inQuotes = quoted(text, from, name)
  if (inQuotes !== undefined) return inQuotes
  const value = bareValue(text, from, { name, isCertain: false, isAlone: true })
  if (value.isHidden) return value
  const isNext = isSpace(text[value.to]) && /^--?[A-Za-z]/.test(text.slice(value.end, value.end + 3))
  const written = text.slice(value.from, value.to)
  const isHidden = isNext && written.length > 3 && mayBeValue(written, name) && readBracket(text, value.from, value.to) === undefined
  // To tell whether another option follows, the next three characters were read, too.
  return { ...value, end: value.end + 3, isHidden }
}

/** Reads an unquoted value. `isCertain`: the text at this position can only be a value. `isAlone`: the name begins a line or a clause. */
function bareValue(
  text: string,
  from: number,
  { name, isCertain, isAlone }: { name: string; isCertain: boolean; isAlone: boolean },
): Value {
  const start = text[from] === '<' ? from + 1 : from
  bare.lastIndex = start
  let runEnd = start + (bare.exec(text)?.[0].length ?? 0)
  const read = text.slice(from, runEnd)
  const isLong = read.length >= mostLookedAt
  const value = isLong ? read : withoutMarks(read)
  behindValue.lastIndex = runEnd
  let end = runEnd + (isLong ? aheadOfBare : (behindValue.exec(text)?.[0].length ?? 0))
  const isLast = isLong || (/^[.!]?$/.test(read.slice(value.length)) && (end >= text.length || /[\r\n|\\"'`]/.test(text[end] ?? '')))
  const bracket = readBracket(text, from, runEnd)
  const isHidden =
    mayBeValue(value, name) &&
    bracket?.isCode !== true &&
    (isCertain && bracket === undefined
      ? isParameter(text[from - name.length - 2]) || !isCode(value)
      : looksRandom(value) || (isAlone && isLast && value.length > 3 && bracket === undefined))
  if (!isLong || !isHidden) return { from, to: from + value.length, end: Math.max(end, bracket?.end ?? 0), isHidden }
  runEnd = endOf(bare, text, start)
  end = runEnd
  return { from, to: from + withoutMarks(text.slice(from, runEnd)).length, end, isHidden }
}

/** Matches the pattern repeatedly and returns the end of the last match. The pattern limits the length of each match. */
function endOf(pattern: RegExp, text: string, from: number): number {
  let end = from
  for (;;) {
    pattern.lastIndex = end
    const length = pattern.exec(text)?.[0].length ?? 0
    if (length === 0) return end
    end += length
  }
}

/** Removes trailing punctuation and brackets. */
function withoutMarks(run: string): string {
  let to = run.length
  while (to > 0 && ',;.!?)]}'.includes(run[to - 1] ?? '')) to--
  return run.slice(0, to)
}

/** Whether a value may be a secret: it is neither a placeholder nor a secret's name. */
function mayBeValue(value: string, name: string): boolean {
  return value.length > 1 && !isBarePlaceholder(value) && !isSecretKey(value) && value !== name && !isFolder(name, value)
}

/** Whether a value looks random: it is neither a word nor words joined by dashes. */
function looksRandom(value: string): boolean {
  if (value.length < 6 || isCode(value)) return false
  if (/^\d+$/.test(value)) return true
  if (/\d/.test(value)) return /[A-Za-z]/.test(value)
  return /[a-z][!@#$%^&*+=~?]./.test(value) || (value.length >= 16 && /[a-z][A-Z]/.test(value) && !isIdentifier(value))
}

function headerValue(text: string, from: number, { before, isAlone }: { before: string; isAlone: boolean }): Value | undefined {
  scheme.lastIndex = from
  const name = scheme.exec(text)?.[0] ?? ''
  const start = from + name.length
  if (name === '') return bareValue(text, from, { name: '', isCertain: false, isAlone })
  if (/^(?:digest|aws4|hmac|oauth)/i.test(name)) return { ...rest(text, start, before), isHidden: true }
  const value = bareValue(text, start, { name: '', isCertain: true, isAlone: true })
  // After `Basic` or `bearer`, a sentence may continue with an ordinary word.
  const isWord = /^[a-z]+$/.test(text.slice(value.from, value.to)) && !/[\r\n"'\\]/.test(text[value.end] ?? '\n')
  return { ...value, isHidden: value.isHidden && !isWord }
}

function cookieValue(text: string, from: number, before: string): Value {
  if (/^[\w.$!#%&*+^|~-]{1,100}=[^\s]/.test(text.slice(from, from + mostOfCookie))) return { ...rest(text, from, before), isHidden: true }
  return { from, to: from, end: from + mostOfCookie, isHidden: false }
}

/** Reads the rest of a line. If the name is in quotes, reads only up to the closing quote. */
function rest(text: string, from: number, before: string): Omit<Value, 'isHidden'> {
  const pattern = before === '"' || before === "'" || before === '`' ? restOfQuoted[before] : restOfLine
  const to = endOf(pattern, text, from)
  // The next character may belong to an escaped line end.
  return { from, to, end: to + (text[to] === '\\' ? 1 : 0) }
}

function endsSecretTag(text: string, at: number): boolean {
  let from = at - 1
  while (from > 0 && at - from < longestTag && text[from] !== '<' && text[from] !== '>') from--
  const name = text[from] === '<' ? openTag.exec(text.slice(from, at))?.[1] : undefined
  return name !== undefined && isSecretKey(name)
}

/** Reads the content of an XML element. */
function element(text: string, tagEnd: number): Value {
  const from = text.startsWith(cdata, tagEnd) ? tagEnd + cdata.length : tagEnd
  content.lastIndex = from
  const read = content.exec(text)?.[0] ?? ''
  const value = read.replace(/]]>$/, '')
  const closedAt = from + read.length
  // Without a closing tag, the name in angle brackets is not an element.
  const isHidden = text.startsWith('</', closedAt) && value !== '' && !isQuotedPlaceholder(value.trim())
  return { from, to: from + value.length, end: Math.max(closedAt + 2, tagEnd + cdata.length), isHidden }
}

function isParameter(before: string | undefined): boolean {
  return before === '?' || before === '&' || before === '#'
}

/** Whether a name begins its line or a quoted text, or follows a comma or bracket. A name inside a sentence follows a word instead. */
function standsAlone(text: string, nameFrom: number, quote: string): boolean {
  // The name may be a header in quotes, as in `curl -H "x-api-key: …"`.
  if (quote === '' && /["'`]/.test(text[nameFrom - 1] ?? '')) return true
  let at = nameFrom - (quote === '' ? 0 : 1)
  while (at > 0 && nameFrom - at < longestName && /[ \t*_>#-]/.test(text[at - 1] ?? '')) at--
  return at === 0 || /[\r\n,;{([|]/.test(text[at - 1] ?? '')
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}

function isNameUnit(unit: number): boolean {
  return (
    (unit >= 0x30 && unit <= 0x39) ||
    (unit >= 0x41 && unit <= 0x5a) ||
    (unit >= 0x61 && unit <= 0x7a) ||
    unit === 0x5f ||
    unit === 0x2d ||
    unit === 0x2e
  )
}

/** A key and the text between it and its value. Quotes are preceded by backslashes if the JSON is inside a JSON string. */
const keys = /(?<!\\)(\\*)"((?:[^"\\]|\\{1,8}u[0-9a-fA-F]{4}){1,100})\1"\s{0,100}:\s{0,100}/g

const keysInOnePart = 500

/**
 * Finds the values of secret-looking keys, and of `secretKeys`, in JSON. The text may contain other text as well, or be cut off. Skips
 * property names in a JSON Schema: a schema follows them, not a value.
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

/** Whether the text may contain the key of a secret. Escapes such as `\u0041` may be part of a key. */
function mayHaveKeys(text: string, secretKeys: ReadonlySet<string>): boolean {
  if (!text.includes('"')) return false
  if (text.includes('\\u') || mayHaveSecretKey(text)) return true
  for (const key of secretKeys) if (text.includes(key)) return true
  return false
}

const longestSchema = 2_000
/** Keywords of JSON Schema, whose values are not secrets. */
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
 * Returns the end of the value that starts at `from`. If the value is cut off, this is the end of the text. `slashes`: the number of
 * backslashes before each quote of this JSON.
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
function endOfString(text: string, from: number, slashes: number): number {
  const json = new JsonScanner({ slashes })
  json.isInString = true
  for (let at = from; at < text.length; at++) {
    json.read(text.charCodeAt(at))
    if (!json.isInString) return at + 1
  }
  return text.length
}
