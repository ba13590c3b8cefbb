import { isSecretKey, REDACTED, redactText } from '../../log.ts'
import { isJsonObject, type Json } from '../../messages.ts'
import { type Problem, pointerTo } from '../http/problem.ts'

const reference = /^([A-Za-z]+ )?\$\{[A-Za-z_]\w*\}$/

/** Secrets that are in the file itself. They belong into the environment: a file is copied, committed, and shown. */
export function findInlineSecrets(value: Json): Problem[] {
  const problems: Problem[] = []
  const visit = (item: Json, key: string, path: string): void => {
    if (typeof item === 'string') {
      if (reference.test(item) || item === '') return
      if (isSecretKey(key) || redactText(item) !== item) {
        const message = 'must not be in the file: put it into the environment and name the variable, in `apiKeyEnv` or in braces behind a $'
        problems.push({ path, message })
      }
    } else if (Array.isArray(item)) item.forEach((entry, at) => void visit(entry, key, pointerTo(path, at)))
    else if (isJsonObject(item)) for (const [name, entry] of Object.entries(item)) visit(entry, name, pointerTo(path, name))
    // A number may be a password too.
    else if (typeof item === 'number' && isSecretKey(key)) problems.push({ path, message: 'must not be in the file' })
  }
  visit(value, '', '')
  return problems
}

/**
 * The text of a file as it may be shown, also of one that is refused because of what is in it, or can't be read at all: from a secret on,
 * nothing more of its line is shown, nor of lines that go on with it. Never throws.
 */
export function redactFile(text: string): string {
  let hiddenBelow: number | undefined
  const lines: string[] = []
  for (const line of text.split('\n')) {
    const indent = line.search(/\S/)
    if (hiddenBelow !== undefined && (indent < 0 || indent > hiddenBelow)) continue
    hiddenBelow = undefined
    const at = secretIn(line)
    lines.push(at === undefined ? line : `${line.slice(0, at)}${REDACTED}`)
    if (at !== undefined) hiddenBelow = indent
  }
  return redactText(lines.join('\n'))
}

/** Where in a line the value of a secret's key begins. */
function secretIn(line: string): number | undefined {
  for (const { 0: whole, 1: key = '', 2: value = '', index } of line.matchAll(
    /([\w.-]+)["']?[ \t]*:[ \t]*("[^"]*"|'[^']*'|\$\{[^}]*\}|[^,}\s]*)/g,
  )) {
    const isReference = reference.test(value.replace(/^(["'])(.*)\1$/, '$2'))
    if (isSecretKey(key) && !isReference) return index + whole.length - value.length
  }
  return undefined
}
