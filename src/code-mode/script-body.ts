/**
 * Matches a script that consists of one function. A named function doesn't match, because a script that starts with one usually calls it on
 * a later line.
 */
const functionStart = /^(?:async\s*)?(?:function\s*\(|\([^()]*\)\s*(?::[^={]{1,200})?=>|[\w$]+\s*=>)/
const calledStart = /^\(\s*(?:async\b|function\b|\([^()]*\)\s*=>)/
const calledEnd = /\)\s{0,20}\(\s{0,20}\)$/

/**
 * Returns the body of a script. The model is asked for a function body, but it may write the whole function or put the code in a code
 * fence. Keeps line numbers, because people who decide on a call see the line of the call.
 */
export function bodyOf(written: string): string {
  const code = withoutFence(written)
  const only = withoutEnd(code.trim())
  const before = code.slice(0, code.length - code.trimStart().length)
  if (functionStart.test(only)) return `${before}return await (${only})()`
  if (calledStart.test(only) && calledEnd.test(only)) return `${before}return await ${only}`
  return code
}

/** Removes the code fence. Keeps line numbers: the opening fence becomes an empty line. */
function withoutFence(written: string): string {
  const fenced = written.trim()
  const lineEnd = fenced.indexOf('\n')
  const isFenced = /^```\w*[ \t]{0,20}$/.test(fenced.slice(0, lineEnd)) && fenced.endsWith('```')
  if (lineEnd === -1 || !isFenced) return written
  const linesBefore = written.slice(0, written.indexOf('```')).split('\n').length - 1
  return `${'\n'.repeat(linesBefore)}${fenced.slice(lineEnd, -3)}`
}

function withoutEnd(code: string): string {
  return code.endsWith(';') ? code.slice(0, -1).trimEnd() : code
}
