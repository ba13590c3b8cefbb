/**
 * What a screen would not show, or would let change what stands around it: control characters, those that set the direction of writing or
 * have no width, other characters without a glyph. Emoji are made of some of these, and stay.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/v
const emoji = String.raw`\p{RGI_Emoji}`

/** Letters of scripts written from right to left: they change the order of what stands on their line. */
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFE\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u

/** `text` with everything in it to be seen: `‹U+202E›` stands for a character that a screen doesn't show. */
export function visible(text: string): string {
  if (!unseen.test(text)) return text
  const isEmoji = compiled(`^${emoji}$`, 'v')
  return text.replace(compiled(`${emoji}|${unseen.source}`, 'gv'), (found) => (isEmoji.test(found) ? found : `‹U+${codeOf(found)}›`))
}

const known = new Map<string, RegExp>()

/** Compiled on first use: the list of all emoji takes tens of milliseconds to read, also in a literal that is never used. */
function compiled(pattern: string, flags: string): RegExp {
  const found = known.get(pattern) ?? new RegExp(pattern, flags)
  known.set(pattern, found)
  return found
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
}

/** Whether a screen may show the text in another order than it is in. */
export function isReordered(text: string): boolean {
  return rightToLeft.test(text)
}

/** `text` in rows of at most `columns` cells, so that they can be counted. Of a character that may take two, two are taken. */
export function wrap(text: string, columns: number): string[] {
  const rows: string[] = []
  for (const line of text.split('\n')) {
    if (/^[\x20-\x7e]*$/.test(line)) {
      for (let at = 0; at === 0 || at < line.length; at += columns) rows.push(line.slice(at, at + columns))
      continue
    }
    let row = ''
    let cells = 0
    for (const [character] of line.matchAll(compiled(`${emoji}|.`, 'gsv'))) {
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
