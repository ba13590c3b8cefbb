import { getEventListeners } from 'node:events'
import type { Logger } from '../../src/core/logger.ts'
import type { Json, ToolCall } from '../../src/core/messages.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { type ToolCallEnvironment, ToolRunner } from '../../src/tools/tool-runner.ts'

interface LogRecord {
  level: string
  fields: Record<string, unknown>
  message: string
}

function recordingLogger(): { logger: Logger; records: LogRecord[] } {
  const records: LogRecord[] = []
  const at = (level: string) => (fields: object, message: string) => void records.push({ level, fields: { ...fields }, message })
  return { logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, records }
}

type Environment = Omit<ToolCallEnvironment, 'toolCallId'>

/** A tool runner with its log, and a function that calls one of its tools. */
export function bench(tools: AnyTool[], more: Partial<Environment> = {}) {
  const { logger, records } = recordingLogger()
  const controller = new AbortController()
  const environment: Environment = {
    context: undefined,
    signal: controller.signal,
    runId: 'run_1',
    iteration: 3,
    idempotencyKey: 'run_1/3.tool.0',
    timeoutMs: 1_000,
    maxResultBytes: 65_536,
    logger,
    ...more,
  }
  const runner = new ToolRunner(new ToolRegistry(tools))
  const call = (name: string, args: Json | string = {}): ToolCall => ({
    id: 'call_1',
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  })
  const run = (name: string, args: Json | string = {}, over: Partial<Environment> = {}) =>
    runner.run(call(name, args), { ...environment, ...over })
  const warnings = () => records.filter(({ level }) => level === 'warn')
  /** How often the log reports an abandoned call that has ended since. */
  const lateResults = () => records.filter(({ message }) => message.includes('its result is dropped')).length
  return { runner, run, call, environment, controller, records, warnings, lateResults }
}

export const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

export const add = defineTool({
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})
