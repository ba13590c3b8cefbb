import type { Style } from '../style.ts'

export interface Span {
  text: string
  styles: readonly Style[]
}

/**
 * How far ahead to search for the end of an emphasis, a code span or a link, in UTF-16 code units. If no end is found, the opening mark is
 * plain text.
 */
const longestSpan = 2_000

interface Found {
  spans: Span[]
  length: number
}

/** The result of reading a span. `'wait'` means that more text is needed to decide. Undefined means that the text is plain. */
type Reading = Found | 'wait' | undefined

/** A position in a text. `isWhole` says whether the line is complete. */
interface Reader {
  text: string
  at: number
  before: string
  isWhole: boolean
  styles: readonly Style[]
}

/**
 * Returns the spans at the start of the text that later text can't change, and the length of the text that they cover. `before` is the
 * character before the text. If `isWhole`, the line is complete, so all spans are final.
 */
export function readInline(text: string, before: string, isWhole: boolean, styles: readonly Style[] = []): Found {
  const spans: Span[] = []
  let at = 0
  while (at < text.length) {
    const plain = /^[^\\`*_~[!<]+/.exec(text.slice(at))?.[0]
    if (plain !== undefined) {
      spans.push({ text: plain, styles })
      at += plain.length
      continue
    }
    const found = readSpan({ text, at, before: at === 0 ? before : (text[at - 1] ?? ''), isWhole, styles })
    if (found === 'wait') break
    if (found === undefined) {
      spans.push({ text: text[at] ?? '', styles })
      at++
    } else {
      spans.push(...found.spans)
      at += found.length
    }
  }
  return { spans, length: at }
}

function readSpan(reader: Reader): Reading {
  const { text, at, isWhole } = reader
  const rest = text.slice(at, at + longestSpan)
  const mayGrow = !isWhole && rest.length < longestSpan
  switch (text[at]) {
    case '\\':
      if (rest.length === 1) return mayGrow ? 'wait' : undefined
      return /^\\[!-/:-@[-`{-~]/.test(rest) ? { spans: [{ text: rest[1] ?? '', styles: reader.styles }], length: 2 } : undefined
    case '`':
      return readCode(rest, mayGrow, reader)
    case '!':
    case '[':
      return readLink(rest, mayGrow, reader)
    case '<':
      return readAddress(rest, mayGrow, reader)
    default:
      return readEmphasis(rest, mayGrow, reader)
  }
}

function readCode(rest: string, mayGrow: boolean, { styles }: Reader): Reading {
  const marks = /^`+/.exec(rest)?.[0] ?? ''
  if (marks.length === rest.length) return mayGrow ? 'wait' : asText(rest, styles)
  const end = new RegExp(`(?<!\`)${marks}(?!\`)`).exec(rest.slice(marks.length))
  // If the text stops after these marks, another backtick could follow, so the end of the code span is not certain.
  if (end === null || marks.length + end.index + marks.length === rest.length) {
    if (mayGrow) return 'wait'
    if (end === null) return asText(marks, styles)
  }
  const inside = rest.slice(marks.length, marks.length + end.index)
  const text = inside.startsWith(' ') && inside.endsWith(' ') && inside.trim() !== '' ? inside.slice(1, -1) : inside
  return { spans: [{ text, styles: [...styles, 'cyan'] }], length: end.index + 2 * marks.length }
}

function readLink(rest: string, mayGrow: boolean, { styles }: Reader): Reading {
  const [whole, label = '', url = ''] = /^!?\[([^\]\n]*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)/.exec(rest) ?? []
  if (whole === undefined) {
    const mayBeOne = /^!?(?:\[[^\]\n]*(?:\](?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\([^()\s]*|\s+(?:"[^"]*"?)?)?)?)?)?$/.test(rest)
    return mayGrow && mayBeOne ? 'wait' : undefined
  }
  const { spans } = readInline(label, '', true, [...styles, 'underline'])
  // The address is shown, because the text of a link must not hide its target.
  const address: Span[] = url === '' || url === label ? [] : [{ text: ` (${url})`, styles: [...styles, 'dim'] }]
  return { spans: [...spans, ...address], length: whole.length }
}

function readAddress(rest: string, mayGrow: boolean, { styles }: Reader): Reading {
  const [whole, url = ''] = /^<(https?:\/\/[^\s<>]+)>/.exec(rest) ?? []
  if (whole !== undefined) return { spans: [{ text: url, styles: [...styles, 'underline'] }], length: whole.length }
  return mayGrow && /^<(?:h|ht|htt|https?|https?:|https?:\/|https?:\/\/[^\s<>]*)?$/.test(rest) ? 'wait' : undefined
}

const looks: Readonly<Record<string, Style>> = { '**': 'bold', __: 'bold', '*': 'italic', _: 'italic', '~~': 'strikethrough' }

/** Lookaheads for characters that must not follow the end of an emphasis. */
const notBehind: Readonly<Record<string, string>> = { '*': '(?!\\*)', '~': '(?!~)', _: '(?![\\p{L}\\p{N}_])' }

function readEmphasis(rest: string, mayGrow: boolean, { before, styles }: Reader): Reading {
  const mark = rest[0] ?? ''
  const run = /^(\*+|_+|~+)/.exec(rest)?.[0] ?? mark
  if (run.length === rest.length) return mayGrow ? 'wait' : asText(run, styles)
  const marks = run.length >= 2 ? mark.repeat(2) : mark
  const look = looks[marks]
  const isInWord = mark === '_' && /[\p{L}\p{N}]/u.test(before)
  if (look === undefined || run.length > 3 || isInWord || /^\s/.test(rest.slice(run.length))) return asText(run, styles)
  const end = new RegExp(`(?<![\\s\\\\${mark}])${escaped(run)}${notBehind[mark]}`, 'u').exec(rest.slice(run.length))
  if (end === null || run.length + end.index + run.length === rest.length) {
    if (mayGrow) return 'wait'
    if (end === null) return asText(run, styles)
  }
  const inside = rest.slice(run.length, run.length + end.index)
  const inner: readonly Style[] = run.length === 3 ? [...styles, 'bold', 'italic'] : [...styles, look]
  return { spans: readInline(inside, mark, true, inner).spans, length: end.index + 2 * run.length }
}

function escaped(marks: string): string {
  return marks.replaceAll('*', '\\*')
}

function asText(text: string, styles: readonly Style[]): Found {
  return { spans: [{ text, styles }], length: text.length }
}
