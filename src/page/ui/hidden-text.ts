import { replaceUnseen } from '../../core/text/visible.ts'

/** The placeholders that the service uses for hidden parts of arguments. */
const standIns = ['[redacted]', '[too deep]', '[circular]', '[unreadable]']

/** Returns equivalent JSON in which invisible characters are escaped. */
export function escapedJson(text: string): string {
  const escaped = (found: string) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
  return text
    .split('\n')
    .map((line) => replaceUnseen(line, escaped))
    .join('\n')
}

/** Returns the placeholder for the hidden part of a text, or undefined if nothing is hidden. */
export function hiddenPart(text: string): string | undefined {
  return standIns.find((standIn) => text.includes(standIn))
}
