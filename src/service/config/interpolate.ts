import { isJsonObject, type Json } from '../../core/messages.ts'
import { isSecretKey } from '../../core/redaction/secret-keys.ts'
import { type Problem, pointerTo } from '../http/problem.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The fields in which every value may be a secret: HTTP headers and environment variables. */
const secretFields: ReadonlySet<string> = new Set(['headers', 'env'])

/**
 * Replaces `${NAME}` and `${NAME:-fallback}` in texts with the values of environment variables. `$${` stands for `${`. Reports missing
 * variables, and variables with secret names in fields that must not contain secrets.
 */
export function interpolate(value: Json, env: Env): { value: Json; problems: Problem[] } {
  const problems: Problem[] = []
  const visit = (item: Json, path: string, mayBeSecret: boolean): Json => {
    if (typeof item === 'string') {
      return item.replace(/\$\$\{|\$\{([^}]*)(?:\}|$)/g, (whole, inside: string | undefined) => {
        if (inside === undefined) return whole.slice(1)
        if (!whole.endsWith('}')) return whole.replaceAll('$${', '${')
        const [, name, otherwise] = /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(inside) ?? []
        const fail = (message: string) => {
          problems.push({ path, message })
          return ''
        }
        if (name === undefined) return fail(`has an invalid variable, expected \${NAME} or \${NAME:-default}`)
        if (isSecretKey(name) && !mayBeSecret) return fail(`must not use \${${name}}: its name says that it is a secret`)
        return env[name] || (otherwise ?? fail(`uses the environment variable ${name}, which is not set`))
      })
    }
    if (Array.isArray(item)) return item.map((entry, at) => visit(entry, pointerTo(path, at), mayBeSecret))
    if (!isJsonObject(item)) return item
    const entries = Object.entries(item).map(([key, entry]): [string, Json] => [
      key,
      visit(entry, pointerTo(path, key), mayBeSecret || isSecretKey(key) || secretFields.has(key)),
    ])
    return Object.fromEntries(entries)
  }
  return { value: visit(value, '', false), problems }
}
