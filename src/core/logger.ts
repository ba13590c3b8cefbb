import { callUnawaited, syncAnswer } from './callbacks/callbacks.ts'
import { jsonIn } from './json.ts'
import { loadPino } from './load-pino.cjs'
import { setField } from './messages.ts'
import { checkOptionNames, type OptionNames } from './option-names.ts'
import { hideParts, REDACTED, SecretTexts, type Span } from './redaction/secret-texts.ts'
import type { InParts } from './time/in-parts.ts'

export { REDACTED }

/** What every layer logs through. A pino logger is one; so is anything with these four methods. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** Whether records of that level are written, as pino's loggers tell it. The loop's steps are logged only where it says so of `debug`. */
  isLevelEnabled?(level: RecordLevel): boolean
}

/** The least severe records that are written. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Of a record that is written. */
export type RecordLevel = Exclude<LogLevel, 'silent'>

/** What `createLogger` takes. */
export interface LoggerOptions {
  /** Default `'warn'`. */
  level?: LogLevel
  /** Where lines go: anything with `write(line)`. Default: standard error, written synchronously. */
  destination?: { write(line: string): void }
}

const loggerOptionNames: OptionNames<LoggerOptions> = { level: true, destination: true }

/** A logger that can be told to write more or less while it is in use. */
export interface LeveledLogger extends Logger {
  level: LogLevel
}

/** A pino logger that writes JSON lines and redacts secrets at any depth. */
export function createLogger(options: LoggerOptions = {}): LeveledLogger {
  checkOptionNames(options, loggerOptionNames, '`createLogger`')
  const { level: initial = 'warn', destination } = options
  // Loaded on first use: pino would be a third of what importing this package may cost.
  const { pino } = loadPino()
  const logger = pino({ level: initial }, destination === undefined ? pino.destination({ fd: 2, sync: true }) : unawaited(destination))
  return Object.defineProperty(redacting(logger), 'level', {
    get: () => logger.level,
    set: (level: LogLevel) => {
      logger.level = level
    },
  }) as LeveledLogger
}

/** A destination whose failures stay its own. */
function unawaited(destination: NonNullable<LoggerOptions['destination']>): { write(line: string): void } {
  return { write: (line) => callUnawaited(() => destination.write(line)) }
}

/** The same logger, with secrets redacted from everything that is logged. A logger that throws is silenced for that record. */
export function redacting(logger: Logger): Logger {
  if (redactingLoggers.has(logger)) return logger
  const at = (level: RecordLevel) => (fields: object, message: string) => {
    // A log record is never worth a run; the logger's own transport is where its failures belong.
    callUnawaited(() => logger[level](redact(fields) as object, redactText(message)))
  }
  const wrapped: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  if (typeof logger.isLevelEnabled === 'function') wrapped.isLevelEnabled = (level) => isEnabled(logger, level)
  redactingLoggers.add(wrapped)
  return wrapped
}
const redactingLoggers = new WeakSet<Logger>()

function isEnabled(logger: Logger, level: RecordLevel): boolean {
  try {
    return syncAnswer('isLevelEnabled', logger.isLevelEnabled?.(level)) === true
  } catch {
    return false
  }
}

/** The same logger, for what belongs to one thing: each record has these fields too. */
export function childLogger(logger: Logger, bound: object): Logger {
  const log = (level: RecordLevel, fields: object, message: string) => {
    // What there is to see of an error is not its own fields.
    logger[level]({ ...bound, ...(fields instanceof Error ? (redact(fields) as object) : fields) }, message)
  }
  const child: Logger = {
    debug: (fields, message) => log('debug', fields, message),
    info: (fields, message) => log('info', fields, message),
    warn: (fields, message) => log('warn', fields, message),
    error: (fields, message) => log('error', fields, message),
  }
  const isLevelEnabled = (level: RecordLevel) => isEnabled(logger, level)
  if (logger.isLevelEnabled !== undefined) child.isLevelEnabled = isLevelEnabled
  return child
}

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

const secretKey =
  /^(authorization|proxy-authorization|cookie|set-cookie|pass(word|wd|phrase)?|pwd|secret|client[-_]?secret|api[-_]?keys?|x-api-key|apikey|(access|auth|refresh|id|session|bearer|api|csrf)?[-_]?token|credentials?|private[-_]?key|secret[-_]?(access[-_]?)?key|connection[-_]?string)$/i
