/**
 * Makes optional fields accept `undefined`, even in programs with `exactOptionalPropertyTypes`: `reason?: string` becomes `reason?: string
 * | undefined`, and an optional method becomes a field with the method's type. `text` is the compiler's output. Line numbers don't change.
 */
export function withUndefined(text) {
  let out = ''
  let at = 0
  /** The open brackets: `{`, `(`, `[`, or `class` for the body of a class. */
  const open = []
  /** Optional fields that have not ended: where their type starts in `out`, how deep they are, and what to put around it. */
  const fields = []
  /** Where the next declaration starts in `out`. Tells whether a `{` opens a class. */
  let head = 0

  const end = () => {
    const field = fields.at(-1)
    if (field === undefined || field.depth !== open.length) return
    fields.pop()
    const space = /\s*$/.exec(out)[0]
    out = out.slice(0, out.length - space.length)
    const type = out.slice(field.from)
    if (field.method !== undefined) out = `${out.slice(0, field.from)}{ ${field.method}${type} }["${field.method}"] | undefined`
    else if (!/(?:^|\| )undefined$/.test(type.trim()) || /=>|\bextends\b/.test(type)) {
      const isLoose = /=>|\bextends\b/.test(type)
      out = `${out.slice(0, field.from)}${isLoose ? type.replace(/^\s*/, '$&(') : type}${isLoose ? ')' : ''} | undefined`
    }
    out += space
  }

  while (at < text.length) {
    const skipped = /^(?:\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)/.exec(
      text.slice(at, at + 20_000),
    )?.[0]
    if (skipped !== undefined) {
      out += skipped
      at += skipped.length
      if (skipped.startsWith('/*')) head = out.length
      continue
    }
    const character = text[at]
    if (character === '{' || character === '(' || character === '[') {
      open.push(character === '{' && /(?:^|\s)class\s/.test(out.slice(head)) ? 'class' : character)
      if (character === '{') head = out.length + 1
    } else if (character === '}' || character === ')' || character === ']') {
      end()
      open.pop()
      if (character === '}') head = out.length + 1
    } else if (character === ';') {
      end()
      head = out.length + 1
    } else if (character === '?' && /[\w$]$/.test(out)) {
      const [inside, next] = [open.at(-1), text[at + 1]]
      if ((inside === '{' || inside === 'class') && next === ':') {
        out += '?:'
        at += 2
        fields.push({ from: out.length, depth: open.length })
        continue
      }
      if (inside === '{' && (next === '(' || next === '<')) {
        const method = /[\w$]+$/.exec(out)[0]
        out += '?: '
        at += 1
        fields.push({ from: out.length, depth: open.length, method })
        continue
      }
    }
    out += character
    at++
  }
  return out
}

/**
 * Makes declarations work without `@types/node`: what they import from it becomes `any`. `map`: their source map, whose lines are shifted
 * accordingly.
 */
export function withoutNodeTypes(text, map) {
  const lines = text.split('\n')
  const mapped = JSON.parse(map)
  const mappings = mapped.mappings.split(';')
  const insert = (at, line) => {
    lines.splice(at, 0, line)
    mappings.splice(at, 0, '')
  }
  for (let at = lines.length - 1; at >= 0; at--) {
    if (/^import .* from ['"]node:[^'"]+['"];$/.test(lines[at])) insert(at, '// @ts-ignore: without @types/node, it is any')
  }
  if (/AsyncDisposable|asyncDispose/.test(text)) insert(0, '/// <reference lib="esnext.disposable" />')
  return { text: lines.join('\n'), map: JSON.stringify({ ...mapped, mappings: mappings.join(';') }) }
}
