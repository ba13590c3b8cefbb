import { atOnce } from '../time/give-way.ts'
import { decodeText } from './decoded-text.ts'

/** One way to write a secret, as it is looked for. */
export interface Form {
  text: string
  /** How many characters follow that are not looked for, but belong to it. */
  behind: number
}

/** Of a longer secret only the beginning is looked for: a text may quote no more of it. As many characters as it has are hidden from there on. */
const mostLookedFor = 100
/** Of its bytes in hexadecimal or base64. */
const mostBytes = 18
/** In characters. Shorter secrets are words of everyday texts in another case, or in base64. */
const shortest = 6

/** Whether it is looked for only as it is, in its own case. */
export function isShortSecret(secret: string): boolean {
  return secret.length < shortest
}

/**
 * The ways to write a secret that are looked for in a text, and in a text with its escapes undone. Those of secrets that aren't short are folded.
 * `isCut`: all that follows belongs to it.
 */
export function formsOf(secret: string, isCut: boolean): Form[] {
  // Without its escapes, a short one is still shorter.
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

/** With every character escaped, its backslashes begin no escape: they are left out of a decoded text. */
function withoutBackslashes(secret: string): string[] {
  const text = secret.replaceAll('\\', '')
  return text.length < shortest ? [] : [decodedForm(text)]
}

/** In hexadecimal, and in base64 behind 0, 1 or 2 other bytes. */
function encodedForms(bytes: Buffer, isCut: boolean): Form[] {
  const beginning = bytes.subarray(0, mostBytes)
  const behind = (characters: number) => (isCut ? Number.POSITIVE_INFINITY : characters)
  const hex = { text: beginning.toString('hex'), behind: behind(2 * (bytes.length - beginning.length)) }
  const base64 = [0, 1, 2].map((before) => {
    const written = Buffer.concat([Buffer.alloc(before), beginning]).toString('base64')
    // Only characters whose bits are all from the secret: six each.
    const from = Math.ceil((before * 8) / 6)
    const to = Math.floor(((before + beginning.length) * 8) / 6)
    return { text: written.slice(from, to), behind: behind(Math.ceil(((before + bytes.length) * 8) / 6) - to) }
  })
  return [hex, ...base64]
}

/**
 * The same text with as many characters, in which those are alike that differ by case alone. So are a space and the plus sign that stands for it
 * in forms, and the two alphabets of base64.
 */
function foldCase(text: string): string {
  let folded = ''
  for (let at = 0; at < text.length; at++) folded += String.fromCharCode(foldedUnit(text.charCodeAt(at)))
  return folded
}

/** Those of ASCII, and those of others that have been asked for. */
const foldedUnits = new Uint16Array(65_536)
for (let unit = 1; unit < 128; unit++) foldedUnits[unit] = String.fromCharCode(unit).toLowerCase().charCodeAt(0)
for (const [unit, like] of [' +', '-+', '_/'].map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)] as const)) foldedUnits[unit] = like

/** The same for one 16-bit character. */
export function foldedUnit(unit: number): number {
  const known = foldedUnits[unit] ?? 0
  if (known !== 0 || unit === 0) return known
  // Upper case first: of some letters there are two in lower case, such as σ and ς.
  const upper = String.fromCharCode(unit).toUpperCase()
  const folded = upper.length === 1 ? upper.toLowerCase() : ''
  foldedUnits[unit] = folded.length === 1 ? folded.charCodeAt(0) : unit
  return foldedUnits[unit] ?? 0
}
