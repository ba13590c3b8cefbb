import { randomUUID } from 'node:crypto'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'

/** The names of lists that the SDK would validate item by item. */
const lists = ['content', 'contents', 'messages', 'tools', 'resources', 'resourceTemplates', 'prompts'] as const

/** The parts of a result that are hidden from the SDK. */
type Aside = Partial<Record<(typeof lists)[number], readonly unknown[]>> & { task?: JsonObject; data?: Json }

/** The field that contains the hidden parts while the SDK processes the result. The name is random, so that no server can know it. */
const place = `toolloop/${randomUUID()}`

/**
 * Hides the long parts of a result from the SDK, whose validation of many invalid items takes seconds and exhausts the memory. The SDK also
 * rejects a whole list because of one invalid item, and results that are tasks. The code that reads the result validates the hidden parts.
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
  // Lists and null are valid data too, although earlier revisions of the protocol exclude them.
  if (result.structuredContent !== undefined && !isJsonObject(result.structuredContent)) {
    aside.data = result.structuredContent as Json
    delete result.structuredContent
  }
  if (Object.keys(aside).length > 0) result._meta = { [place]: aside }
}

/** Hides the messages of a sampling request from the SDK. */
function setMessagesAside(params: unknown): void {
  if (!isJsonObject(params) || !Array.isArray(params.messages)) return
  const { _meta: meta, messages } = params
  params._meta = { ...(isJsonObject(meta) ? meta : {}), [place]: { messages } }
  params.messages = []
}

/** Returns the hidden parts of a result or a request. */
export function asideOf({ _meta: meta }: { _meta?: unknown }): Aside {
  const aside = isJsonObject(meta) ? meta[place] : undefined
  return isJsonObject(aside) ? (aside as Aside) : {}
}
