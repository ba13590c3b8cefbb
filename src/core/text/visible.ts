/**
 * Characters that a screen doesn't show, or that change the text around them: control characters, marks that set the writing direction or
 * have no width, and others without a glyph. Emoji contain some of these characters, and are kept.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/v

/** Characters that change the order of the text after them. Marks that some languages need, such as U+200F, are not included. */
const overrides = /[\u202A-\u202E\u2066-\u2069]/g

/** Letters of right-to-left scripts, which change the order of the text on their line. */
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFE\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u

/**
 * A pattern that matches all emoji. Compiled on first use: parsing the list of emoji takes tens of milliseconds, and a regular expression
 * literal would be parsed even if it is never used.
 */
export const emojis: string = String.raw`\p{RGI_Emoji}`
let emoji: RegExp | undefined
let emojiOrUnseen: RegExp | undefined

/** Replaces each character of `text` that is invisible on a screen with the result of `shownAs`. */
export function replaceUnseen(text: string, shownAs: (character: string) => string): string {
  if (!unseen.test(text)) return text
  emoji ??= new RegExp(`^${emojis}$`, 'v')
  const isEmoji = emoji
  emojiOrUnseen ??= new RegExp(`${emojis}|${unseen.source}`, 'gv')
  return text.replace(emojiOrUnseen, (found) => (isEmoji.test(found) ? found : shownAs(found)))
}

/** Makes hidden characters visible: replaces each character that a screen doesn't show by its code, such as `‹U+202E›`. */
export function visible(text: string): string {
  return replaceUnseen(text, marked)
}

/** Like `visible`, but keeps line ends and tabs. */
export function visibleLines(text: string): string {
  return replaceUnseen(text, (found) => (found === '\n' || found === '\t' ? found : marked(found)))
}

/**
 * Prepares text in any language for display. Removes control characters except line ends and tabs. Replaces characters that change the
 * direction of the text by their codes.
 */
export function readable(text: string): string {
  return text.replace(/\p{Cc}/gu, (found) => (found === '\n' || found === '\t' ? found : '')).replace(overrides, marked)
}

/** Whether a screen may show the characters of the text in an order different from their stored order. */
export function isReordered(text: string): boolean {
  return rightToLeft.test(text)
}

function marked(character: string): string {
  return `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`
}
