import { callUnawaited, syncAnswer } from './callbacks/callbacks.ts'
import { loadPino } from './load-pino.cjs'
import { checkOptionNames, type OptionNames } from './option-names.ts'
import { redact, redactText } from './redaction/redact.ts'
import type { SecretTexts } from './redaction/secret-texts.ts'

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

/**
 * The same logger, with secrets redacted from everything that is logged: what looks like one, and `secrets`, which may grow. A logger that throws is silenced for
 * that record.
 */
export function redacting(logger: Logger, secrets?: SecretTexts): Logger {
  const isRedacting = redactingLoggers.has(logger)
  if (isRedacting && secrets === undefined) return logger
  const at = (level: RecordLevel) => (fields: object, message: string) => {
    // A log record is never worth a run; the logger's own transport is where its failures belong.
    callUnawaited(() => {
      if (isRedacting && secrets?.isEmpty === true) return logger[level](fields, message)
      return logger[level](redact(fields, undefined, secrets) as object, redactText(message, secrets))
    })
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
