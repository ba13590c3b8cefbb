import { clip } from '../../core/errors.ts'
import { isJsonObject, type Json } from '../../core/messages.ts'
import { redactText, redactTokens } from '../../core/redaction/redact.ts'
import { isSecretKey } from '../../core/redaction/secret-keys.ts'
import { REDACTED } from '../../core/redaction/spans.ts'
import { type Problem, pointerTo } from '../http/problem.ts'

const reference = /^([A-Za-z]+ )?\$\{[A-Za-z_]\w*\}$/

/**
 * Finds secrets in the configuration file. Secrets belong in environment variables, because the file may be copied, committed or displayed.
 */
export function findInlineSecrets(value: Json): Problem[] {
  const problems: Problem[] = []
  const visit = (item: Json, key: string, path: string): void => {
    if (typeof item === 'string') {
      if (reference.test(item) || item === '') return
      if (isSecretKey(key) || redactTokens(item) !== item) {
        const message = 'must not be in the file: put it into the environment and name the variable, in `apiKeyEnv` or in braces after a $'
        problems.push({ path, message })
      }
    } else if (Array.isArray(item)) item.forEach((entry, at) => void visit(entry, key, pointerTo(path, at)))
    else if (isJsonObject(item)) for (const [name, entry] of Object.entries(item)) visit(entry, name, pointerTo(path, name))
    // A number is also reported, because it may be a password.
    else if (typeof item === 'number' && isSecretKey(key)) problems.push({ path, message: 'must not be in the file' })
  }
  visit(value, '', '')
  return problems
}

/**
 * Redacts the text of a file. The text need not be valid YAML. Hides a secret, the rest of its line, and its continuation lines. Never
 * throws.
 */
export function redactFile(text: string): string {
  const shown = redactLines(text).filter((line) => line !== undefined)
  return redactText(shown.join('\n'))
}

const linesBefore = 2

/**
 * Returns a line of a file and the two lines before it, redacted and numbered, with a mark below the column. Lines and columns count from
 * 1. Returns an empty text if one of the lines is hidden completely.
 */
export function excerptOf(text: string, line: number, column: number): string {
  const first = Math.max(1, line - linesBefore)
  const lines = redactLines(text).slice(first - 1, line)
  if (lines.includes(undefined)) return ''
  const clean = redactText(lines.join('\n')).split('\n')
  // The redaction of a secret that spans several lines changes the line numbers.
  if (clean.length !== lines.length) return ''
  const width = String(line).length
  const shown = clean.map((one, at) => `${String(first + at).padStart(width)} | ${clip(one)}`)
  const before = text.split('\n')[line - 1]?.slice(0, column - 1) ?? ''
  const last = clean.at(-1) ?? ''
  if (last.startsWith(before) && clip(last) === last) shown.push(`${' '.repeat(width)} | ${before.replace(/[^\t]/g, ' ')}^`)
  return shown.join('\n')
}

/** Redacts each line. A line that must be hidden completely becomes undefined. */
function redactLines(text: string): (string | undefined)[] {
  let hiddenBelow: number | undefined
  return text.split('\n').map((line) => {
    const indent = line.search(/\S/)
    if (hiddenBelow !== undefined && (indent < 0 || indent > hiddenBelow)) return undefined
    const at = secretIn(line)
    hiddenBelow = at === undefined ? undefined : indent
    return at === undefined ? line : `${line.slice(0, at)}${REDACTED}`
  })
}

/**
 * Finds the first key whose name suggests a secret. Returns the position at which its value starts, or undefined if there is no such key.
 */
function secretIn(line: string): number | undefined {
  for (const { 0: whole, 1: key = '', 2: value = '', index } of line.matchAll(
    /(?<![\w.-])([\w.-]+)["']?[ \t]*:[ \t]*("[^"]*"|'[^']*'|\$\{[^{}]*\}|(?:[^,{}[\]\s][^,}\s]*)?)/g,
  )) {
    const isReference = reference.test(value.replace(/^(["'])(.*)\1$/, '$2'))
    if (isSecretKey(key) && !isReference) return index + whole.length - value.length
  }
  return undefined
}
