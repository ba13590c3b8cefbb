import type { ElicitResult } from '@modelcontextprotocol/client'
import { ToolloopError } from '../../../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../../../core/messages.ts'
import { openForeign } from '../../../schema/foreign/foreign-schema.ts'
import { ask, type Question, type ToolContext } from '../../../tool.ts'
import { isTaskNoted } from './call-notes.ts'

/** A question that a server asks a person during a call. The person fills in a form or visits a web page. */
export type ServerRequest = { message: string; schema: JsonObject } | { message: string; url: string }

/** How a call continues once its questions have been answered. */
type CallState =
  /**
   * The call is repeated with the new answers, the earlier `answers`, and the server's `requestState`. `names`: the names of the questions.
   */
  | { form: 'again'; names: string[]; answers?: { [name: string]: JsonObject }; requestState?: string }
  /** The server holds the call open in this process. */
  | { form: 'held'; id: string }
  /** The answers are sent to the call's task. `names`: the names of the questions. */
  | { form: 'task'; names: string[] }
  /** The call is repeated unchanged after the person has visited a web page. */
  | { form: 'repeat' }

/**
 * The questions of a call. `ctx.asked` contains them when the tool's function runs again. `state` and `requests` are not shown to the user.
 */
export interface AskedByServer {
  /** The name under which the server was configured. */
  mcpServer: string
  requests: ServerRequest[]
  state: CallState
  /** The notes of the call at the time of the question. */
  notes?: Json
}

/** Reads an elicitation in a server's request. Throws `tool_failed` if the elicitation is invalid. */
export function readRequest(params: unknown): ServerRequest {
  const { message = '', mode = 'form', requestedSchema, url } = isJsonObject(params) ? params : {}
  if (typeof message !== 'string') throw unreadable()
  if (mode === 'url') {
    // Only web addresses are allowed, because a person is going to open the address.
    if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw unreadable()
    return { message, url }
  }
  if (mode !== 'form' || !isJsonObject(requestedSchema)) throw unreadable()
  return { message, schema: requestedSchema }
}

function unreadable(): ToolloopError {
  return new ToolloopError('tool_failed', 'The MCP server asked a question that can not be shown to anybody.')
}

/** Returns the questions of a call for the user: one form, or a list of forms if the server asks several questions at once. */
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

/** Reads a question that `questionOf` created. Undefined if `asked` is not such a question. */
export function readAsked(asked: Json | undefined): AskedByServer | undefined {
  if (!isJsonObject(asked) || typeof asked.mcpServer !== 'string' || !isJsonObject(asked.state)) return undefined
  const { requests, notes, ...state } = asked.state
  return Array.isArray(requests) ? ({ mcpServer: asked.mcpServer, requests, state, notes } as never as AskedByServer) : undefined
}

/** Whether the server runs the call as a task. */
export function isTask({ saved, asked }: Pick<ToolContext, 'saved' | 'asked'>): boolean {
  return isTaskNoted(saved) || isTaskNoted(readAsked(asked)?.notes)
}

/** Returns the answers in the order of the requests, or the problems with the answers, worded for the user. */
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
 * Reads one answer. `{ action: 'decline' }` and `{ action: 'cancel' }` refuse to answer, unless the form has a field named `action`.
 * Missing fields get the form's defaults. If the form has only one field, the answer may be the value of this field alone.
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
