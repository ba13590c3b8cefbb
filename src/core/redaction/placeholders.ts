/** Words that stand for a value, and masks such as `***`. */
const words =
  /^(?:\*+|x{3,}|\.{2,}|…|-+|_+|true|false|null|none|nil|undefined|void|string|str|text|number|int|integer|boolean|bool|bytes|object|array|any|unknown|optional|required|secret|hidden|masked|redacted|bearer|basic|digest|value|omit|include|same-origin|empty|unset|missing|invalid|expired|yes|no|n\/a|https?:\/\/.*)$/i
/** `$NAME`, `$name`, `$this.name`, `%NAME%`, `%s`. A password may start with the same characters: `$ecretPa55w0rd`. */
const variable = /^\\?(?:\$(?:\d|[A-Z_][A-Z0-9_]*|[A-Za-z_]+\d{0,2})(?:-|(?:::?|\.)[A-Za-z_]*)*|%[\w-]+%|%-?\d*[a-z])$/
/** `${NAME}`, `<your-key>`, `[key]`, `{{ key }}`, `$(command)`. */
const inBrackets = /^\\?[$#%@]?(?:\{.*\}|\(.*\)\w?|\[.*\]|<.*>)$|\$\{[^}$]*\}/
const setting =
  /^(?:process|os|env|import|config|settings|secrets|self|this|args|options|params|req|request|ctx|context)\??\.[A-Za-z_$(].*$/i
const identifier = /^[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)*$/
const file = /^(?:(?:~|\.{1,2})\/|\/(?=[^\d]*$|[^/]*\/)).*\.(?:[A-Za-z]{1,5}|p12|p8)$/
const path = /^(?:~(?:\/|$)|\.{0,2}\/|[A-Za-z]:)/

/** An opening bracket of a call, an index or a placeholder. */
const opening = /^[$#%@]?[{[(<]|\$\{|\w[([]/
const closing: Readonly<Record<string, string>> = { '{': '}', '[': ']', '(': ')', '<': '>' }
const mostInBrackets = 100

/** Whether a quoted value is a placeholder. */
export function isQuotedPlaceholder(value: string): boolean {
  // In `'Token:', token`, the closing quote was mistaken for the opening quote of a value, so the supposed value starts with a comma.
  return /^(?:[,;)\]}:]|\W{1,3}$)/.test(value) || words.test(value) || variable.test(value) || inBrackets.test(value)
}

/** Whether an unquoted value is a placeholder or refers to a value: `none`, `$KEY`, `process.env.KEY`, `./key.pem`. */
export function isBarePlaceholder(value: string): boolean {
  return words.test(value) || variable.test(value) || setting.test(value) || file.test(value)
}

/** Whether a value is a property path: `settings.apiKey`. */
export function isCode(value: string): boolean {
  return value.includes('.') && identifier.test(value) && !/\d/.test(value)
}

export function isIdentifier(value: string): boolean {
  return identifier.test(value)
}

/** Whether a value is a path under the name `PWD`: the current folder of a shell, not a password. */
export function isFolder(name: string, value: string): boolean {
  return name.toLowerCase() === 'pwd' && path.test(value)
}

/**
 * Finds a bracket between `from` and `to`. `isCode` is true if the bracket is closed on its line, as in `f(a, b)` and `${KEY}`. It is also
 * true if only brackets follow, as in `f({`. Undefined if there is no bracket.
 */
export function readBracket(text: string, from: number, to: number): { isCode: boolean; end: number } | undefined {
  const found = opening.exec(text.slice(from, to))
  if (found === null) return undefined
  const inside = from + found.index + found[0].length
  if (/^\W*$|[,{([]$/.test(text.slice(inside, to))) return { isCode: true, end: to }
  const closer = closing[text[inside - 1] ?? '']
  const most = Math.min(text.length, inside + mostInBrackets)
  for (let at = inside; at < most; at++) {
    if (text[at] === closer) return { isCode: true, end: at + 1 }
    if (text[at] === '\n' || text[at] === '\r') return { isCode: false, end: at }
  }
  return { isCode: false, end: most }
}
