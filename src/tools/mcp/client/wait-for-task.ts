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

/** What a task has come to, or needs to go on. */
export type TaskEnd =
  | { result: JsonObject }
  /** By the server's names: what it has not been answered yet. */
  | { inputRequests: JsonObject }
  /** It asks something over the request for its result. */
  | { asks: true }

/** How a task is waited for. */
export interface TaskWait {
  sdk: McpClientSdk
  server: string
  task: NotedTask
  /** What the server has said of it just now. */
  said?: Task | undefined
  ctx: Pick<ToolContext, 'signal' | 'progress'>
  /** The connection to ask over. */
  connection(): Connection
  /** Sends a request over it; again, if the server has forgotten the session. */
  inSession<T>(send: Send<T>): Promise<T>
  /** Waits until there is another, or this one is of use again, after an error. Rejects when there will be none. */
  recover(error: unknown): Promise<void>
}

/**
 * Asks for a task as often as its server wants that, over connections that break, until it has ended or asks something. Rejects with `tool_failed`, or
 * what the signal is aborted with.
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

/** Whether nobody waits for a task any more: not where the journal has let go of the run, for another process then waits on. */
export function endsTask({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(ToolloopError.isInstance(reason) && reason.code === 'journal_failed')
}

/** Undefined while it goes on. */
async function endOf(wait: TaskWait, { status, inputRequests, result, problem }: Task): Promise<TaskEnd | undefined> {
  const isModern = wait.connection().client.getProtocolEra() === 'modern'
  switch (status) {
    case 'working':
      return undefined
    case 'cancelled':
      throw failed(wait, 'has cancelled the task')
    case 'input_required': {
      if (!isModern) return { asks: true }
      // A server may take its time to see that it has been answered.
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

/** What the server answers about a task, however often it has to be asked. Rejects with `tool_failed` where it refuses. */
export async function overBrokenConnections<T>(wait: TaskWait, ask: (connection: Connection) => Promise<T>): Promise<T> {
  const { ProtocolError } = wait.sdk
  for (;;) {
    try {
      return await wait.inSession(ask)
    } catch (error) {
      wait.ctx.signal.throwIfAborted()
      // The server has answered: it knows no such task, or what was asked for has failed.
      if (error instanceof ProtocolError) throw failed(wait, `refused a request about the task (${error.message})`)
      await wait.recover(error)
    }
  }
}

function failed({ server }: TaskWait, what: string): ToolloopError {
  return new ToolloopError('tool_failed', `The MCP server \`${server}\` ${what}. Whether the call took effect is not known.`)
}
