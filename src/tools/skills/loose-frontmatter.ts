import { isJsonObject } from '../../core/messages.ts'

/** The supported fields. `true` if the value is a text. */
const isText = { name: true, description: true, license: true, compatibility: true, metadata: false, 'allowed-tools': false }

/** Matches a field at the start of a line. Ignores capitalized names, which may begin a line of a multi-line text, such as `Note: …`. */
const fieldLine = /^([a-z][\w-]*):(?:[ \t]+(.*))?$/
/** Matches the YAML mark (`|` or `>`) of a text on the following lines. */
const blockMark = /^[|>][-+\d]{0,2}$/

/**
 * Reads a frontmatter that is not valid YAML. Reads each field as YAML if possible, otherwise as plain text, as other applications do.
 * `readYaml` rejects if a text is not YAML.
 */
export async function readLoosely(frontmatter: string, readYaml: (source: string) => Promise<unknown>): Promise<Record<string, unknown>> {
  const fields: [string, unknown][] = []
  for (const [name, lines] of splitFields(frontmatter)) {
    if (!Object.hasOwn(isText, name)) continue
    const read: unknown = await readYaml(lines.join('\n')).catch(() => undefined)
    // With several keys, the YAML parser has misread a line of the text as a field.
    const value = isJsonObject(read) && Object.keys(read).length === 1 ? read[name] : undefined
    const isRead = isText[name as keyof typeof isText] ? typeof value !== 'object' : isJsonObject(value) || Array.isArray(value)
    fields.push([name, value !== undefined && isRead ? value : asWritten(lines)])
  }
  return Object.fromEntries(fields)
}

/** Returns the lines of each field. If a field occurs twice, the first occurrence counts. */
function splitFields(text: string): Map<string, string[]> {
  const fields = new Map<string, string[]>()
  let current: string[] = []
  for (const line of text.split('\n').map((each) => each.trimEnd())) {
    const name = fieldLine.exec(line)?.[1]
    if (name === undefined) {
      if (!line.startsWith('#')) current.push(line)
      continue
    }
    current = [line]
    if (!fields.has(name)) fields.set(name, current)
  }
  return fields
}

/** Returns the value of a field: a text, or a mapping of fields. */
function asWritten([first = '', ...rest]: readonly string[]): unknown {
  const value = fieldLine.exec(first)?.[2] ?? ''
  const below = rest.map((line) => line.trim())
  if (value === '' && below.some((line) => fieldLine.test(line))) {
    return Object.fromEntries([...splitFields(below.join('\n'))].map(([name, lines]) => [name, asWritten(lines)]))
  }
  if (blockMark.test(value)) return below.join(value.startsWith('|') ? '\n' : ' ').trim()
  return withoutQuotes([value, ...below].join(' ').trim())
}

/** Removes quotes only if they enclose the whole text. Keeps the quotes in `"One" and "two"` and in `'It's one'`. */
function withoutQuotes(text: string): string {
  const [, quote, inner = ''] = /^(["'])(.*)\1$/.exec(text) ?? []
  const isOther = quote === undefined || new RegExp(`(?<!\\w)${quote}|${quote}(?!\\w)`).test(inner)
  return isOther ? text : inner
}
