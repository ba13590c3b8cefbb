import type { Client } from '@modelcontextprotocol/client'
import { isJsonObject, type JsonObject } from '../../../../core/messages.ts'
import type { McpServerOptions } from '../../server-config.ts'
import { withCallStream } from '../../transport/http-transport.ts'
import { anyObject, type ListedTool, noTimeoutMs } from '../listing/list-tools.ts'
import { streamEnded } from './stream-ended.ts'

/**
 * With this extension, a server may turn calls into tasks (protocol 2026-07-28): https://modelcontextprotocol.io/seps/2663-tasks-extension
 */
export const tasksExtension = 'io.modelcontextprotocol/tasks'
/** The field for the task to which a server's request belongs (protocol 2025-11-25). */
const relatedTask = 'io.modelcontextprotocol/related-task'

/** The interval between polls of a task, in milliseconds. `default`: used if the server sets no interval. */
const pollMs = { default: 2_000, min: 50, max: 60_000 }
/** How long to wait for a server to confirm that a task is cancelled, in milliseconds. */
const cancelMs = 5_000
const defaultTimeoutMs = 60 * 60_000
const longestMessage = 1_000

/** The state of a task, as the server reports it. */
export interface Task {
  id: string
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  message?: string
  /** How long the server keeps the task after its start, in milliseconds. Undefined means forever. */
  ttlMs?: number
  pollMs: number
  /** The server's questions. Like `result` and `problem`, exists only in protocol 2026-07-28. */
  inputRequests?: JsonObject
  result?: JsonObject
  problem?: string
}

/** Returns how long a task may take, in milliseconds. Undefined if calls may not become tasks. */
export function taskTimeoutMs({ tasks = true }: McpServerOptions): number | undefined {
  if (tasks === false) return undefined
  return (tasks === true ? undefined : tasks.timeoutMs) ?? defaultTimeoutMs
}

/**
 * Whether to request a call as a task. In protocol 2026-07-28, the server decides instead. `isSafe`: whether the task's id can be saved.
 */
export function asksForTask(client: Client, { taskSupport }: ListedTool, isSafe: boolean): boolean {
  if (client.getProtocolEra() === 'modern' || client.getServerCapabilities()?.tasks?.requests?.tools?.call === undefined) return false
  return taskSupport === 'required' || (taskSupport === 'optional' && isSafe)
}

const statuses: readonly unknown[] = ['working', 'input_required', 'completed', 'failed', 'cancelled'] satisfies Task['status'][]

/** Reads a task. Undefined if the task is invalid. */
export function readTask(given: JsonObject): Task | undefined {
  const { taskId: id, status, statusMessage, result, error, inputRequests } = given
  const { ttlMs = given.ttl, pollIntervalMs = given.pollInterval } = given
  if (typeof id !== 'string' || id === '' || id.length > longestMessage || !statuses.includes(status)) return undefined
  const poll = typeof pollIntervalMs === 'number' ? pollIntervalMs : pollMs.default
  const problem = isJsonObject(error) && typeof error.message === 'string' ? error.message : undefined
  return {
    id,
    status: status as Task['status'],
    pollMs: Math.max(pollMs.min, Math.min(poll, pollMs.max)),
    ...(typeof statusMessage === 'string' && statusMessage !== '' ? { message: statusMessage.slice(0, longestMessage) } : {}),
    ...(typeof ttlMs === 'number' && ttlMs >= 0 ? { ttlMs } : {}),
    ...(isJsonObject(inputRequests) ? { inputRequests } : {}),
    ...(isJsonObject(result) ? { result } : {}),
    problem,
  }
}

/** Rejects with the SDK's errors. */
export function askOfTask(
  client: Client,
  method: 'get' | 'result' | 'update',
  params: JsonObject,
  { signal, owner }: { signal: AbortSignal; owner?: unknown },
): Promise<JsonObject> {
  const request = { method: `tasks/${method}`, params }
  return withCallStream(streamEnded, owner, () => client.request(request, anyObject, { signal, timeout: noTimeoutMs }))
}

/** Asks the server to cancel a task. The server may refuse. */
export async function cancelTask(client: Client, taskId: string): Promise<void> {
  const mayCancel = client.getProtocolEra() === 'modern' || client.getServerCapabilities()?.tasks?.cancel !== undefined
  if (!mayCancel) return
  await client.request({ method: 'tasks/cancel', params: { taskId } }, anyObject, { timeout: cancelMs })
}

/** Returns the id of the task to which a server's request belongs. */
export function relatedTaskOf(params: unknown): string | undefined {
  const meta = isJsonObject(params) && isJsonObject(params._meta) ? params._meta[relatedTask] : undefined
  return isJsonObject(meta) && typeof meta.taskId === 'string' ? meta.taskId : undefined
}
