/**
 * A regular expression of a schema as JavaScript's; undefined for one that can't be read. JSON Schema asks for the flag `u`. Many people write
 * what only the flag `v` takes, or signs with a backslash that needs none (`\-`), or what Python and others take (`(?i)`, `\A`, `(?P<name>…)`).
 */
export function readPattern(pattern: string): RegExp | undefined {
  return read(pattern) ?? read(inJavaScript(pattern))
}

function read(pattern: string): RegExp | undefined {
  const [modifiers = '', flags = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? []
  const source = pattern.slice(modifiers.length)
  const asAsked = regExp(source, `${flags}u`) ?? regExp(withNeededEscapes(source), `${flags}u`)
  if (asAsked !== undefined) return asAsked
  const letters = [...source.matchAll(/\\([\s\S])/g)].flatMap(([, letter = '']) => (/[a-z]/i.test(letter) ? [letter] : []))
  if (letters.some((letter) => !meaningful.includes(letter)) || ofOthers.test(source)) return undefined
  const asSets = regExp(source, `${flags}v`)
  return asSets === undefined && !letters.some((letter) => ofFlags.includes(letter)) ? regExp(source, flags) : asSets
}

function regExp(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags)
  } catch {
    return undefined
  }
}

/** `\-` and other signs that need no backslash, as the flag `u` takes them: in sets of characters and outside. */
function withNeededEscapes(source: string): string {
  return source.replace(/\\([\s\S])/g, (written, sign: string) => {
    if (/[a-zA-Z0-9^$\\.*+?()[\]{}|/]/.test(sign)) return written
    const code = sign.charCodeAt(0)
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : sign
  })
}

/** Letters that mean something behind a backslash: without a flag, any other is the letter itself, and in other languages something else. */
const ofFlags = 'pPq'
const meaningful = `${ofFlags}bBcdDfknrsStuvwWx`
/** `[[:alpha:]]` and `a{,3}`, which JavaScript reads as something else. */
const ofOthers = /\[:\^?[a-z]+:\]|\{,\d+\}/

/** Anchors and names as Python and others write them. */
function inJavaScript(pattern: string): string {
  return pattern
    .replace(/^((?:\(\?[ims]+\))?)\\A/, '$1^')
    .replace(/\\[zZ]$/, '$')
    .replaceAll('(?P<', '(?<')
}
