import { isJsonObject } from '../../core/messages.ts'

/** The fields that are read, and whether each is a text. Others are of other programs. */
const isText = { name: true, description: true, license: true, compatibility: true, metadata: false, 'allowed-tools': false }

/** A field at the beginning of a line. A capital begins a sentence that continues in the next line: `Note: …`. */
const fieldLine = /^([a-z][\w-]*):(?:[ \t]+(.*))?$/
/** Announces a text in the lines below. */
const blockMark = /^[|>][-+\d]{0,2}$/

/**
 * Reads a frontmatter that is not valid YAML, field by field: as YAML where that works, else as the text that stands there. That is how its author
 * and other programs read it. `readYaml` rejects for what is not YAML.
 */
export async function readLoosely(frontmatter: string, readYaml: (source: string) => Promise<unknown>): Promise<Record<string, unknown>> {
  const fields: [string, unknown][] = []
  for (const [name, lines] of splitFields(frontmatter)) {
    if (!Object.hasOwn(isText, name)) continue
    const read: unknown = await readYaml(lines.join('\n')).catch(() => undefined)
    // With more in it, a line of the text was taken for a field.
    const value = isJsonObject(read) && Object.keys(read).length === 1 ? read[name] : undefined
    const isRead = isText[name as keyof typeof isText] ? typeof value !== 'object' : isJsonObject(value) || Array.isArray(value)
    fields.push([name, value !== undefined && isRead ? value : asWritten(lines)])
  }
  return Object.fromEntries(fields)
}

/** The lines of each field. Of a field that is there twice, the first counts. */
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

/** The text of a field, or the fields below it. */
function asWritten([first = '', ...rest]: readonly string[]): unknown {
  const value = fieldLine.exec(first)?.[2] ?? ''
  const below = rest.map((line) => line.trim())
  if (value === '' && below.some((line) => fieldLine.test(line))) {
    return Object.fromEntries([...splitFields(below.join('\n'))].map(([name, lines]) => [name, asWritten(lines)]))
  }
  if (blockMark.test(value)) return below.join(value.startsWith('|') ? '\n' : ' ').trim()
  return withoutQuotes([value, ...below].join(' ').trim())
}

/** Only if they enclose all of it: `"One" and "two"` has them inside, `'It's one'` an apostrophe. */
function withoutQuotes(text: string): string {
  const [, quote, inner = ''] = /^(["'])(.*)\1$/.exec(text) ?? []
  const isOther = quote === undefined || new RegExp(`(?<!\\w)${quote}|${quote}(?!\\w)`).test(inner)
  return isOther ? text : inner
}