/** What makes a longer key a secret's: `OPENAI_API_KEY`, `dbPassword`, `github.token`; but not `maxTokens`. */
const secretEnding =
  /(^|[-_. ])(pass(word|wd|phrase)|secret|token|credentials?|(api|access|private|secret|signing|encryption)[-_]?keys?|connection[-_]?string)$/
// Each alternative reads a text once: it starts only where a run of its characters starts, or reads a bounded number of them.
const secretText = new RegExp(
  [
    /\b[Bb](?:earer|asic)\s{1,16}[\w.~+/=-]{8,}/,
    /\b(?:sk|pk|rk|xai|gsk|gh[oprsu]|github_pat|glpat|xox[abeprs]|hf|npm)[-_][\w-]{16,}/,
    /\b(?:AIza|AKIA|ASIA)[\w-]{16,}/,
    /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
)
/** Costs as much as all the others: looked for only where there is an address. */
const passwordInAddress = /(?<=:\/\/[^\s/:@]{0,256}:)[^\s/@]{1,256}(?=@)/g
const maxDepth = 12

/** What every secret's key has in it. Most keys don't, and a text may have very many. */
const mayBeSecret = /pass|pwd|secret|token|cookie|authorization|credential|key|connection/i

/** What was found out about keys: a program has few, and asks about them again and again. */
const knownKeys = new Map<string, { isSecret: boolean; shown: string }>()
const mostKnown = 1_000
const longestKnown = 100

function lookAtKey(key: string): { isSecret: boolean; shown: string } {
  const known = knownKeys.get(key)
  if (known !== undefined) return known
  // One of several: `OPENAI_API_KEY_2`.
  const name = key.replace(/[-_. ]?\d{1,3}$/, '')
  const isSecret =
    mayBeSecret.test(name) && (secretKey.test(name) || secretEnding.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()))
  const found = { isSecret, shown: redactText(key) }
  if (knownKeys.size < mostKnown && key.length <= longestKnown) knownKeys.set(key, found)
  return found
}

/** Whether a value under this key is a secret, by the key alone. */
export function isSecretKey(key: string): boolean {
  return lookAtKey(key).isSecret
}

/** Whether a text has something of a secret's key in it, whatever it is: most texts don't, and need not be looked through for such keys. */
export function mayHaveSecretKey(text: string): boolean {
  return mayBeSecret.test(text)
}

/** `Basic` and `bearer` are also words; what follows them is a credential only if it does not look like one. */
function areWords(found: string): boolean {
  return /^(?:[Bb]asic|bearer)\s/.test(found) && !/[\d=+/]|[a-z][A-Z]/.test(found)
}

/** Replaces what looks like a key or token inside a text, and every one of `secrets`. */
export function redactText(text: string, secrets: Iterable<string> = []): string {
  const known = secretTextsOf(secrets)
  if (known.isFull && text !== '') return REDACTED
  if (known.isEmpty && text.length < 8) return text
  return hideParts(text, secretsIn(text, known))
}

/** The same in parts, for texts of megabytes. */
export function* redactTextInParts(text: string, secrets: SecretTexts): InParts<string> {
  if (secrets.isFull && text !== '') return REDACTED
  if (secrets.isEmpty && text.length < 8) return text
  const known = yield* secrets.findInParts(text)
  yield
  const parts = [...known, ...looksLikeSecrets(text)]
  yield
  return hideParts(text, parts)
}

/** Where in a text something looks like a key or token, or is one of `secrets`. */
export function secretsIn(text: string, secrets: SecretTexts): Span[] {
  // Both are looked for in the text as it is, lest what is taken out for the one leaves a part of the other.
  return [...secrets.findIn(text), ...looksLikeSecrets(text)]
}

function looksLikeSecrets(text: string): Span[] {
  const parts: Span[] = []
  for (const { 0: found, index } of text.matchAll(secretText)) if (!areWords(found)) parts.push({ from: index, to: index + found.length })
  if (!text.includes('://')) return parts
  for (const { 0: found, index } of text.matchAll(passwordInAddress)) parts.push({ from: index, to: index + found.length })
  return parts
}

