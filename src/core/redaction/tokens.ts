import type { Look, Span } from './spans.ts'

// To keep the search linear, each pattern either starts only at the first character of a run, or reads a limited number of characters.

/** Prefixes of keys. */
const marks =
  'sk- sk_ pk- pk_ rk_ xai- gsk_ gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glpat- glrt- gldt- xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- whsec_ shpat_ shpss_ shpca_ shppa_ dop_v1_ lin_api_ ntn_ figd_ dckr_pat_ sbp_ r8_ pplx- nvapi- tvly- csk- tskey- lsv2_pt_ lsv2_sk_ AIza AKIA ASIA ya29. hvs. SG. pypi-AgE AGE-SECRET-KEY-'.split(
    ' ',
  )
/** Further prefixes. After them, only letters and digits belong to the key, because names of packages may start with the same prefix. */
const plainMarks = ['hf_', 'npm_']
const fewest = 16
/** The length of the shortest match of all patterns: `://:p@`. */
const shortest = 6

// The patterns are separate, because one combined pattern takes six times as long.
const tokens = [
  new RegExp(`(?<![A-Za-z0-9_])(?:${marks.map(literal).join('|')})[\\w-]{${fewest},}(?:\\.[\\w-]{${fewest},})?`, 'g'),
  new RegExp(`(?<![A-Za-z0-9_])(?:${plainMarks.join('|')})[A-Za-z0-9]{${fewest},}`, 'g'),
  // A JSON Web Token, signed or encrypted.
  /(?<![\w-])eyJ[\w-]{8,4000}\.[\w-]{8,}\.[\w-]*(?:\.[\w-]+){0,2}/g,
  // The token of a Telegram bot.
  /(?<=(?<![\w-])\d{8,10}:)AA[\w-]{30,}/g,
  new RegExp(`(?<![A-Za-z0-9_])(?:${['bearer', 'basic'].map(inAnyCase).join('|')})\\s{1,16}[\\w.~+/=-]{8,}`, 'g'),
]
const privateKey = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,60}-----|$)/gi
/** Patterns of passwords in URLs, and of the secret part of webhook URLs. */
const inAddress = [
  // Does not match a port that is followed by a query with an e-mail address.
  /:\/\/[^\s/:@]{0,256}:(?!\d{1,5}[?#])([^\s/"'<>]{1,256})(?=@)/g,
  /(?:hooks\.slack\.com\/services|discord(?:app)?\.com\/api\/webhooks)\/([\w/-]{16,})/g,
]
const mostOfCredentials = 4_000
const allMarks = [...marks, ...plainMarks]
/** Patterns of an unfinished token. They are applied from the start of the last word of the text. */
const unfinishedRun = [
  new RegExp(`(?<![A-Za-z0-9_])(?:${allMarks.map(beginningsOf).join('|')}|(?:${allMarks.map(literal).join('|')})[\\w.-]*)$`, 'g'),
  /(?<![\w-])(?:ey?|eyJ[\w.-]*)$/g,
]
/** Patterns of an unfinished token that may have several words. */
const unfinished = [
  /(?<=(?<![\w-])\d{8,10}:)A(?:A[\w-]*)?$/g,
  /(?<=(?:hooks\.slack\.com\/services|discord(?:app)?\.com\/api\/webhooks)\/)[\w/-]+$/g,
  new RegExp(`(?<![A-Za-z0-9_])(?:${beginningsOf('bearer')}|${beginningsOf('basic')}|(?:bearer|basic)\\s{1,16}[\\w.~+/=-]*)$`, 'gi'),
  /-{1,5}$|-----[A-Z0-9 ]{1,70}-{0,5}$/gi,
  /(?<=:\/\/[^\s/:@]{0,256}:)(?!\d{1,5}[?#])[^\s/"'<>]{1,256}$/g,
]

/** Finds text that looks like a key or token, and passwords in URLs. */
export function tokensIn(text: string): Span[] {
  const found: Span[] = []
  const add = ({ 0: whole, 1: part = whole, index }: RegExpExecArray) =>
    found.push({ from: index + whole.length - part.length, to: index + whole.length })
  if (text.length < shortest) return found
  // `search` is several times as fast as the iterator of `matchAll`, and most texts have no token.
  for (const pattern of tokens) if (text.search(pattern) >= 0) for (const one of text.matchAll(pattern)) if (!areWords(one[0])) add(one)
  if (text.includes('-----')) for (const one of text.matchAll(privateKey)) add(one)
  if (text.includes('://')) for (const pattern of inAddress) for (const one of text.matchAll(pattern)) add(one)
  return found
}

/** Like `tokensIn`, for a text that is not complete yet. Looks for unfinished tokens from `start` on. */
export function lookForTokens(text: string, start: number): Look {
  const found = tokensIn(text)
  let decided = text.length
  const look = (pattern: RegExp, from: number) => {
    pattern.lastIndex = from
    decided = Math.min(decided, pattern.exec(text)?.index ?? decided)
  }
  // If the search started earlier, the patterns would read the text repeatedly, once for every dash and period.
  const run = startOfLastRun(text, start)
  for (const pattern of unfinishedRun) look(pattern, run)
  for (const pattern of unfinished) look(pattern, start)
  return { found, decided }
}

function startOfLastRun(text: string, start: number): number {
  let from = text.length
  while (from > start && /[\w.-]/.test(text[from - 1] ?? '')) from--
  return from
}

/**
 * `Basic` and `bearer` are also words. The text after them is a credential only if it looks like one. For example, `JavaScript` does not.
 */
function areWords(found: string): boolean {
  if (/^basic\s/i.test(found)) return !hasUserAndPassword(found.slice(5).trimStart())
  if (found.startsWith('Bearer') || !/^bearer\s/i.test(found)) return false
  return !/[\d=+/]|[A-Z][a-z][A-Z]|[a-z][A-Z]{1,2}[a-z][A-Z]|^[a-z]{1,2}[A-Z]/.test(found.slice(5, 80).trimStart())
}

/** Whether a text is `user:password` in base64, possibly cut off. */
function hasUserAndPassword(credentials: string): boolean {
  const base64 = /^[\w+/-]*/.exec(credentials.slice(0, mostOfCredentials))?.[0] ?? ''
  const text = Buffer.from(base64, 'base64')
    .toString()
    .replace(/\ufffd$/, '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no text has them
  return text.includes(':') && !/[\x00-\x1f\x7f\ufffd]/.test(text)
}

function inAnyCase(word: string): string {
  return [...word].map((letter) => `[${letter.toUpperCase()}${letter}]`).join('')
}

/** A pattern that matches every prefix of a text. */
function beginningsOf(text: string): string {
  return [...text].map(literal).reduceRight((rest, character) => (rest === '' ? character : `${character}(?:${rest})?`), '')
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
