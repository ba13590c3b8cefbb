import { createRequire } from 'node:module'

/** What every layer logs through. A pino logger is one; so is anything with these four methods. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface LoggerOptions {
  /** Default `'warn'`. */
  level?: LogLevel
  /** Where lines go: anything with `write(line)`. Default: standard error, written synchronously. */
  destination?: { write(line: string): void }
}

/** A pino logger that writes JSON lines and redacts secrets at any depth. */
export function createLogger({ level = 'warn', destination }: LoggerOptions = {}): Logger {
  // Loaded on first use: pino would be a third of what importing this package may cost.
  const { pino } = createRequire(import.meta.url)('pino') as typeof import('pino')
  return redacting(pino({ level }, destination ?? pino.destination({ fd: 2, sync: true })))
}

/** The same logger, with secrets redacted from everything that is logged. A logger that throws is silenced for that record. */
export function redacting(logger: Logger): Logger {
  if (redactingLoggers.has(logger)) return logger
  const at = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      logger[level](redact(fields) as object, redactText(message))
    } catch {
      // A log record is never worth a run; the logger's own transport is where its failures belong.
    }
  }
  const wrapped: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  redactingLoggers.add(wrapped)
  return wrapped
}
const redactingLoggers = new WeakSet<Logger>()

let shared: Logger | undefined
/** The logger used where none is given; made on first use. */
export const defaultLogger: Logger = redactingLazily(() => {
  shared ??= createLogger()
  return shared
})

function redactingLazily(logger: () => Logger): Logger {
  const lazy: Logger = {
    debug: (fields, message) => logger().debug(fields, message),
    info: (fields, message) => logger().info(fields, message),
    warn: (fields, message) => logger().warn(fields, message),
    error: (fields, message) => logger().error(fields, message),
  }
  redactingLoggers.add(lazy)
  return lazy
}

export const REDACTED = '[redacted]'
const secretKey =
  /^(authorization|proxy-authorization|cookie|set-cookie|pass(word|wd|phrase)?|pwd|secret|client[-_]?secret|api[-_]?keys?|x-api-key|apikey|(access|auth|refresh|id|session|bearer|api|csrf)?[-_]?token|credentials?|private[-_]?key|secret[-_]?(access[-_]?)?key|connection[-_]?string)$/i
const secretText =
  /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}|\b(sk|pk|rk|xai|gsk|ghp|gho|ghs|ghu|glpat|xox[abprs]|hf|AIza|AKIA|ASIA)[-_]?[A-Za-z0-9_-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|(?<=:\/\/[^\s/:@]{0,256}:)[^\s/@]{1,256}(?=@)/g
const maxDepth = 12

/** Replaces what looks like a key or token inside a text, and every one of `secrets`. */
export function redactText(text: string, secrets: readonly string[] = []): string {
  let clean = text.length >= 8 ? text.replace(secretText, REDACTED) : text
  for (const secret of secrets) if (secret.length > 0) clean = clean.replaceAll(secret, REDACTED)
  return clean
}

/**
 * A copy of `value` that is safe to log: values under secret-looking keys and token-like texts are replaced, at any depth;
 * errors become plain objects, cycles and depths past 12 are cut. The value itself is not touched.
 * `secretKeys` names further keys, `secrets` further texts.
 */
export function redact(value: unknown, secretKeys: ReadonlySet<string> = new Set(), secrets: readonly string[] = []): unknown {
  const open = new Set<object>()
  const visit = (item: unknown, depth: number): unknown => {
    if (typeof item === 'string') return redactText(item, secrets)
    if (typeof item === 'bigint') return `${item}n`
    if (typeof item !== 'object' || item === null) return item
    if (open.has(item)) return '[circular]'
    if (depth > maxDepth) return '[too deep]'
    if (ArrayBuffer.isView(item)) return `[${item.byteLength} bytes]`
    if (item instanceof Date) return Number.isNaN(item.getTime()) ? 'Invalid Date' : item.toISOString()
    open.add(item)
    try {
      if (Array.isArray(item)) return item.map((entry) => visit(entry, depth + 1))
      const source = item instanceof Error ? errorFields(item) : item instanceof Map ? Object.fromEntries(item) : item
      const clean: Record<string, unknown> = {}
      for (const [key, entry] of Object.entries(source)) {
        const hidden = entry !== undefined && entry !== null && (secretKey.test(key) || secretKeys.has(key))
        Object.defineProperty(clean, key, {
          value: hidden ? REDACTED : visit(entry, depth + 1),
          enumerable: true,
          configurable: true,
          writable: true,
        })
      }
      return clean
    } finally {
      open.delete(item)
    }
  }
  return visit(value, 0)
}

function errorFields(error: Error): Record<string, unknown> {
  const { name, message, stack, cause } = error
  return { ...error, name, message, stack, ...(cause === undefined ? {} : { cause }) }
}

/** The texts found in `value` under `secretKeys`, so that they can be removed from other texts that quote them. */
export function secretTexts(value: unknown, secretKeys: ReadonlySet<string>): string[] {
  const found: string[] = []
  const visit = (item: unknown, hidden: boolean, depth: number): void => {
    if (depth > maxDepth) return
    if (typeof item === 'string' || typeof item === 'number') {
      if (hidden && String(item).length >= 3) found.push(String(item))
    } else if (typeof item === 'object' && item !== null) {
      for (const [key, entry] of Object.entries(item)) visit(entry, hidden || secretKeys.has(key) || secretKey.test(key), depth + 1)
    }
  }
  visit(value, false, 0)
  return found
}
