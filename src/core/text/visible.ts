/**
 * What a screen would not show, or would let change what stands around it: control characters, those that set the direction of writing or
 * have no width, other characters without a glyph. Emoji are made of some of these, and stay.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/v

/** Characters that change the order of what follows them. Marks that only languages need, such as U+200F, are not among them. */
const overrides = /[\u202A-\u202E\u2066-\u2069]/g

/** Letters of scripts written from right to left: they change the order of what stands on their line. */
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFE\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u

/** A pattern of all emoji. Compiled on first use: their list takes tens of milliseconds to read, also in a literal that is never used. */
export const emojis: string = String.raw`\p{RGI_Emoji}`
let emoji: RegExp | undefined
let emojiOrUnseen: RegExp | undefined

/** `text` with each character that a screen doesn't show replaced by what `shownAs` returns for it. */
export function replaceUnseen(text: string, shownAs: (character: string) => string): string {
  if (!unseen.test(text)) return text
  emoji ??= new RegExp(`^${emojis}$`, 'v')
  const isEmoji = emoji
  emojiOrUnseen ??= new RegExp(`${emojis}|${unseen.source}`, 'gv')
  return text.replace(emojiOrUnseen, (found) => (isEmoji.test(found) ? found : shownAs(found)))
}

/** `text` with everything in it to be seen: `‹U+202E›` stands for a character that a screen doesn't show. */
export function visible(text: string): string {
  return replaceUnseen(text, marked)
}

/** As `visible`, but line ends and tabs stay. */
export function visibleLines(text: string): string {
  return replaceUnseen(text, (found) => (found === '\n' || found === '\t' ? found : marked(found)))
}

/** Text for reading, in any language: without control characters but line ends and tabs, and with those to be seen that change its direction. */
export function readable(text: string): string {
  return text.replace(/\p{Cc}/gu, (found) => (found === '\n' || found === '\t' ? found : '')).replace(overrides, marked)
}

/** Whether a screen may show the text in another order than it is in. */
export function isReordered(text: string): boolean {
  return rightToLeft.test(text)
}

function marked(character: string): string {
  return `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`
}
