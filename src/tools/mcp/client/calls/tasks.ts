import type { Client } from '@modelcontextprotocol/client'
import { isJsonObject, type JsonObject } from '../../../../core/messages.ts'
import type { McpServerOptions } from '../../server-config.ts'
import { withCallStream } from '../../transport/http-transport.ts'
import { anyObject, type ListedTool, noTimeoutMs } from '../listing/list-tools.ts'
import { streamEnded } from './stream-ended.ts'

/**
 * The extension by which a client tells a server of 2026-07-28 that calls may become tasks:
 * https://modelcontextprotocol.io/seps/2663-tasks-extension
 */
export const tasksExtension = 'io.modelcontextprotocol/tasks'
/** The field in which a server of 2025-11-25 names the task to which the server's request belongs. */
const relatedTask = 'io.modelcontextprotocol/related-task'

/** The interval between polls of a task, in milliseconds: the default if the server names no interval, and the limits. */
const pollMs = { default: 2_000, min: 50, max: 60_000 }
/** How long to wait for a server to confirm that a task is cancelled, in milliseconds. */
const cancelMs = 5_000
const defaultTimeoutMs = 60 * 60_000
const longestMessage = 1_000

/** The state of a call that continues without an open request, as the server reports it. */
export interface Task {
  id: string
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  message?: string
  /** How long the server keeps the task after its start, in milliseconds. Undefined means forever. */
  ttlMs?: number
  pollMs: number
  /** The server's questions. This field, `result` and `problem` exist only in the protocol of 2026-07-28. */
  inputRequests?: JsonObject
  result?: JsonObject
  problem?: string
}

/** Returns how long a call that has become a task may take, in milliseconds. Undefined if calls may not become tasks. */
export function taskTimeoutMs({ tasks = true }: McpServerOptions): number | undefined {
  if (tasks === false) return undefined
  return (tasks === true ? undefined : tasks.timeoutMs) ?? defaultTimeoutMs
}

/**
 * Whether to request a call as a task. Servers of 2026-07-28 decide this themselves. With older servers, the client decides, unless the
 * tool requires tasks or does not support them. A task is useful only if its id outlives this process.
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

/** Sends a request about a task. Rejects with the SDK's errors. */
export function askOfTask(
  client: Client,
  method: 'get' | 'result' | 'update',
  params: JsonObject,
  { signal, owner }: { signal: AbortSignal; owner?: unknown },
): Promise<JsonObject> {
  const request = { method: `tasks/${method}`, params }
  return withCallStream(streamEnded, owner, () => client.request(request, anyObject, { signal, timeout: noTimeoutMs }))
}

/** Tells the server that nobody waits for the task any longer. The server may ignore this. */
export async function cancelTask(client: Client, taskId: string): Promise<void> {
  const mayCancel = client.getProtocolEra() === 'modern' || client.getServerCapabilities()?.tasks?.cancel !== undefined
  if (!mayCancel) return
  await client.request({ method: 'tasks/cancel', params: { taskId } }, anyObject, { timeout: cancelMs })
}

/** Returns the task to which a server's own request belongs. */
export function relatedTaskOf(params: unknown): string | undefined {
  const meta = isJsonObject(params) && isJsonObject(params._meta) ? params._meta[relatedTask] : undefined
  return isJsonObject(meta) && typeof meta.taskId === 'string' ? meta.taskId : undefined
}
