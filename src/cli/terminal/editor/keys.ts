import type { Key } from 'node:readline'

/** A key as Node.js reports it. `name` can have values that are missing from its types: `paste-start` and `paste-end`. */
export type PressedKey = Key & { sequence?: string }

/** The escape sequences of Shift-Enter in terminals that distinguish it. https://sw.kovidgoyal.net/kitty/keyboard-protocol/ */
const shiftReturn = ['\x1b[13;2u', '\x1b[27;2;13~']

/** Returns the name of a key with its modifiers, such as `ctrl-o`. */
export function nameOf({ name = '', ctrl, meta, sequence = '' }: PressedKey): string {
  if (shiftReturn.includes(sequence)) return 'shift-return'
  if (sequence === '\x1f') return 'ctrl-_'
  return `${ctrl ? 'ctrl-' : ''}${meta ? 'meta-' : ''}${name}`
}

/** Whether a key inserts text. */
export function isTyped(text: string | undefined, { ctrl, meta }: PressedKey): text is string {
  return text !== undefined && !ctrl && !meta && !/\p{Cc}/u.test(text)
}

/** Whether a key is Enter without modifiers. */
export function isEnter({ name, ctrl, meta }: PressedKey): boolean {
  return name === 'return' && ctrl !== true && meta !== true
}
