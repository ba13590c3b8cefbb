import { isBarePlaceholder, isQuotedPlaceholder } from './placeholders.ts'
import { isSecretKey } from './secret-keys.ts'
import { type Look, REDACTED, type Span } from './spans.ts'

/**
 * Matches an option of a command line, and the separator before its value. The separator may be nothing, spaces, `=`, or the quotes and
 * comma between two items of a list.
 */
const option =
  /(?<![\w-])(--[A-Za-z][\w-]{0,60}(?![\w-])|-[A-Za-z#]{0,8}?[uUpa])(=["']?|["']?(?:[ \t]{1,4}|,[ \t]?)["']?|["'])?(?=[^\s"'`=,-])/g
const userOption = /^--(?:proxy-)?user$/
const bare = /[^\s"'`<>;|&\\]{1,512}/y
const values: Readonly<Record<string, RegExp>> = { '"': /[^"\r\n]{1,512}/y, "'": /[^'\r\n]{1,512}/y }
/**
 * A value in quotes directly after the option: `-p'…'`, `-u ann:'…'`. The value must not contain spaces, because a quote before a space may
 * end another text.
 */
const inQuotes = /[^\s"']{1,512}/y
const longestUser = 100
/**
 * Maximum distance between a command and its option, in characters. If a text is shown in pieces, more than this many earlier characters
 * must be kept for the search.
 */
const mostBefore = 200

const curl = /(?<![\w-])curl(?:\.exe)?(?![\w-])/
const httpie = /(?<![\w.-])(?:https?|xhs?)(?![\w:-])[^;|\r\n]*$/
const redis = /(?<![\w-])redis-cli(?![\w-])[^;|\r\n]*$/
const mysql = /(?<![\w-])(?:mysql|mariadb)[\w-]{0,20}(?:\.exe)?(?![\w-])[^;|\r\n]*$/
const sshpass = /(?<![\w-])sshpass["',\s]{1,4}$/
const registry =
  /(?<![\w-])(?:docker|podman|nerdctl|helm|oras|buildah|skopeo|crane)["',\s]{1,4}(?:registry["',\s]{1,4}|auth["',\s]{1,4})?login(?![\w-])[^;|\r\n]*$/

/** Finds passwords in the options of command lines: `curl -u ann:…`, `--user=ann:…`, `sshpass -p …`, `mysql -p…`, `redis-cli -a …`. */
export function credentialsIn(text: string, before = ''): Span[] {
  return lookForCredentials(text, before).found
}

/** Like `credentialsIn`, for a text that is not complete yet. `before`: the command line before the text. */
export function lookForCredentials(text: string, before = ''): Look {
  const look: Look = { found: [], decided: text.length }
  let behind = 0
  for (const { 0: whole, 1: name = '', 2: separator, index } of text.matchAll(option)) {
    if (index < behind) continue
    const from = index + whole.length
    const isQuoted = separator === '"' || separator === "'"
    const pattern = isQuoted ? inQuotes : (values[separator?.at(-1) ?? ''] ?? bare)
    let value = read(pattern, text, from)
    if (pattern === bare && value.endsWith(':')) value += quotedAt(text, from + value.length)
    if (from + value.length >= text.length) look.decided = Math.min(look.decided, from)
    if (isQuoted && !isClosed(text, from - 1, value)) continue
    const line = index >= mostBefore ? text.slice(index - mostBefore, index) : before + text.slice(0, index)
    // `--token …` and `--token=…` are left to `lookForNamedValues`.
    const isListed = separator?.includes(',') === true && isSecretKey(name.slice(2))
    const offset = isListed ? secretAt(value, 0) : secretIn(value, { name, isAttached: separator === undefined || isQuoted, before: line })
    if (offset === undefined) continue
    let to = from + value.length
    for (let more = value; more.length >= 512; to += more.length) more = read(pattern, text, to)
    look.found.push({ from: from + offset, to })
    behind = to
  }
  return look
}

function read(pattern: RegExp, text: string, from: number): string {
  pattern.lastIndex = from
  return pattern.exec(text)?.[0] ?? ''
}

/** Returns the quoted value at a position, with its opening quote. Returns `''` if no closed quote begins there. */
function quotedAt(text: string, at: number): string {
  const value = /["']/.test(text[at] ?? '') ? read(inQuotes, text, at + 1) : undefined
  return value !== undefined && isClosed(text, at, value) ? text[at] + value : ''
}

/** Whether the quote before the value is also closed after it. Also true if text that has not arrived yet may close it. */
function isClosed(text: string, at: number, value: string): boolean {
  const end = at + 1 + value.length
  return value.length >= 512 || end >= text.length || text[end] === text[at]
}

interface Option {
  name: string
  /** Whether the value follows without a space. */
  isAttached: boolean
  /** The command line before the option. */
  before: string
}

/** Returns the offset of the secret in the value of an option, or undefined if the value has no secret. */
function secretIn(value: string, { name, isAttached, before }: Option): number | undefined {
  const letter = name.at(-1)
  if (name.startsWith('--')) return isAttached || !userOption.test(name) ? undefined : passwordIn(value, curl.test(before))
  if (letter === 'u' || letter === 'U') {
    const isCurl = curl.test(before)
    // Outside curl, the value of `-u` may also be `user:group` or `host:folder`.
    return isCurl || (name === '-u' && !isAttached) ? passwordIn(value, isCurl) : undefined
  }
  if (letter === 'a') {
    if (name === '-a' && redis.test(before)) return secretAt(value, 0)
    return httpie.test(before) ? passwordIn(value, true) : undefined
  }
  const isPassword = isAttached ? mysql.test(before) || sshpass.test(before) : sshpass.test(before) || registry.test(before)
  return name === '-p' && isPassword ? secretAt(value, 0) : undefined
}

/** Returns the position of the password in `user:password`. */
function passwordIn(value: string, isCertain: boolean): number | undefined {
  const colon = value.slice(0, longestUser + 1).indexOf(':')
  if (colon < 0) return undefined
  const from = colon + (/["']/.test(value[colon + 1] ?? '') ? 2 : 1)
  const [user, password] = [value.slice(0, colon), value.slice(from)]
  const isOther = /^[/\\]/.test(password) || user === password || (/^\d+$/.test(user) && /^\d+$/.test(password))
  return isOther && !isCertain ? undefined : secretAt(value, from)
}

function secretAt(value: string, offset: number): number | undefined {
  const secret = value.slice(offset)
  const isPlaceholder = isBarePlaceholder(secret) || isQuotedPlaceholder(secret) || /^\$\(/.test(secret) || isSecretKey(secret)
  return secret === '' || isPlaceholder ? undefined : offset
}

const separateOption = /^(?:--[A-Za-z][\w-]{0,60}|-[A-Za-z#]{1,9})$/

/**
 * Hides passwords in a list that may be the words of a command line: `['-u', 'ann:…']`, `['--token', '…']`. `clean` redacts a single word.
 */
export function hideInWords(words: readonly unknown[], clean: (word: unknown) => unknown): unknown[] {
  let line = ''
  return words.map((word, at) => {
    if (typeof word !== 'string') return clean(word)
    const before = line
    line = `${line}${word.slice(0, mostBefore)} `.slice(-mostBefore)
    const offset = offsetAfter(words[at - 1], word, before)
    if (offset !== undefined) return `${clean(word.slice(0, offset))}${REDACTED}`
    const [inside] = word.startsWith('-') ? credentialsIn(word, before) : []
    return inside === undefined ? clean(word) : `${clean(word.slice(0, inside.from))}${REDACTED}`
  })
}

/** Returns the position of the secret in a word that follows an option. */
function offsetAfter(previous: unknown, word: string, line: string): number | undefined {
  if (typeof previous !== 'string' || !separateOption.test(previous) || word.startsWith('-')) return undefined
  if (previous.startsWith('--') && isSecretKey(previous.slice(2))) return secretAt(word, 0)
  return userOption.test(previous) || /^-[A-Za-z#]{0,8}[uUpa]$/.test(previous)
    ? secretIn(word, { name: previous, isAttached: false, before: line.slice(0, -previous.length - 1) })
    : undefined
}
