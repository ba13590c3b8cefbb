/** A function as the whole script. A named function is part of a body that calls it. */
const functionStart = /^(?:async\s*)?(?:function\s*\(|\([^()]*\)\s*(?::[^={]{1,200})?=>|[\w$]+\s*=>)/
const calledStart = /^\(\s*(?:async\b|function\b|\([^()]*\)\s*=>)/
const calledEnd = /\)\s{0,20}\(\s{0,20}\)$/

/**
 * Returns the body of a script. The model is asked for a function body, but it may write the whole function or put the code in a code
 * fence. Line numbers stay the same, because decisions refer to lines by number.
 */
export function bodyOf(written: string): string {
  const code = withoutFence(written)
  const only = withoutEnd(code.trim())
  const before = code.slice(0, code.length - code.trimStart().length)
  if (functionStart.test(only)) return `${before}return await (${only})()`
  if (calledStart.test(only) && calledEnd.test(only)) return `${before}return await ${only}`
  return code
}

/** Replaces the line that opens a fence with an empty one. */
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
