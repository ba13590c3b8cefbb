/** What a screen would not show, or would let change what stands around it; as in `src/cli/terminal/visible.ts`. Emoji are made of some of these, and stay. */
const unseen = /\p{RGI_Emoji}|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/gv

/** Parts of arguments that the service doesn't show are replaced by one of these. */
const standIns = ['[redacted]', '[too deep]', '[circular]', '[unreadable]']

function replaceUnseen(text: string, shownAs: (character: string) => string): string {
  return text.replace(unseen, (found) => (/^\p{RGI_Emoji}$/v.test(found) ? found : shownAs(found)))
}

/** Text with everything in it to be seen: `‹U+202E›` stands for a character that a screen doesn't show. Line ends and tabs stay. */
export function visible(text: string): string {
  return replaceUnseen(text, (found) => {
    if (found === '\n' || found === '\t') return found
    return `‹U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`
  })
}

/** JSON that says the same, without characters that a screen doesn't show. */
export function escapedJson(text: string): string {
  const escaped = (found: string) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
  return text
    .split('\n')
    .map((line) => replaceUnseen(line, escaped))
    .join('\n')
}

/** What stands in for a part of a text that the service hides; undefined: nothing is hidden. */
export function hiddenPart(text: string): string | undefined {
  return standIns.find((standIn) => text.includes(standIn))
}
