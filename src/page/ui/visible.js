/** What a screen would not show, or would let change what stands around it; as in `src/cli/terminal/visible.ts`. Emoji are made of some of these, and stay. */
const unseen = /\p{RGI_Emoji}|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/gv

/** Parts of arguments that the service doesn't show are replaced by one of these. */
const standIns = ['[redacted]', '[too deep]', '[circular]', '[unreadable]']

/**
 * @param {string} text
 * @param {(character: string) => string} shownAs
 */
function replaceUnseen(text, shownAs) {
  return text.replace(unseen, (found) => (/^\p{RGI_Emoji}$/v.test(found) ? found : shownAs(found)))
}

/**
 * Text with everything in it to be seen: `‹U+202E›` stands for a character that a screen doesn't show. Line ends and tabs stay.
 * @param {string} text
 */
export function visible(text) {
  return replaceUnseen(text, (found) => {
    if (found === '\n' || found === '\t') return found
    return `‹U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`
  })
}

/**
 * JSON that says the same, without characters that a screen doesn't show.
 * @param {string} text
 */
export function escapedJson(text) {
  const escaped = (/** @type {string} */ found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
  return text
    .split('\n')
    .map((line) => replaceUnseen(line, escaped))
    .join('\n')
}

/**
 * What stands in for a part of a text that the service hides; undefined: nothing is hidden.
 * @param {string} text
 */
export function hiddenPart(text) {
  return standIns.find((standIn) => text.includes(standIn))
}
