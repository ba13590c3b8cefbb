import { tagsOf } from '../../agent/journal/store.ts'
import type { RunInput, RunOptions } from '../../agent/types/options.ts'
import { ToolloopError } from '../../core/errors.ts'
import { type MessageInput, toChatMessage } from '../../core/message-input.ts'
import { type ChatMessage, hasToolCalls, isJsonObject, type JsonObject } from '../../core/messages.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RunHead } from './stored-run.ts'

/** Everything that is needed to start a run. */
export interface RunOrder extends Omit<RunHead, 'tags' | 'createdAt' | 'said'> {
  input: RunInput
  options: RunOptions
}

/**
 * Merges the metadata of a run. The caller's tenant takes precedence over the program's metadata (`own`), and both over the request. Throws
 * an `HttpProblem` 403 if the request contradicts the tenant.
 */
export function orderOfTenant(order: RunOrder, own: JsonObject | undefined): RunOrder {
  const { caller, options } = order
  const { tenant } = caller
  const { metadata: asked } = options
  for (const [field, value] of Object.entries(tenant ?? {})) {
    if (asked === undefined || !Object.hasOwn(asked, field) || asked[field] === value) continue
    const message = `Expected \`metadata.${field}\` to be \`${value}\` or absent: this token belongs to that tenant`
    throw new HttpProblem(403, 'forbidden', message, { param: `metadata.${field}` })
  }
  if (tenant === undefined && asked === undefined && own === undefined) return order
  return { ...order, options: { ...options, metadata: { ...asked, ...own, ...tenant } } }
}

/** The head of a run that starts now. */
export function headOfOrder({ id, caller, agent, kind, thread, clientTools, request, input, options }: RunOrder): RunHead {
  const tags = tagsOf(options.metadata)
  return { id, caller, agent, kind, thread, tags, clientTools, request, createdAt: new Date().toISOString(), said: beginningOf(input) }
}

/** Returns the beginning of the last user message. It is longer than the shown title, so that a secret at the end is recognized. */
function beginningOf(input: RunInput): string {
  const messages: unknown[] = [typeof input === 'string' ? { role: 'user', content: input } : input].flat()
  const last = messages.findLast((message) => isJsonObject(message) && message.role === 'user')
  const content: unknown = isJsonObject(last) ? last.content : ''
  const parts: unknown[] = Array.isArray(content) ? content : [{ text: content }]
  const texts = parts.map((part) => (isJsonObject(part) && typeof part.text === 'string' ? part.text : ''))
  // A slice would keep the whole text in memory, so it is copied.
  return Buffer.from(texts.join('').slice(0, 600), 'utf16le').toString('utf16le')
}

/** Maximum number of calls in one message. More calls would block the event loop for too long. */
export const mostCalls = 4_000

/** Converts messages to the form that a run needs. Throws `invalid_message`. */
function readMessages(messages: readonly MessageInput[], name: string): ChatMessage[] {
  return messages.map((given, at) => {
    const message = toChatMessage(given, `${name}[${at}]`)
    if (hasToolCalls(message) && message.toolCalls.length > mostCalls)
      throw new ToolloopError(
        'invalid_message',
        `Expected ${name}[${at}] to have at most ${mostCalls} calls, got ${message.toolCalls.length}`,
      )
    return message
  })
}

/** Converts the messages of a run's input. Throws `invalid_message`. */
export function readInput(input: RunInput): RunInput {
  return Array.isArray(input) ? readMessages(input, 'input') : input
}

/** Converts the messages in a run's options. Throws `invalid_message`. */
export function readOptions({ messages, ...others }: RunOptions): RunOptions {
  return { ...others, ...(messages === undefined ? {} : { messages: readMessages(messages, 'messages') }) }
}
