import { emojis } from '../../core/text/visible.ts'

let emojiOrCharacter: RegExp | undefined

/**
 * Splits `text` into rows of up to `columns` cells, so that the rows can be counted. A character of ambiguous width counts as two cells.
 */
export function wrap(text: string, columns: number): string[] {
  emojiOrCharacter ??= new RegExp(`${emojis}|.`, 'gsv')
  const rows: string[] = []
  for (const line of text.split('\n')) {
    if (/^[\x20-\x7e]*$/.test(line)) {
      for (let at = 0; at === 0 || at < line.length; at += columns) rows.push(line.slice(at, at + columns))
      continue
    }
    let row = ''
    let cells = 0
    for (const [character] of line.matchAll(emojiOrCharacter)) {
      const width = character >= '\u1100' ? 2 : 1
      if (cells + width > columns) {
        rows.push(row)
        row = ''
        cells = 0
      }
      row += character
      cells += width
    }
    rows.push(row)
  }
  return rows
}
