import { setTimeout as wait } from 'node:timers/promises'
import type { CallToolResult, Server, ServerCapabilities, ServerContext } from '@modelcontextprotocol/server'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import type { JsonSchema } from '../../tool.ts'
import type { McpServerSdk } from './load-sdk.ts'
import { askable, formAnswer, formOf, formRequest } from './questions.ts'

/** A call that runs in the background. The client polls it. */
export interface McpTask {
  taskId: string
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  statusMessage?: string
  /** The time at which the task was created, in ISO 8601. */
  createdAt: string
  lastUpdatedAt: string
  /** Minimum time for which the task is kept, in milliseconds from its creation. */
  ttlMs: number
  /** Set if the tool has run, even if it failed. */
  result?: CallToolResult
  /** Open questions to the client's user, by name. */
  forms?: Readonly<Record<string, TaskForm>>
}

export interface TaskForm {
  message: string
  schema: JsonSchema
}

/** The answers, by the name of the form. `undefined`: the user declined. */
export type TaskAnswers = Readonly<Record<string, { value: Json } | undefined>>

/**
 * The tasks of one caller.
 *
 * Contract: all methods may reject, and the client then receives an error.
 */
export interface McpTasks {
  offers(tool: string): boolean
  /** Starts a task. Resolves once the task is stored, if tasks are stored at all. */
  start(tool: string, args: JsonObject): Promise<McpTask>
  get(taskId: string): Promise<McpTask | undefined>
  /** Cancels a task. Has no effect on a task that has ended. */
  cancel(taskId: string): Promise<void>
  /** Answers the task's open questions. Ignores other answers. */
  answer(taskId: string, answers: TaskAnswers): Promise<void>
  /** Resolves when the status is no longer `working`, or when the signal is aborted. */
  settled(taskId: string, signal: AbortSignal): Promise<void>
}

/** A handler throws this to respond to a call with a task instead of a result. */
export class TaskCreated {
  readonly task: McpTask

  constructor(task: McpTask) {
    this.task = task
  }
}

/**
 * The extension for tasks in the protocol of 2026-07-28. In 2025-11-25, tasks are part of the protocol.
 * https://modelcontextprotocol.io/seps/2663-tasks-extension
 */
const extension = 'io.modelcontextprotocol/tasks'
const pollMs = 1_000
/** How long a user may take to fill in a form, in milliseconds. Used only in protocol 2025-11-25. */
const formTimeoutMs = 600_000

/** Returns the capabilities of a server that has tasks. */
export function taskCapabilities(isModern: boolean): ServerCapabilities {
  return isModern ? { extensions: { [extension]: {} } } : { tasks: { cancel: {}, requests: { tools: { call: {} } } } }
}

/** Whether the client wants this call to be a task. Older clients ask for each task; newer clients only declare support. */
export function wantsTask(server: Server, params: object, isModern: boolean): boolean {
  return isModern ? knowsTasks(server) : 'task' in params && isJsonObject(params.task)
}

function knowsTasks(server: Server): boolean {
  return server.getClientCapabilities()?.extensions?.[extension] !== undefined
}

/** Returns the response to a call that runs as a task. */
export function createdResult(task: McpTask, isModern: boolean): JsonObject {
  return isModern ? { resultType: 'task', ...modernHead(task) } : { task: legacyTask(task) }
}

interface Serving {
  /** Returns the caller's tasks. */
  tasksOf(ctx: ServerContext): { tasks: McpTasks; signal?: AbortSignal }
  isModern: boolean
}

/** Registers handlers for the requests about tasks. */
export function serveTasks(sdk: McpServerSdk, server: Server, serving: Serving): void {
  if (serving.isModern) serveModern(sdk, server, serving)
  else serveLegacy(sdk, server, serving)
}

function serveModern(sdk: McpServerSdk, server: Server, { tasksOf }: Serving): void {
  const on = (method: string, answer: (task: McpTask, tasks: McpTasks, ctx: ServerContext) => JsonObject | Promise<JsonObject>) => {
    server.setRequestHandler(method, { params: taskParams }, async (params, ctx) => {
      if (!knowsTasks(server))
        throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [extension]: {} } } })
      const { tasks } = tasksOf(ctx)
      return answer(await find(sdk, tasks, params), tasks, ctx)
    })
  }
  on('tasks/get', (task) => modernTask(sdk, task, askable(server.getClientCapabilities()).asksUser))
  on('tasks/update', async ({ taskId, forms = {} }, tasks, { mcpReq }) => {
    const answers = Object.entries(forms).flatMap(([name, { schema }]) => {
      const response = sdk.inputResponse(mcpReq.inputResponses, name)
      // A user who only closed the form may be asked again.
      if (response.kind !== 'elicit' || response.action === 'cancel') return []
      return [[name, checked(sdk, formAnswer(response, schema))] as const]
    })
    if (answers.length > 0) await tasks.answer(taskId, Object.fromEntries(answers))
    return {}
  })
  on('tasks/cancel', async ({ taskId }, tasks) => {
    await tasks.cancel(taskId)
    return {}
  })
}

