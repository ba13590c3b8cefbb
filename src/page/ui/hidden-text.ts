import { replaceUnseen } from '../../core/text/visible.ts'

/** Parts of arguments that the service doesn't show are replaced by one of these. */
const standIns = ['[redacted]', '[too deep]', '[circular]', '[unreadable]']

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
