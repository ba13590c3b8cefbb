import { isFileName } from './file-names.ts'
import type { Token } from './tokens.ts'

const abbreviations = new Set(['e.g', 'i.e', 'etc', 'vs', 'approx', 'incl', 'resp', 'max', 'min', 'no'])
const contractions: Record<string, string> = { re: 'are', ll: 'will', ve: 'have', d: 'would', m: 'am' }
const negations = new Map([
  ['wo', 'will'],
  ['ca', 'can'],
  ['ai', 'is'],
])
/** Behind these `'s` is a verb; behind other words it says whose. */
const takesIs = /^(what|how|where|which|who|when|it|that|there|here|this|let|one)$/i

/**
 * A run of characters without white space as tokens: the word, file name or path it is, and what was written onto it: a contraction
 * (`what's`, `don't`), a prefix (`non-test`), a full stop. `isPlace`: it stands where a place would, so `.` is the folder.
 */
export function readChunk(chunk: string, start: number, isPlace: boolean): Token[] {
  if (isPlace && /^\.\.?$/.test(chunk)) return [{ kind: 'path', text: chunk, word: chunk, start, end: start + chunk.length }]
  const full = chunk.replace(/[.…'’]+$/, '')
  const stop: Token = { kind: 'stop', text: '.', word: '.', start: start + full.length, end: start + chunk.length }
  if (full === '') return [stop]
  const { tokens, body } = readWord(full, start)
  const isStopped = /[.…]/.test(chunk.slice(full.length)) && !abbreviations.has(body.toLowerCase())
  if (isStopped) return [...tokens, stop]
  const last = tokens.at(-1)
  return last === undefined ? [] : [...tokens.slice(0, -1), { ...last, end: stop.end }]
}

/** A word, and a contraction or prefix as a word of its own. */
function readWord(full: string, start: number): { tokens: Token[]; body: string } {
  const end = start + full.length
  const word = (text: string, from: number, to: number, meaning = text.toLowerCase()): Token => ({
    kind: 'word',
    text,
    word: meaning,
    start: from,
    end: to,
  })
  const [, negated] = /^(.+)n['’]t$/i.exec(full) ?? []
  if (negated !== undefined) {
    const verb = negations.get(negated.toLowerCase()) ?? negated.toLowerCase()
    return { tokens: [word(full, start, end, verb), word("n't", end, end, 'not')], body: full }
  }
  const [, owner, ending] = /^(.+)['’](s|re|ll|ve|d|m)$/i.exec(full) ?? []
  if (owner !== undefined && ending !== undefined) {
    const meaning = contractions[ending.toLowerCase()] ?? (takesIs.test(owner) ? 'is' : "'s")
    const at = start + owner.length
    return { tokens: [classify(owner, start), word(meaning, at, end, meaning)], body: owner }
  }
  const [prefix] = /^non-(?=\w)/i.exec(full) ?? []
  if (prefix !== undefined) {
    const at = start + prefix.length
    return { tokens: [word(prefix, start, at, 'not'), classify(full.slice(prefix.length), at)], body: full }
  }
  return { tokens: [classify(full, start)], body: full }
}

/** A word, or the name of something: `src/a.ts`, `README.md`, `*.ts`, `.ts`. */
function classify(text: string, start: number): Token {
  return { kind: kindOf(text), text, word: text.toLowerCase(), start, end: start + text.length }
}

function kindOf(text: string): Token['kind'] {
  if (/^\.+\/?$/.test(text)) return 'path'
  if (abbreviations.has(text.toLowerCase())) return 'word'
  if (/[*{]/.test(text) && !/^\*+$/.test(text)) return 'glob'
  if (/^(?:and|or|yes|no|his|her|he|she)\/(?:or|and|no|yes|her|his|she|he)$/i.test(text)) return 'word'
  if (/[/\\]/.test(text) && /[\p{L}\p{N}_.]/u.test(text)) return 'path'
  if (isFileName(text)) return 'path'
  return /^\.[\p{L}\p{N}_]/u.test(text) ? 'ending' : 'word'
}
