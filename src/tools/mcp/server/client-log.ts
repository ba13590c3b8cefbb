import type { LoggingLevel, ServerContext } from '@modelcontextprotocol/server'
import { messageOf } from '../../../core/errors.ts'
import { type Logger, redacting } from '../../../core/logger.ts'
import { resultText } from '../../result-text.ts'

/** Maximum number of characters of a log record. Only the message of a longer record is sent. */
const maxRecord = 4_096

/** Creates a logger that writes to the application's log and, without secrets, to the log of the client. */
export function loggerFor(tool: string, logger: Logger, { mcpReq }: ServerContext): Logger {
  const send = (level: LoggingLevel) => (fields: object, message: string) => {
    const text = resultText({ message, ...fields })
    const isShown = text.length <= maxRecord && text.startsWith('{')
    const data: unknown = isShown ? JSON.parse(text) : { message: message.slice(0, maxRecord) }
    mcpReq.log(level, data, tool).catch((error: unknown) => {
      logger.debug({ error: messageOf(error) }, 'a log message could not be sent to the MCP client')
    })
  }
  const client = redacting({ debug: send('debug'), info: send('info'), warn: send('warning'), error: send('error') })
  const both = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) => {
    logger[level](fields, message)
    client[level](fields, message)
  }
  return { debug: both('debug'), info: both('info'), warn: both('warn'), error: both('error') }
}
