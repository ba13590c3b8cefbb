import type { ServerContext } from '@modelcontextprotocol/server'
import { messageOf } from '../../../core/errors.ts'
import type { Logger } from '../../../core/logger.ts'
import { isJsonObject, type Json } from '../../../core/messages.ts'

/** Maximum number of characters in the message of a report. */
const maxMessage = 4_096

/**
 * Sends a tool's reports to a client that has asked for progress. Reports without a number are numbered, because MCP requires a growing
 * number.
 */
export function progressOf({ mcpReq }: ServerContext, logger: Logger): { onProgress?: (update: Json) => void } {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return {}
  let reports = 0
  const onProgress = (update: Json) => {
    reports++
    const given = isJsonObject(update) ? update : {}
    const params = {
      progressToken,
      progress: typeof given.progress === 'number' ? given.progress : reports,
      ...(typeof given.total === 'number' ? { total: given.total } : {}),
      ...messageIn(update),
    }
    mcpReq.notify({ method: 'notifications/progress', params }).catch((error: unknown) => {
      logger.debug({ error: messageOf(error) }, 'progress could not be reported to the MCP client')
    })
  }
  return { onProgress }
}

function messageIn(update: Json): { message?: string } {
  const given = isJsonObject(update) ? update.message : update
  if (typeof given === 'string') return { message: given.slice(0, maxMessage) }
  const isNumberOnly = isJsonObject(update) && typeof update.progress === 'number'
  return isNumberOnly ? {} : { message: JSON.stringify(update).slice(0, maxMessage) }
}
