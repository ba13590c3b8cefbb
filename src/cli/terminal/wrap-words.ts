import { charactersOf } from './editor/edited-text.ts'
import { cellsOf } from './editor/layout.ts'

/** For the code of each style, the code that turns the style off. */
const offCodes: Readonly<Record<string, string>> = { 1: '22', 2: '22', 3: '23', 4: '24', 9: '29' }
/** Matches a line with a name and its description in two columns. */
const twoColumns = /^( {2,}\S+(?: \S+)*) {2,}(?=\S)/
/** The indent of continuation rows if there is little space. */
const narrowHang = 4
/** Matches the characters after which a long word should be broken, if possible. */
const breaks = /[,;:/\\&?)}\]|]$/

/**
 * Wraps a line between words, into rows of up to `columns` cells. Continuation rows are indented to the position where the line's text
 * starts. Colors continue in the next row. A word that is longer than a row is broken. A URL is broken only with `exact`, so that people
 * can open and copy it.
 */
export function wrapWords(
  line: string,
  columns: number,
  { hang = hangOf(line), exact = false }: { hang?: number; exact?: boolean } = {},
): string[] {
  if (cellsOf(line) <= columns) return [line]
  if (hang > narrowHang && hang * 2 > columns && twoColumns.test(line))
    return wrapWords(line.replace(twoColumns, '$1  '), columns, { hang: narrowHang, exact })
  const indent = ' '.repeat(hang * 2 <= columns ? hang : Math.min(narrowHang, Math.floor(columns / 4)))
  const rows: string[] = []
  const styles: string[] = []
  let row = ''
  let cells = 0
  /** `isBegun`: the row has more than its indent. `hasWord`: the row has more than spaces. */
  let [isBegun, hasWord] = [false, false]
  const next = (): void => {
    // A row that has only spaces is dropped: the word that doesn't fit after the spaces starts a new row.
    if (hasWord) rows.push(`${row.trimEnd()}${styles.length === 0 ? '' : '\x1b[0m'}`)
    const spaces = rows.length === 0 ? '' : indent
    row = `${spaces}${styles.map((code) => `\x1b[${code}m`).join('')}`
    cells = spaces.length
    isBegun = false
    hasWord = false
  }
  const put = (text: string, width: number): void => {
    row += text
    cells += width
    isBegun = true
    hasWord ||= text.trim() !== ''
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors begin with it
  for (const [token, code] of line.matchAll(/\x1b\[(\d+)m|\s+|[^\s\x1b]+|\x1b/g)) {
    const width = code === undefined ? cellsOf(token) : 0
    if (code !== undefined) {
      row += token
      restyle(styles, code)
    } else if (cells + width <= columns) put(token, width)
    else if (/^\s/.test(token)) {
      if (isBegun) next()
    } else {
      const most = columns - indent.length
      const isWhole = width <= most || (!exact && token.includes('://'))
      if (isBegun && (isWhole || (columns - cells) * 2 < most)) next()
      for (const [at, part] of (isWhole ? [token] : partsOf(token, columns - cells, most)).entries()) {
        if (at > 0) next()
        put(part, cellsOf(part))
      }
    }
  }
  rows.push(row)
  return rows
}

/** Returns the indent of continuation rows. They are aligned with the text after a bullet or number, or with the second column. */
function hangOf(line: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors begin with it
  const plain = line.replace(/\x1b\[\d+m/g, '')
  const [column] = twoColumns.exec(plain) ?? []
  return cellsOf(column ?? /^\s*(?:[•☐☑→✓✗] |\d{1,3}[.)] |(?:│ )+)?/.exec(plain)?.[0] ?? '')
}

function restyle(styles: string[], code: string): void {
  if (code === '0') styles.length = 0
  else if (Object.values(offCodes).includes(code) || code === '39') {
    const isOff = (style: string) => (offCodes[style] ?? '39') === code
    for (let at = styles.length - 1; at >= 0; at--) if (isOff(styles[at] ?? '')) styles.splice(at, 1)
  } else styles.push(code)
}

/** Splits a word. The first part has up to `first` cells, and the others up to `columns`. */
function partsOf(word: string, first: number, columns: number): string[] {
  const parts: string[] = []
  let part = ''
  let cells = 0
  for (const character of charactersOf(word)) {
    const width = cellsOf(character)
    if (cells + width > (parts.length === 0 ? first : columns) && part !== '') {
      const cut = lastBreak(part)
      parts.push(part.slice(0, cut))
      part = part.slice(cut)
      cells = cellsOf(part)
    }
    part += character
    cells += width
  }
  return [...parts, part]
}

/**
 * Returns the position after the last preferred break in the second half of a text. Returns the end of the text if there is no such break.
 */
function lastBreak(part: string): number {
  for (let at = part.length; at > part.length / 2; at--) if (breaks.test(part.slice(0, at))) return at
  return part.length
}
