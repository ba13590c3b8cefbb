import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../../src/core/messages.ts'
import type { McpCommand, McpServerOptions } from '../../../src/tools/mcp/index.ts'
import type { ToolSet } from '../../../src/tools/registry.ts'
import { type ToolCallEnd, ToolRunner } from '../../../src/tools/tool-runner.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import type { Oddity } from './odd-server.ts'

const program = fileURLToPath(new URL('odd-server.ts', import.meta.url))

/** Compiled once, not for each of the many servers. */
const compiled = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' }

/** An odd server, started as a program. */
export function odd(oddity: Oddity, options: McpServerOptions & Pick<McpCommand, 'env' | 'cwd'> = {}): McpCommand {
  return { command: process.execPath, args: [program, JSON.stringify(oddity)], ...options, env: { ...compiled, ...options.env } }
}

/** A tool as a server lists it. */
export function listed(name: string, more: object = {}): object {
  return { name, description: `The tool ${name}.`, inputSchema: { type: 'object' }, ...more }
}

export interface CallOptions {
  signal?: AbortSignal
  timeoutMs?: number
  onProgress?: (update: Json) => void
}

/** Makes one call like a run. */
export async function callTool(tools: ToolSet, name: string, args: object = {}, options: CallOptions = {}): Promise<ToolCallEnd> {
  const call = { id: 'call_1', type: 'function' as const, function: { name, arguments: JSON.stringify(args) } }
  const { end } = await new ToolRunner(tools).run(call, {
    context: undefined,
    signal: options.signal ?? new AbortController().signal,
    runId: 'run_1',
    iteration: 1,
    idempotencyKey: 'key',
    timeoutMs: options.timeoutMs ?? 50_000,
    maxResultBytes: 65_536,
    logger: recordingLogger().logger,
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  })
  return end
}

/** The text of a call's result, however it ended. */
export async function callText(tools: ToolSet, name: string, args: object = {}, options: CallOptions = {}): Promise<string> {
  const end = await callTool(tools, name, args, options)
  return end.outcome === 'question' ? 'question' : JSON.stringify(end.content).replace(/^"|"$/g, '').replaceAll('\\"', '"')
}

/** Waits until `holds` returns true. Checks it whenever `changed` is called. */
export class Watch {
  #waiting: { holds: () => boolean; resolve: () => void }[] = []
  readonly changed = (): void => {
    this.#waiting = this.#waiting.filter(({ holds, resolve }) => !holds() || void resolve())
  }
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ holds, resolve })
      this.changed()
    })
  }
}

/** Whether a process is running. One that has ended may still be waiting for its parent. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !(existsSync('/proc/self/stat') && / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
  } catch {
    return false
  }
}
