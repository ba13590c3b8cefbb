import type { Logger, LogLevel, RecordLevel } from '../../src/core/logger.ts'

export interface LogRecord {
  level: LogLevel
  fields: object
  message: string
}

export function recordingLogger(): { logger: Logger; records: LogRecord[] } {
  const records: LogRecord[] = []
  const at = (level: RecordLevel) => (fields: object, message: string) => void records.push({ level, fields, message })
  return { logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, records }
}
