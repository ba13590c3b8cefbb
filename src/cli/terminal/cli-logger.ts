import { show } from '../../core/errors.ts'
import { createLogger, type Logger, redacting } from '../../core/logger.ts'
import { type Terminal, withoutControls } from './terminal.ts'

/** Fields of the records that tell of a run's end, a call or a model request: each of these has a line of its own on the screen. */
const ownLines = ['stopReason', 'toolCallId', 'iteration']

/**
 * What the layers below log: their warnings and errors as lines for a person; with `verbose` everything, as the JSON lines of pino;
 * with `quiet` errors only.
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
