import type { ElicitResult } from '@modelcontextprotocol/client'
import { ToolloopError } from '../../../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../../../core/messages.ts'
import { openForeign } from '../../../schema/foreign/foreign-schema.ts'
import { ask, type Question, type ToolContext } from '../../../tool.ts'
import { isTaskNoted } from './call-notes.ts'

/** One thing that a server asks a person in the middle of a call: to fill in a form, or to do something at an address. */
export type ServerRequest = { message: string; schema: JsonObject } | { message: string; url: string }

/** How a call goes on once its questions have been answered. */
type CallState =
  /** The call is made again with the answers, by the server's names for its questions, and `answers` that were there; what it has given is given back. */
  | { form: 'again'; names: string[]; answers?: { [name: string]: JsonObject }; requestState?: string }
  /** The server holds the call open, in this process. */
  | { form: 'held'; id: string }
  /** It has become a task, which is told the answers by the server's names for its questions. */
  | { form: 'task'; names: string[] }
  /** The call is made again as it was: what was asked for happens elsewhere. */
  | { form: 'repeat' }

/** What a call has asked, as it comes back with the answer (`ctx.asked`). `state` and `requests` are kept, and shown to nobody. */
export interface AskedByServer {
  /** The server, by the name it was given here. */
  mcpServer: string
  requests: ServerRequest[]
  state: CallState
  /** What is known of the call by then. */
  notes?: Json
}

/** The elicitation in a server's request. Throws `tool_failed` for what is none. */
export function readRequest(params: unknown): ServerRequest {
  const { message = '', mode = 'form', requestedSchema, url } = isJsonObject(params) ? params : {}
  if (typeof message !== 'string') throw unreadable()
  if (mode === 'url') {
    // Somebody is to open it.
    if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw unreadable()
    return { message, url }
  }
  if (mode !== 'form' || !isJsonObject(requestedSchema)) throw unreadable()
  return { message, schema: requestedSchema }
}

function unreadable(): ToolloopError {
  return new ToolloopError('tool_failed', 'The MCP server asked something that can not be shown to anybody.')
}

/** The questions of a call, for whoever answers: one form, or one of several if the server asks several things at once. */
export function questionOf(asked: AskedByServer, problem?: string): Question {
  const { mcpServer, requests, state, notes } = asked
  const shown = requests.map(shownRequest)
  const [first = {}] = shown
  const about: JsonObject = {
    mcpServer,
    ...(shown.length === 1 ? first : { questions: shown }),
    ...withoutUndefined({ problem }),
    state: { ...state, requests, ...withoutUndefined({ notes }) },
  }
  return ask({ about, schema: answerSchema(requests) })
}

function shownRequest(request: ServerRequest): JsonObject {
  return 'url' in request ? { message: request.message, url: request.url } : { message: request.message }
}

function answerSchema(requests: readonly ServerRequest[]): JsonObject {
  const [first] = requests
  if (requests.length === 1 && first !== undefined) return schemaOf(first)
  return { type: 'array', prefixItems: requests.map(schemaOf), minItems: requests.length, maxItems: requests.length }
}

function schemaOf(request: ServerRequest): JsonObject {
  if ('schema' in request) return request.schema
  return { type: 'object', properties: { action: { enum: ['accept', 'decline', 'cancel'], default: 'accept' } } }
}

/** What `questionOf` asked, if `asked` is that. */
export function readAsked(asked: Json | undefined): AskedByServer | undefined {
  if (!isJsonObject(asked) || typeof asked.mcpServer !== 'string' || !isJsonObject(asked.state)) return undefined
  const { requests, notes, ...state } = asked.state
  return Array.isArray(requests) ? ({ mcpServer: asked.mcpServer, requests, state, notes } as never as AskedByServer) : undefined
}

/** Whether the call has become a task, by what it has saved or what came with its question. */
export function isTask({ saved, asked }: Pick<ToolContext, 'saved' | 'asked'>): boolean {
  return isTaskNoted(saved) || isTaskNoted(readAsked(asked)?.notes)
}

/** The answers in the order of the requests, or what is wrong with them, in words for whoever answers. */
export async function readAnswers(
  requests: readonly ServerRequest[],
  answer: Json,
): Promise<{ results: ElicitResult[] } | { problem: string }> {
  const given = requests.length === 1 ? [answer] : Array.isArray(answer) ? answer : requests.map(() => answer)
  const results: ElicitResult[] = []
  for (const [index, request] of requests.entries()) {
    const result = resultOf(request, given[index] ?? {})
    if (result.action === 'accept' && 'schema' in request) {
      const { validate } = await openForeign(request.schema, 'the form')
      const problems = validate(result.content ?? {})
      if (problems.length > 0) return { problem: problems.join('; ') }
    }
    results.push(result)
  }
  return { results }
}

/**
 * One answer. `{ action: 'decline' }` and `{ action: 'cancel' }` refuse, unless the form has a field of that name. What is left out of a form has
 * the form's default; a single value is that of a form's only field.
 */
function resultOf(request: ServerRequest, answer: Json): ElicitResult {
  const fields = 'schema' in request && isJsonObject(request.schema.properties) ? request.schema.properties : {}
  if (isJsonObject(answer) && (answer.action === 'decline' || answer.action === 'cancel') && !('action' in fields)) {
    return { action: answer.action }
  }
  if ('url' in request) return { action: 'accept' }
  const [only, ...others] = Object.keys(fields)
  const filled = isJsonObject(answer) ? answer : only !== undefined && others.length === 0 ? { [only]: answer } : {}
  const defaults = Object.entries(fields).flatMap(([name, field]) =>
    isJsonObject(field) && field.default !== undefined ? [[name, field.default] as const] : [],
  )
  return { action: 'accept', content: { ...Object.fromEntries(defaults), ...filled } as NonNullable<ElicitResult['content']> }
}
