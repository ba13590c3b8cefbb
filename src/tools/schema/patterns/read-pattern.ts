/**
 * Compiles a pattern of a schema as a JavaScript regular expression. Returns undefined if the pattern can't be read. JSON Schema prescribes
 * the flag `u`. However, many patterns need the flag `v`, contain unnecessary escapes (`\-`), or use the syntax of other languages (`(?i)`,
 * `\A`, `(?P<name>…)`).
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

/** Converts `\-` and other unnecessary escapes to a form that the flag `u` accepts, inside and outside character sets. */
function withNeededEscapes(source: string): string {
  return source.replace(/\\([\s\S])/g, (written, sign: string) => {
    if (/[a-zA-Z0-9^$\\.*+?()[\]{}|/]/.test(sign)) return written
    const code = sign.charCodeAt(0)
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : sign
  })
}

/**
 * Letters with a meaning after a backslash: with the flag `u` or `v` only (`ofFlags`), and in general (`meaningful`). Other languages give
 * a meaning to further letters.
 */
const ofFlags = 'pPq'
const meaningful = `${ofFlags}bBcdDfknrsStuvwWx`
/** Matches `[[:alpha:]]` and `a{,3}`, which have another meaning in JavaScript. */
const ofOthers = /\[:\^?[a-z]+:\]|\{,\d+\}/

/** Converts anchors and group names from the syntax of Python and other languages to the syntax of JavaScript. */
function inJavaScript(pattern: string): string {
  return pattern
    .replace(/^((?:\(\?[ims]+\))?)\\A/, '$1^')
    .replace(/\\[zZ]$/, '$')
    .replaceAll('(?P<', '(?<')
}
