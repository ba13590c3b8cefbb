/**
 * Compiles a pattern of a schema as a JavaScript regular expression. Returns undefined if it can't be read. JSON Schema prescribes the flag
 * `u`, but many patterns need the flag `v`, escape characters that need no escape (`\-`), or use the syntax of Python and others (`(?i)`,
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

/** Rewrites `\-` and other unnecessary escapes in a form that the flag `u` accepts, inside and outside of character sets. */
function withNeededEscapes(source: string): string {
  return source.replace(/\\([\s\S])/g, (written, sign: string) => {
    if (/[a-zA-Z0-9^$\\.*+?()[\]{}|/]/.test(sign)) return written
    const code = sign.charCodeAt(0)
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : sign
  })
}

/**
 * Letters that have a meaning after a backslash. Without a flag, a backslash before any other letter means the letter; in other languages
 * it means something else.
 */
const ofFlags = 'pPq'
const meaningful = `${ofFlags}bBcdDfknrsStuvwWx`
/** `[[:alpha:]]` and `a{,3}`, which mean something else in JavaScript. */
const ofOthers = /\[:\^?[a-z]+:\]|\{,\d+\}/

/** Converts anchors and group names from the syntax of Python and others. */
function inJavaScript(pattern: string): string {
  return pattern
    .replace(/^((?:\(\?[ims]+\))?)\\A/, '$1^')
    .replace(/\\[zZ]$/, '$')
    .replaceAll('(?P<', '(?<')
}
