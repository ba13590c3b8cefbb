import { parseAst } from 'rolldown/parseAst'

/** Code without white space, with a line for each statement: a stack trace has lines to point at, and Node.js shows one of them, not all. */
export function breakLines(code) {
  const starts = new Set()
  const visit = (node) => {
    if (Array.isArray(node)) for (const item of node) visit(item)
    else if (node !== null && typeof node === 'object') {
      const statements = node.type === 'SwitchCase' ? node.consequent : node.body
      if (Array.isArray(statements)) for (const { start } of statements) starts.add(start)
      for (const value of Object.values(node)) visit(value)
    }
  }
  visit(parseAst(code).body)
  let from = 0
  const lines = []
  for (const start of [0, ...starts].sort((a, b) => a - b)) {
    if (start > from) lines.push(code.slice(from, start))
    from = start
  }
  return [...lines, code.slice(from)].join('\n')
}
