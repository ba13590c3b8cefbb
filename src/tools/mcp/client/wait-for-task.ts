import { setTimeout as pause } from 'node:timers/promises'
import { ToolloopError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/messages.ts'
import { processClock } from '../../../core/time/process-clock.ts'
import type { ToolContext } from '../../tool.ts'
import type { McpClientSdk } from '../sdk/load-sdk.ts'
import type { NotedTask } from './calls/call-notes.ts'
import { askOfTask, readTask, type Task } from './calls/tasks.ts'
import type { Connection } from './session/connection.ts'
import type { Send } from './session/in-session.ts'

/** The result of a task, or the questions that it waits for. */
export type TaskEnd =
  | { result: JsonObject }
  /** Unanswered questions, by the names that the server gave them. */
  | { inputRequests: JsonObject }
  /** In protocol 2025-11-25, the questions arrive when the result is requested. */
  | { asks: true }

export interface TaskWait {
  sdk: McpClientSdk
  server: string
  task: NotedTask
  /** The server's latest report about the task. */
  said?: Task | undefined
  ctx: Pick<ToolContext, 'signal' | 'progress'>
  connection(): Connection
  /** Sends a request over the connection. Sends it again if the server has forgotten the session. */
  inSession<T>(send: Send<T>): Promise<T>
  /** Waits for a new connection after an error. Rejects if no new connection is possible. */
  recover(error: unknown): Promise<void>
}

/**
 * Polls a task until it ends or asks a question. Continues over a new connection if the connection breaks. Rejects with `tool_failed`, or
 * with the signal's reason.
 */
export async function waitForTask(wait: TaskWait): Promise<TaskEnd> {
  const { ctx, task } = wait
  let told: string | undefined
  for (let { said } = wait; ; said = await askAgain(wait, said)) {
    if (said === undefined) continue
    if (said.message !== undefined && said.message !== told) {
      told = said.message
      ctx.progress({ status: said.status, message: said.message })
    }
    const end = await endOf(wait, said)
    if (end !== undefined) return end
    if (said.ttlMs !== undefined && processClock.now() - task.since > said.ttlMs) throw failed(wait, 'has let the task expire')
  }
}

/** Whether to cancel the task after an abort. Not after `journal_failed`, because another process may continue the run. */
export function endsTask({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(ToolloopError.isInstance(reason) && reason.code === 'journal_failed')
}

/** Undefined if the task is still working. */
async function endOf(wait: TaskWait, { status, inputRequests, result, problem }: Task): Promise<TaskEnd | undefined> {
  const isModern = wait.connection().client.getProtocolEra() === 'modern'
  switch (status) {
    case 'working':
      return undefined
    case 'cancelled':
      throw failed(wait, 'has cancelled the task')
    case 'input_required': {
      if (!isModern) return { asks: true }
      // A server may still list a question shortly after it was answered.
      const open = Object.entries(inputRequests ?? {}).filter(([name]) => wait.task.answered?.includes(name) !== true)
      return open.length === 0 ? undefined : { inputRequests: Object.fromEntries(open) }
    }
    case 'completed':
    case 'failed':
      if (!isModern) return { result: await fetchResult(wait) }
      if (status === 'failed') throw failed(wait, `failed at the task${problem === undefined ? '' : ` (${problem})`}`)
      if (result === undefined) throw failed(wait, 'says that the task is completed, and gives no result')
      return { result }
  }
}

async function askAgain(wait: TaskWait, said: Task | undefined): Promise<Task | undefined> {
  const { ctx, task } = wait
  if (said !== undefined) await pause(said.pollMs, undefined, { signal: ctx.signal, ref: true })
  const answer = await overBrokenConnections(wait, (connection) => askOfTask(connection.client, 'get', { taskId: task.id }, ctx))
  const now = readTask(answer)
  if (now?.id !== task.id) throw failed(wait, 'answered with something other than the task')
  return now
}

function fetchResult(wait: TaskWait): Promise<JsonObject> {
  const { ctx, task } = wait
  return overBrokenConnections(wait, (connection) => askOfTask(connection.client, 'result', { taskId: task.id }, ctx))
}

/** Sends a request about a task. Repeats it if the connection breaks. Rejects with `tool_failed` if the server refuses the request. */
export async function overBrokenConnections<T>(wait: TaskWait, ask: (connection: Connection) => Promise<T>): Promise<T> {
  const { ProtocolError } = wait.sdk
  for (;;) {
    try {
      return await wait.inSession(ask)
    } catch (error) {
      wait.ctx.signal.throwIfAborted()
      if (error instanceof ProtocolError) throw failed(wait, `refused a request about the task (${error.message})`)
      await wait.recover(error)
    }
  }
}

function failed({ server }: TaskWait, what: string): ToolloopError {
  return new ToolloopError('tool_failed', `The MCP server \`${server}\` ${what}. Whether the call took effect is not known.`)
}