function secretTextsOf(secrets: Iterable<string>): SecretTexts {
  return secrets instanceof SecretTexts ? secrets : new SecretTexts(secrets)
}

/**
 * A copy of `value` that is safe to log: values under secret-looking keys and token-like texts are replaced, at any depth;
 * errors become plain objects, cycles and depths past 12 are cut. The value itself is not touched. Never throws.
 * `secretKeys` names further keys, `secrets` further texts.
 */
export function redact(value: unknown, secretKeys: ReadonlySet<string> = new Set(), secrets: Iterable<string> = []): unknown {
  const known = secretTextsOf(secrets)
  const open = new Set<object>()
  const visit = (item: unknown, depth: number): unknown => {
    if (typeof item === 'string') return redactText(item, known)
    if (typeof item === 'bigint') return `${item}n`
    // A function would say nothing, and one called `toJSON` would be asked by whoever writes the record.
    if (typeof item === 'function') return undefined
    if (typeof item !== 'object' || item === null) return item
    if (open.has(item)) return '[circular]'
    if (depth > maxDepth) return '[too deep]'
    open.add(item)
    try {
      return copy(item, depth + 1)
    } catch {
      return unreadable
    } finally {
      open.delete(item)
    }
  }
  const copy = (item: object, depth: number): unknown => {
    if (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) return `[${item.byteLength} bytes]`
    if (item instanceof Date) return Number.isNaN(item.getTime()) ? 'Invalid Date' : item.toISOString()
    if (Array.isArray(item) || item instanceof Set) return Array.from(item, (entry) => visit(entry, depth))
    if (!(item instanceof Error) && 'toJSON' in item && typeof item.toJSON === 'function') {
      const json: unknown = item.toJSON()
      if (json !== item) return visit(json, depth)
    }
    const clean: Record<string, unknown> = {}
    for (const [key, entry] of fieldsOf(item)) {
      const { isSecret, shown } = lookAtKey(key)
      const hidden = entry !== undefined && entry !== null && (isSecret || secretKeys.has(key))
      const name = known.isEmpty ? shown : redactText(shown, known)
      const copied = hidden ? REDACTED : visit(entry, depth)
      setField(clean, name, copied)
    }
    return clean
  }
  return visit(value, 0)
}

const unreadable = '[unreadable]'

/** What there is to see of an object, a Map or an Error; a getter that throws is one entry lost, not all of them. */
function fieldsOf(item: object): [key: string, entry: unknown][] {
  if (item instanceof Map) return Array.from(item, ([key, entry]) => [keyText(key), entry])
  const fields = new Map<string, unknown>()
  const hiddenKeys = item instanceof Error ? ['name', 'message', 'stack', 'cause', 'errors'].filter((key) => key in item) : []
  for (const key of new Set([...Object.keys(item), ...hiddenKeys])) {
    try {
      fields.set(key, Reflect.get(item, key))
    } catch {
      fields.set(key, unreadable)
    }
  }
  return [...fields]
}

/** A Map's key as a text; one that is an object could hold anything. */
function keyText(key: unknown): string {
  return (typeof key === 'object' && key !== null) || typeof key === 'function' ? `[${typeof key}]` : String(key)
}

/** The texts found in `value` under `secretKeys`, so that they can be removed from other texts that quote them. */
export function secretTexts(value: unknown, secretKeys: ReadonlySet<string>): string[] {
  const found: string[] = []
  const visit = (item: unknown, hidden: boolean, depth: number): void => {
    if (depth > maxDepth) return
    if (typeof item === 'string' || typeof item === 'number') {
      if (hidden && String(item).length >= 3) found.push(String(item))
      // Models write objects as their JSON.
      else if (typeof item === 'string' && /^\s*[[{"]/.test(item)) visit(jsonIn(item), hidden, depth + 1)
    } else if (Array.isArray(item)) {
      for (const entry of item) visit(entry, hidden, depth + 1)
    } else if (typeof item === 'object' && item !== null) {
      for (const [key, entry] of Object.entries(item)) visit(entry, hidden || secretKeys.has(key) || isSecretKey(key), depth + 1)
    }
  }
  visit(value, false, 0)
  return found
}
