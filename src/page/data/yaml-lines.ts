/**
 * The line of a value in a YAML text, from 0, by its JSON Pointer: that of its innermost part that can be found. Supports block style, in
 * which a key starts a line; values in braces are found by their first line. Undefined if nothing is found.
 */
export function lineOfPath(text: string, path: string) {
  return locate(text.split('\n'), path).line
}

/** All lines of a value, from 0; empty if its path is not found completely. */
export function linesOfPath(text: string, path: string) {
  const { line = 0, end } = locate(text.split('\n'), path)
  return end === undefined ? [] : Array.from({ length: end - line }, (_, at) => line + at)
}

/** `end` is the line after the value; absent if the path was not found completely. */
function locate(lines: string[], path: string): { line?: number; end?: number } {
  let from = 0
  let to = lines.length
  let line: number | undefined
  for (const part of path.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    const at = findPart(lines, name, from, to)
    if (at === undefined) return { line }
    line = at
    from = at + 1
    to = endOf(lines, at)
  }
  return { line, end: to }
}

/** Finds a part of a block. Parts start in the column of the first one. */
function findPart(lines: string[], name: string, from: number, to: number) {
  let indent = -1
  let item = -1
  for (let at = from; at < to; at++) {
    const line = lines[at] ?? ''
    const own = indentOf(line)
    if (own < 0) continue
    if (indent < 0) indent = own
    if (own !== indent) continue
    const content = line.trim()
    if (isListItem(line)) {
      if (String(++item) === name) return at
    } else if (/^(["']?)([^"':#]+)\1\s*:/.exec(content)?.[2] === name) return at
  }
  return undefined
}

/** The line after a block. */
function endOf(lines: string[], at: number) {
  const indent = indentOf(lines[at] ?? '')
  const isItem = isListItem(lines[at])
  for (let next = at + 1; next < lines.length; next++) {
    const own = indentOf(lines[next] ?? '')
    // The items of a list may start in the same column as its key.
    if (own >= 0 && own <= indent && (isItem || own < indent || !isListItem(lines[next]))) return next
  }
  return lines.length
}

/** The indentation of a line; -1 for an empty line or a comment. */
function indentOf(line: string) {
  return /^\s*(#|$)/.test(line) ? -1 : line.search(/\S/)
}

function isListItem(line: string | undefined = '') {
  return /^\s*-(\s|$)/.test(line)
}
