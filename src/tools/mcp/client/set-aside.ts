import { randomUUID } from 'node:crypto'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'

/** What the SDK would look through, item by item. */
const lists = ['content', 'contents', 'messages', 'tools', 'resources', 'resourceTemplates', 'prompts'] as const

/** What of a result is kept from the SDK. */
type Aside = Partial<Record<(typeof lists)[number], readonly unknown[]>> & { task?: JsonObject; data?: Json }

/** Where it lies meanwhile. No server can know the name. */
const place = `toolloop/${randomUUID()}`

/**
 * Puts what is long in a result where the SDK doesn't look: it tells of each item all that is wrong with it, by each of the kinds there are, which
 * takes seconds and the whole memory where there are very many, looks through pictures of megabytes, and takes none of a list in which one
 * is wrong. A task in place of a result it does not know at all. Whoever reads a result checks what was set aside.
 */
export function setAside(message: JSONRPCMessage): void {
  if ('method' in message) setMessagesAside(message.params)
  if (!('result' in message)) return
  const { result } = message
  if (result.resultType === 'task' || isJsonObject(result.task)) {
    const task = isJsonObject(result.task) ? result.task : { ...result }
    const kind = 'resultType' in result ? { resultType: 'complete' } : {}
    message.result = { ...kind, content: [], _meta: { [place]: { task } } }
    return
  }
  const aside: Aside = {}
  for (const name of lists) {
    const list = result[name]
    if (!Array.isArray(list)) continue
    aside[name] = list
    result[name] = []
  }
  // Lists and null are data too, whatever earlier revisions say.
  if (result.structuredContent !== undefined && !isJsonObject(result.structuredContent)) {
    aside.data = result.structuredContent as Json
    delete result.structuredContent
  }
  if (Object.keys(aside).length > 0) result._meta = { [place]: aside }
}

/** Of what a server asks the model. */
function setMessagesAside(params: unknown): void {
  if (!isJsonObject(params) || !Array.isArray(params.messages)) return
  const { _meta: meta, messages } = params
  params._meta = { ...(isJsonObject(meta) ? meta : {}), [place]: { messages } }
  params.messages = []
}

/** What was set aside of a result, or of a request. */
export function asideOf({ _meta: meta }: { _meta?: unknown }): Aside {
  const aside = isJsonObject(meta) ? meta[place] : undefined
  return isJsonObject(aside) ? (aside as Aside) : {}
}
