import { joinNumbers } from './number-words.ts'
import { readChunk } from './spelling.ts'
import { isOneOf } from './words.ts'

/**
 * One word or sign of a request. `text` is as it was typed (without its quotes), `word` is what the grammar compares:
 * lower case, contractions spelled out.
 */
export interface Token {
  kind: 'word' | 'number' | 'quoted' | 'path' | 'glob' | 'ending' | 'regex' | 'url' | 'operator' | 'comma' | 'open' | 'close' | 'stop'
  text: string
  word: string
  /** Of a number. */
  value?: number
  /** Where it stands in the request. */
  start: number
  end: number
}

const quotes = [
  /"([^"\n]{1,500})"/y,
  /`([^`\n]{1,500})`/y,
  /“([^”\n]{1,500})”/y,
  /„([^“”\n]{1,500})[“”]/y,
  /«([^»\n]{1,500})»/y,
  /‘([^’\n]{1,500})’/y,
  /'([^'\n]{1,500})'(?![\p{L}\p{N}])/uy,
]
const url = /https?:\/\/[^\s<>"'`“”]+/iy
const number = /(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+/y
/** What may stand directly behind a number without being part of a name: `10KB`, `3rd`, `15%`. */
const numberEnd = /^(?:(?:[kmg]i?)?b(?:ytes)?\b|x\b|st\b|nd\b|rd\b|th\b|%|$|\s|[,;:!?()="'”’`*^+×÷−–]|[-/](?![a-z_])|\.(?!\w))/i
/** `/foo.*bar/`; a path such as `/etc/` has no sign in it that a regular expression has. */
const regex = /\/(?![/*\s])(?:[^/\\\n]|\\.){1,300}\/(?=[\s,;.!?)]|$)/y
const regexSigns = /^\S*[\\.*+?[(|^$]\S*$|[\\*+?[(|^$]/
const chunk = /[^\s,;!?()"“”„«»`<>=:]+/uy
const space = /\s*/y
const operatorSigns = '*/^+-−–×÷%'
const signs: Record<string, Token['kind']> = {
  ',': 'comma',
  ':': 'comma',
  '=': 'comma',
  '(': 'open',
  ')': 'close',
  ';': 'stop',
  '!': 'stop',
  '?': 'stop',
}

/** Cuts a request into tokens. Takes any text, never throws; its time is linear in the text's length. */
export function tokenise(request: string): Token[] {
  const text = endListItems(request)
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    space.lastIndex = at
    const gap = space.exec(text)?.[0] ?? ''
    if (gap.includes('\n\n')) tokens.push({ kind: 'stop', text: '', word: '.', start: at, end: at })
    const isSpaced = gap !== '' || at === 0
    at += gap.length
    if (at >= text.length) break
    tokens.push(...readTokens(text, at, isSpaced, tokens.at(-1)))
    at = tokens.at(-1)?.end ?? text.length
  }
  return joinNumbers(tokens)
}

/** The items of a list stand on lines of their own, without full stops: each becomes a paragraph. All else keeps its place. */
function endListItems(text: string): string {
  return text.replace(/(^|\n)[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+/g, (mark) => `\n\n${' '.repeat(mark.length - 2)}`)
}

/** The token at `at`; several for a word with a contraction or a full stop. `isSpaced`: white space comes before it. */
function readTokens(text: string, at: number, isSpaced: boolean, before: Token | undefined): Token[] {
  const make = (kind: Token['kind'], length: number, shown = text.slice(at, at + length)): Token[] => [
    { kind, text: shown, word: shown.toLowerCase(), start: at, end: at + length },
  ]
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(text)
  }
  const address = match(url)
  if (address) return make('url', address[0].replace(/[.,;:!?)\]]+$/, '').length)
  if (isSpaced || /[([,:=]/.test(text.charAt(at - 1))) {
    const quoted = quotes.map(match).find((found) => found !== null)
    if (quoted) return make('quoted', quoted[0].length, quoted[1])
    const pattern = match(regex)?.[0]
    if (pattern !== undefined && regexSigns.test(pattern)) return make('regex', pattern.length, pattern.slice(1, -1))
  }
  const digits = match(number)?.[0]
  if (digits !== undefined && numberEnd.test(text.slice(at + digits.length, at + digits.length + 8))) {
    return make('number', digits.length).map((token) => ({ ...token, value: Number(digits.replaceAll(',', '')) }))
  }
  const sign = text.charAt(at)
  if (operatorSigns.includes(sign) && isOperator(text, at, isSpaced, before)) return make('operator', 1)
  const kind = signs[sign]
  if (kind !== undefined) return make(kind, 1)
  const word = match(chunk)
  // `under .` means the folder, `files .` ends a sentence.
  return word ? readChunk(word[0], at, isOneOf('place', before?.word)) : make('comma', 1)
}

/** Between numbers and brackets, or alone between spaces, a sign is an operator; in `*.ts` or `a-b` it is not. */
function isOperator(text: string, at: number, isSpaced: boolean, before: Token | undefined): boolean {
  if (before !== undefined && before.end === at && (before.kind === 'number' || before.kind === 'close')) return true
  const opens = isSpaced || before?.kind === 'operator' || before?.kind === 'open'
  return opens && /^(?:[\s\d(]|$)/.test(text.slice(at + 1, at + 2))
}
