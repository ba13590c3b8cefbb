import type { Key } from 'node:readline'

/** A key as Node.js tells of it, with names its types don't have: `paste-start`, `paste-end`. */
export type PressedKey = Key & { sequence?: string }

/** Sequences of terminals that tell Shift-Enter apart. https://sw.kovidgoyal.net/kitty/keyboard-protocol/ */
const shiftReturn = ['\x1b[13;2u', '\x1b[27;2;13~']

/** Its name, with what is held beside it: `ctrl-o`. */
export function nameOf({ name = '', ctrl, meta, sequence = '' }: PressedKey): string {
  if (shiftReturn.includes(sequence)) return 'shift-return'
  if (sequence === '\x1f') return 'ctrl-_'
  return `${ctrl ? 'ctrl-' : ''}${meta ? 'meta-' : ''}${name}`
}

/** Whether a key stands for a character of the text. */
export function isTyped(text: string | undefined, { ctrl, meta }: PressedKey): text is string {
  return text !== undefined && !ctrl && !meta && !/\p{Cc}/u.test(text)
}

/** Enter, by itself. */
export function isEnter({ name, ctrl, meta }: PressedKey): boolean {
  return name === 'return' && ctrl !== true && meta !== true
}