function serveLegacy(sdk: McpServerSdk, server: Server, { tasksOf }: Serving): void {
  server.setRequestHandler('tasks/get', { params: taskParams }, async (params, ctx) =>
    legacyTask(await find(sdk, tasksOf(ctx).tasks, params)),
  )
  server.setRequestHandler('tasks/cancel', { params: taskParams }, async (params, ctx) => {
    const { tasks } = tasksOf(ctx)
    const { taskId, status } = await find(sdk, tasks, params)
    if (isOver(status)) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `The task has ended: it is ${status}`)
    await tasks.cancel(taskId)
    return legacyTask(await find(sdk, tasks, params))
  })
  server.setRequestHandler('tasks/result', { params: taskParams }, async (params, ctx) => {
    const { tasks, signal: gone } = tasksOf(ctx)
    const signal = gone === undefined ? ctx.mcpReq.signal : AbortSignal.any([ctx.mcpReq.signal, gone])
    for (;;) {
      const task = await find(sdk, tasks, params)
      const { taskId, status, statusMessage = `The task is ${status}`, result } = task
      const _meta = { 'io.modelcontextprotocol/related-task': { taskId } }
      if (isOver(status)) {
        if (result === undefined) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, statusMessage, { taskId })
        return { ...result, _meta }
      }
      signal.throwIfAborted()
      const answers = status === 'input_required' ? await askForms(sdk, server, task, ctx, signal) : {}
      if (Object.keys(answers).length > 0) await tasks.answer(taskId, answers)
      // This client can't ask its user, but the question may be answered elsewhere.
      else if (status === 'input_required') await wait(pollMs, undefined, { signal })
      else await tasks.settled(taskId, signal)
    }
  })
}

/** Asks the client's user one form after another. Returns no answers if the client can't show forms. */
async function askForms(
  sdk: McpServerSdk,
  server: Server,
  { taskId, forms = {} }: McpTask,
  { mcpReq }: ServerContext,
  signal: AbortSignal,
): Promise<TaskAnswers> {
  if (!askable(server.getClientCapabilities()).asksUser) return {}
  const answers: Record<string, { value: Json } | undefined> = {}
  for (const [name, { message, schema }] of Object.entries(forms)) {
    const requestedSchema = formOf(schema)
    if (requestedSchema === undefined) continue
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId } }
    const options = { timeout: formTimeoutMs, signal, relatedRequestId: mcpReq.id }
    const response = await mcpReq.elicitInput({ mode: 'form', message, requestedSchema, _meta }, options)
    if (response.action !== 'cancel') answers[name] = checked(sdk, formAnswer({ kind: 'elicit', ...response }, schema))
  }
  return answers
}

/** Returns the answer. Throws an error of the SDK if the answer is invalid. */
function checked(sdk: McpServerSdk, answer: ReturnType<typeof formAnswer>): { value: Json } | undefined {
  if (answer !== undefined && 'problems' in answer)
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `The answer is not what was asked for: ${answer.problems.join('; ')}`)
  return answer
}

async function find(sdk: McpServerSdk, tasks: McpTasks, { taskId }: JsonObject): Promise<McpTask> {
  const task = await tasks.get(String(taskId))
  if (task === undefined)
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, 'Unknown task; tasks are kept for a limited time')
  return task
}

function isOver(status: McpTask['status']): boolean {
  return status !== 'working' && status !== 'input_required'
}

function legacyTask({ taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs: ttl }: McpTask): JsonObject {
  return { taskId, status, ...saying(statusMessage), createdAt, lastUpdatedAt, ttl, pollInterval: pollMs }
}

function modernHead({ taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs }: McpTask): JsonObject {
  return { taskId, status, ...saying(statusMessage), createdAt, lastUpdatedAt, ttlMs, pollIntervalMs: pollMs }
}

function modernTask(sdk: McpServerSdk, task: McpTask, asksUser: boolean): JsonObject {
  const { status, statusMessage = 'The task has failed', result, forms = {} } = task
  if (status === 'input_required') {
    const requests = asksUser
      ? Object.entries(forms).map(([name, form]) => [name, formRequest(sdk, form.message, form.schema)] as const)
      : []
    const inputRequests = Object.fromEntries(requests.filter(([, request]) => request !== undefined)) as JsonObject
    // A client that can't ask its user can only wait until the question is answered elsewhere.
    return { ...modernHead(task), ...(Object.keys(inputRequests).length > 0 ? { inputRequests } : { status: 'working' }) }
  }
  // A failed tool with a result counts as `completed` in MCP.
  if (status === 'failed' && result === undefined) return { ...modernHead(task), error: { code: -32_603, message: statusMessage } }
  return { ...modernHead(task), ...(result === undefined ? {} : { status: 'completed', result: { ...result } as JsonObject }) }
}

function saying(statusMessage: string | undefined): { statusMessage?: string } {
  return statusMessage === undefined ? {} : { statusMessage }
}

/** The parameters of the requests about tasks. */
const taskParams: StandardSchemaV1<JsonObject> = {
  '~standard': {
    version: 1,
    vendor: 'toolloop',
    validate: (value) =>
      isJsonObject(value) && typeof value.taskId === 'string' ? { value } : { issues: [{ message: 'expected a `taskId`' }] },
  },
}
