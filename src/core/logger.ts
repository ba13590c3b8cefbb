import { callUnawaited, syncAnswer } from './callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from './check-options.ts'
import { InvalidOptionError } from './errors.ts'
import { loadPino } from './load-pino.cjs'
import { redact, redactText } from './redaction/redact.ts'
import type { SecretTexts } from './redaction/secret-texts.ts'

/**
 * A logger. Pino loggers and all other objects with these four methods are accepted.
 *
 * Contract: the methods are not awaited. If a method throws, the record is lost and the run continues.
 */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /**
   * Returns whether records of this level are written, as in pino. The agent loop logs its steps only if this method returns true for
   * `debug`.
   */
  isLevelEnabled?(level: RecordLevel): boolean
}

/** The lowest severity that is written. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** The level of a record. */
export type RecordLevel = Exclude<LogLevel, 'silent'>

/** The options of `createLogger`. */
export interface LoggerOptions {
  /** Default: `'warn'`. */
  level?: LogLevel
  /** Receives the lines: any object with `write(line)`. Default: standard error, written synchronously. */
  destination?: { write(line: string): void }
}

const loggerOptionNames: OptionNames<LoggerOptions> = { level: true, destination: true }

/** A logger whose level can be changed while it is in use. */
export interface LeveledLogger extends Logger {
  level: LogLevel
}

/** Creates a pino logger that writes JSON lines and redacts secrets at any depth. */
export function createLogger(options: LoggerOptions = {}): LeveledLogger {
  checkOptionNames(options, loggerOptionNames, '`createLogger`')
  const { level: initial = 'warn', destination } = options
  let level = checkedLevel(initial)
  // The pino logger. It is loaded with the first record, because pino would take a third of this package's import time.
  let opened: Pino | undefined
  const open = (): Pino => {
    const { pino } = loadPino()
    return pino({ level }, destination === undefined ? pino.destination({ fd: 2, sync: true }) : unawaited(destination))
  }
  const pino = (): Pino => {
    opened ??= open()
    return opened
  }
  const logger: Logger = {
    debug: (fields, message) => pino().debug(fields, message),
    info: (fields, message) => pino().info(fields, message),
    warn: (fields, message) => pino().warn(fields, message),
    error: (fields, message) => pino().error(fields, message),
    isLevelEnabled: (asked) => levels.indexOf(asked) >= levels.indexOf(level),
  }
  return Object.defineProperty(redacting(logger), 'level', {
    get: () => level,
    set: (now: LogLevel) => {
      level = checkedLevel(now)
      if (opened !== undefined) opened.level = level
    },
  }) as LeveledLogger
}

type Pino = ReturnType<ReturnType<typeof loadPino>['pino']>

/** All levels, lowest first. */
const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']

function checkedLevel(level: LogLevel): LogLevel {
  if (!levels.includes(level)) throw new InvalidOptionError('level', levels.map((one) => `'${one}'`).join(', '), level)
  return level
}

/** Wraps a destination so that its failures don't reach the code that logs. */
function unawaited(destination: NonNullable<LoggerOptions['destination']>): { write(line: string): void } {
  return { write: (line) => callUnawaited(() => destination.write(line)) }
}

/**
 * Wraps a logger so that it hides secrets in everything it logs. Secrets are the texts in `secrets`, including those that are added later,
 * and anything that looks like a key or token. If the logger throws, the record is lost.
 */
export function redacting(logger: Logger, secrets?: SecretTexts): Logger {
  if (redactingLoggers.has(logger) && secrets === undefined) return logger
  // Wraps the inner logger of a redacting logger, so that records are redacted only once.
  const inner = innerLoggers.get(logger) ?? logger
  const at = (level: RecordLevel) => (fields: object, message: string) => {
    // A logger that fails must not end a run.
    callUnawaited(() => {
      if (isDisabled(inner, level)) return
      return inner[level](redact(fields, undefined, secrets) as object, redactText(message, secrets))
    })
  }
  const wrapped: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const isLevelEnabled = (level: RecordLevel) => isEnabled(logger, level)
  if (typeof logger.isLevelEnabled === 'function') wrapped.isLevelEnabled = isLevelEnabled
  redactingLoggers.add(wrapped)
  if (secrets === undefined) innerLoggers.set(wrapped, logger)
  return wrapped
}
const redactingLoggers = new WeakSet<Logger>()
/** Maps redacting loggers without their own secrets to the loggers that they wrap. */
const innerLoggers = new WeakMap<Logger, Logger>()

/** Whether the logger would drop a record of this level. A dropped record need not be redacted. */
function isDisabled(logger: Logger, level: RecordLevel): boolean {
  return toldLevel(logger, level) === false
}

function isEnabled(logger: Logger, level: RecordLevel): boolean {
  return toldLevel(logger, level) === true
}

/** Returns the result of `isLevelEnabled`. Undefined if the logger has no such method. */
function toldLevel(logger: Logger, level: RecordLevel): boolean | undefined {
  try {
    return syncAnswer('isLevelEnabled', logger.isLevelEnabled?.(level))
  } catch {
    return undefined
  }
}

/** Wraps a logger so that each record also has the fields in `bound`. */
export function childLogger(logger: Logger, bound: object): Logger {
  const log = (level: RecordLevel, fields: object, message: string) => {
    // The name, message and stack of an error are not enumerable, so a spread would omit them.
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
/** The logger used if no logger is given. Created on first use. */
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
