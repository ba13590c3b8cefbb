import { atOnce } from '../time/give-way.ts'
import { decodeText } from './decoded-text.ts'

/** One way to write a secret. */
export interface Form {
  text: string
  /** The number of characters of the secret after `text`. They are hidden without being compared. */
  behind: number
}

/**
 * Only this many leading characters of a secret are compared, because a text may quote only the start of a secret. If they match,
 * everything up to the length of the secret is hidden.
 */
const mostLookedFor = 100
/** Maximum number of bytes to compare in hexadecimal or base64. */
const mostBytes = 18
/** Minimum length of a secret that is also searched in base64 and in any letter case. Shorter secrets would match ordinary words. */
const shortest = 6

/** Whether a secret is so short that only its exact text is searched. */
export function isShortSecret(secret: string): boolean {
  return secret.length < shortest
}

/**
 * Returns the forms of a secret to search for. Forms of long secrets are case-folded. `isCut`: only the start of the secret is known, so
 * everything after a match is hidden.
 */
export function formsOf(secret: string, isCut: boolean): Form[] {
  // Decoding would make a short secret even shorter.
  const others = isShortSecret(secret) ? [JSON.stringify(secret).slice(1, -1)] : [decodedForm(secret), ...withoutBackslashes(secret)]
  const written = [...new Set([secret, ...others])].filter((text) => text !== '')
  const plain = written.map((text) => ({
    text: text.slice(0, mostLookedFor),
    behind: isCut ? Number.POSITIVE_INFINITY : Math.max(0, text.length - mostLookedFor),
  }))
  if (isShortSecret(secret)) return plain
  return [...plain, ...encodedForms(Buffer.from(secret), isCut)].map(({ text, behind }) => ({ text: foldCase(text), behind }))
}

function decodedForm(secret: string): string {
  return (atOnce(decodeText(secret))?.text ?? secret).replace(/\\$/, '')
}

/** Returns the secret without backslashes. In a text that escapes every character, decoding also drops the secret's own backslashes. */
function withoutBackslashes(secret: string): string[] {
  const text = secret.replaceAll('\\', '')
  return text.length < shortest ? [] : [decodedForm(text)]
}

/** Returns the forms of the secret in hexadecimal, and in base64 after 0, 1 or 2 other bytes. */
function encodedForms(bytes: Buffer, isCut: boolean): Form[] {
  const beginning = bytes.subarray(0, mostBytes)
  const behind = (characters: number) => (isCut ? Number.POSITIVE_INFINITY : characters)
  const hex = { text: beginning.toString('hex'), behind: behind(2 * (bytes.length - beginning.length)) }
  const base64 = [0, 1, 2].map((before) => {
    const written = Buffer.concat([Buffer.alloc(before), beginning]).toString('base64')
    // Compares only base64 characters whose six bits all come from the secret.
    const from = Math.ceil((before * 8) / 6)
    const to = Math.floor(((before + beginning.length) * 8) / 6)
    return { text: written.slice(from, to), behind: behind(Math.ceil(((before + bytes.length) * 8) / 6) - to) }
  })
  return [hex, ...base64]
}

/**
 * Folds the case of a text and keeps its length. A space equals the `+` that replaces it in URLs. The characters `-` and `_` of base64url
 * equal `+` and `/`.
 */
function foldCase(text: string): string {
  let folded = ''
  for (let at = 0; at < text.length; at++) folded += String.fromCharCode(foldedUnit(text.charCodeAt(at)))
  return folded
}

/** The folded code units. ASCII is filled in at import, and other code units when they are first needed. */
const foldedUnits = new Uint16Array(65_536)
for (let unit = 1; unit < 128; unit++) foldedUnits[unit] = String.fromCharCode(unit).toLowerCase().charCodeAt(0)
for (const [unit, like] of [' +', '-+', '_/'].map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)] as const)) foldedUnits[unit] = like

/** Folds one 16-bit code unit. */
export function foldedUnit(unit: number): number {
  const known = foldedUnits[unit] ?? 0
  if (known !== 0 || unit === 0) return known
  // Converts to upper case first, because some letters have two lower-case forms, such as σ and ς.
  const upper = String.fromCharCode(unit).toUpperCase()
  const folded = upper.length === 1 ? upper.toLowerCase() : ''
  foldedUnits[unit] = folded.length === 1 ? folded.charCodeAt(0) : unit
  return foldedUnits[unit] ?? 0
}
