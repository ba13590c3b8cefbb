import { show } from '../../core/errors.ts'
import { createLogger, type Logger, redacting } from '../../core/logger.ts'
import { type Terminal, withoutControls } from './terminal.ts'

/** Log records with one of these fields are left out, because the screen already shows the end of each run, call and model request. */
const ownLines = ['stopReason', 'toolCallId', 'iteration']

/**
 * Creates the logger for a command. By default, it shows warnings and errors as readable lines. With `verbose`, it shows all records as
 * pino's JSON lines. With `quiet`, it shows only errors.
 */
export function createCliLogger(terminal: Terminal, { verbose, quiet }: { verbose?: boolean; quiet?: boolean }): Logger {
  if (verbose) return createLogger({ level: 'debug', destination: { write: (line) => terminal.note(line.trimEnd()) } })
  const write = (level: string, fields: object, message: string) => {
    if (ownLines.some((key) => key in fields)) return
    const details = Object.entries(fields).filter(([key]) => key !== 'runId')
    const shown = details.map(([key, value]) => ` ${key}=${show(value)}`).join('')
    terminal.note(withoutControls(`${level}: ${message}${shown}`))
  }
  return redacting({
    debug: () => {},
    info: () => {},
    warn: (fields, message) => {
      if (!quiet) write('warning', fields, message)
    },
    error: (fields, message) => write('error', fields, message),
  })
}
