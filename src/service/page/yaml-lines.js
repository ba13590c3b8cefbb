/**
 * The line of a YAML text where a value is written, counted from 0, by its JSON Pointer: that of its innermost part that can be found. Good
 * for block style, where a key begins a line; what is written in braces is found by the line they begin in. Undefined: nothing of it is there.
 * @param {string} text
 * @param {string} path
 */
export function lineOfPath(text, path) {
  const lines = text.split('\n')
  let from = 0
  let to = lines.length
  let indent = -1
  let found
  for (const part of path.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    const at = findPart(lines, name, from, to, indent)
    if (at === undefined) return found
    found = at
    indent = indentOf(lines[at] ?? '')
    from = at + 1
    to = endOf(lines, at, indent)
  }
  return found
}

/**
 * @param {string[]} lines
 * @param {string} name
 * @param {number} from
 * @param {number} to
 * @param {number} indent
 */
function findPart(lines, name, from, to, indent) {
  let item = -1
  for (let at = from; at < to; at++) {
    const line = lines[at] ?? ''
    const own = indentOf(line)
    if (own < 0 || own < indent) continue
    const content = line.trim()
    if (content.startsWith('- ') && String(++item) === name) return at
    const key = /^(?:- )?(["']?)([^"':#]+)\1\s*:/.exec(content)?.[2]
    if (key === name) return at
  }
  return undefined
}

/**
 * The line behind a block.
 * @param {string[]} lines
 * @param {number} at
 * @param {number} indent
 */
function endOf(lines, at, indent) {
  for (let next = at + 1; next < lines.length; next++) {
    const own = indentOf(lines[next] ?? '')
    if (own >= 0 && own <= indent && !(lines[next] ?? '').trim().startsWith('- ')) return next
  }
  return lines.length
}

/**
 * -1: there is nothing in the line.
 * @param {string} line
 */
function indentOf(line) {
  return /^\s*(#|$)/.test(line) ? -1 : line.search(/\S/)
}
