import { isFileName } from './file-names.ts'
import { numberWord, scaleWord } from './numbers.ts'

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
  /"([^"\n]+)"/y,
  /`([^`\n]+)`/y,
  /“([^”\n]+)”/y,
  /„([^“”\n]+)[“”]/y,
  /«([^»\n]+)»/y,
  /‘([^’\n]+)’/y,
  /'([^'\n]+)'(?![\p{L}\p{N}])/uy,
]
const url = /https?:\/\/[^\s<>"'`“”]+/iy
const number = /(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+/y
const regex = /\/(?![/*\s])(?:[^/\\\s]|\\.)+\/(?=[\s,;.!?)]|$)/y
const chunk = /[^\s,;!?()"“”„«»`<>=:]+/uy
const space = /\s*/y

/** What may stand directly behind a number without being part of a name: `10KB`, `3rd`, `15%`. */
const numberEnd = /^(?:(?:[kmg]i?)?b(?:ytes)?\b|x\b|st\b|nd\b|rd\b|th\b|%|$|\s|[,;:!?()="'”’`*/^+×÷−–-]|\.(?!\w))/i
const operatorSigns = '*/^+-−–×÷%'
const abbreviations = new Set(['e.g', 'i.e', 'etc', 'vs', 'approx', 'incl', 'resp', 'max', 'min', 'no'])

/** Cuts a request into tokens. Takes any text, never throws; its time is linear in the text's length. */
export function tokenise(request: string): Token[] {
  const text = endLines(request)
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    space.lastIndex = at
    space.exec(text)
    const spaced = space.lastIndex > at || at === 0
    if (text.slice(at, space.lastIndex).includes('\n\n')) tokens.push(stopAt(at))
    at = space.lastIndex
    if (at >= text.length) break
    const token = readToken(text, at, spaced, tokens.at(-1))
    tokens.push(...token)
    at = token.at(-1)?.end ?? at + 1
  }
  return joinNumbers(tokens)
}

/** List items stand on lines of their own, without a full stop: each becomes a paragraph, and its mark goes. */
function endLines(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/(^|\n)[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+/g, (mark) => `\n\n${' '.repeat(Math.max(mark.length - 2, 0))}`)
}

function stopAt(at: number): Token {
  return { kind: 'stop', text: '', word: '.', start: at, end: at }
}

function readToken(text: string, at: number, spaced: boolean, before: Token | undefined): Token[] {
  const make = (kind: Token['kind'], end: number, shown = text.slice(at, end), value?: number): Token[] => [
    { kind, text: shown, word: shown.toLowerCase(), start: at, end, ...(value === undefined ? {} : { value }) },
  ]
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(text)
  }
  const found = match(url)
  if (found) return make('url', at + found[0].replace(/[.,;:!?)\]]+$/, '').length)
  const sign = text.charAt(at)
  if (spaced || /[([,:=]/.test(text.charAt(at - 1))) {
    for (const quote of quotes) {
      const quoted = match(quote)
      if (quoted) return make('quoted', at + quoted[0].length, quoted[1])
    }
    const pattern = sign === '/' ? match(regex) : null
    if (pattern && /[\\.*+?[(|^$]/.test(pattern[0])) return make('regex', at + pattern[0].length, pattern[0].slice(1, -1))
  }
  const digits = match(number)
  if (digits && numberEnd.test(text.slice(at + digits[0].length, at + digits[0].length + 8))) {
    return make('number', at + digits[0].length, digits[0], Number(digits[0].replaceAll(',', '')))
  }
  if (operatorSigns.includes(sign) && isOperator(text, at, spaced, before)) return make('operator', at + 1)
  if (sign === ',' || sign === ':' || sign === '=') return make('comma', at + 1)
  if (sign === '(') return make('open', at + 1)
  if (sign === ')') return make('close', at + 1)
  if (/[;!?]/.test(sign)) return make('stop', at + 1)
  const word = match(chunk)
  return word ? readChunk(word[0], at) : make('comma', at + 1)
}

/** Between numbers and brackets, or alone between spaces, a sign is an operator; in `*.ts` or `a-b` it is not. */
function isOperator(text: string, at: number, spaced: boolean, before: Token | undefined): boolean {
  const next = text.charAt(at + 1)
  const afterOperand = before !== undefined && before.end === at && (before.kind === 'number' || before.kind === 'close')
  if (afterOperand) return true
  if (/[\s\d(]/.test(next) || next === '') return spaced || before?.kind === 'operator' || before?.kind === 'open'
  return false
}

function readChunk(raw: string, at: number): Token[] {
  const full = raw.replace(/[.…'’]+$/, '')
  const possessive = /['’](s|re|ll|ve|d|m)$/i.exec(full)
  const body = possessive ? full.slice(0, possessive.index) : full
  if (body === '') return [{ kind: 'stop', text: raw, word: '.', start: at, end: at + raw.length }]
  const non = /^non-(?=\w)/i.exec(body)?.[0]
  const tokens =
    non === undefined
      ? [classify(body, at)]
      : [
          { kind: 'word' as const, text: non, word: 'not', start: at, end: at + non.length },
          classify(body.slice(non.length), at + non.length),
        ]
  const end = at + full.length
  if (possessive) tokens.push(contracted(body, (possessive[1] ?? '').toLowerCase(), at + body.length, end))
  const spelled = /^(.*)n['’]t$/i.exec(body)
  if (spelled && tokens[0]) {
    const stem =
      { "won't": 'will', "can't": 'can', "ain't": 'is' }[body.toLowerCase().replace('’', "'")] ?? (spelled[1] ?? '').toLowerCase()
    tokens.splice(0, 1, { ...tokens[0], word: stem }, { ...tokens[0], text: "n't", word: 'not' })
  }
  const ends = raw.length > full.length && /[.…]/.test(raw.slice(full.length)) && !abbreviations.has(body.toLowerCase())
  if (ends) tokens.push({ kind: 'stop', text: '.', word: '.', start: end, end: at + raw.length })
  const last = tokens.at(-1)
  if (last) last.end = at + raw.length
  return tokens
}

const isAfter = /^(what|how|where|which|who|when|it|that|there|here|this|let)$/i

function contracted(body: string, ending: string, start: number, end: number): Token {
  const word = { re: 'are', ll: 'will', ve: 'have', d: 'would', m: 'am' }[ending] ?? (isAfter.test(body) ? 'is' : "'s")
  return { kind: 'word', text: word, word, start, end }
}

function classify(body: string, at: number): Token {
  const token = (kind: Token['kind']): Token => ({ kind, text: body, word: body.toLowerCase(), start: at, end: at + body.length })
  if (/^\.+\/?$/.test(body)) return token('path')
  if (/[*{]/.test(body) && !/^\*+$/.test(body)) return token('glob')
  if (/^(?:and|or|yes|no|his|her|he|she)\/(?:or|and|no|yes|her|his)$/i.test(body)) return token('word')
  if (/[/\\]/.test(body) && /[\p{L}\p{N}_.]/u.test(body)) return token('path')
  if (isFileName(body)) return token('path')
  if (/^\.[\p{L}\p{N}_]/u.test(body)) return token('ending')
  return token('word')
}

/** `twenty-five`, `two hundred and fifty`, `3 million`, `a dozen` become one number. */
function joinNumbers(tokens: Token[]): Token[] {
  const joined: Token[] = []
  for (let at = 0; at < tokens.length; at++) {
    const run = readNumberWords(tokens, at)
    const token = tokens[at]
    if (token === undefined) break
    if (run === undefined) {
      joined.push(token)
      continue
    }
    const last = tokens[run.end - 1] ?? token
    joined.push({ kind: 'number', text: String(run.value), word: String(run.value), value: run.value, start: token.start, end: last.end })
    at = run.end - 1
  }
  return joined
}

function readNumberWords(tokens: readonly Token[], from: number): { value: number; end: number } | undefined {
  let total = 0
  let part: number | undefined
  let words = 0
  let at = from
  for (; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined) break
    const scale = token.kind === 'word' ? scaleWord(token.word) : undefined
    const small = token.kind === 'word' ? numberWord(token.word) : undefined
    if (token.kind === 'number' && at === from) part = token.value
    else if (
      small !== undefined &&
      (part === undefined || (part % 100 === 0 && small < 100) || (part % 10 === 0 && part % 100 >= 20 && small < 10))
    )
      part = (part ?? 0) + small
    else if (scale !== undefined && (part !== undefined || /^an?$/.test(tokens[from - 1]?.word ?? '') || scale > 12)) {
      if (scale === 100 || scale === 12) part = (part ?? 1) * scale
      else {
        total += (part ?? 1) * scale
        part = undefined
      }
    } else if (
      token.word === 'and' &&
      at > from &&
      (part ?? 0) % 100 === 0 &&
      words > 0 &&
      numberWord(tokens[at + 1]?.word ?? '') !== undefined &&
      scaled(tokens, at)
    ) {
      continue
    } else break
    words++
  }
  if (words === 0 || (words === 1 && tokens[from]?.kind === 'number')) return undefined
  return { value: total + (part ?? 0), end: at }
}

function scaled(tokens: readonly Token[], and: number): boolean {
  return scaleWord(tokens[and - 1]?.word ?? '') !== undefined
}
