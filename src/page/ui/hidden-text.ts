import { replaceUnseen } from '../../core/text/visible.ts'

/** Placeholders of the service for parts of arguments that it hides. */
const standIns = ['[redacted]', '[too deep]', '[circular]', '[unreadable]']

/** Equivalent JSON without invisible characters. */
export function escapedJson(text: string): string {
  const escaped = (found: string) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
  return text
    .split('\n')
    .map((line) => replaceUnseen(line, escaped))
    .join('\n')
}

/** The placeholder for a hidden part of a text; undefined if nothing is hidden. */
export function hiddenPart(text: string): string | undefined {
  return standIns.find((standIn) => text.includes(standIn))
}
