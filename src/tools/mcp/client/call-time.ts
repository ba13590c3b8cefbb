import type { ToolContext } from '../../tool.ts'
import type { McpServerOptions } from '../server-config.ts'

/** Returns the time limit of a tool's calls, in milliseconds. Undefined means that the run's time limit applies. */
export function timeoutOf({ timeouts = {}, toolTimeoutMs }: McpServerOptions, tool: string): number | undefined {
  return Object.hasOwn(timeouts, tool) ? timeouts[tool] : toolTimeoutMs
}

const defaultMaxMs = 60 * 60_000

/**
 * Forwards progress reports. Each report restarts the call's timeout. `maxToolTimeoutMs` limits the total time, because a server may report
 * progress forever.
 */
export function progressExtends(
  { progress, timeoutMs, extendTimeout }: Pick<ToolContext, 'progress' | 'timeoutMs' | 'extendTimeout'>,
  { maxToolTimeoutMs = defaultMaxMs }: McpServerOptions,
): ToolContext['progress'] {
  const since = performance.now()
  return (update) => {
    if (timeoutMs !== undefined) {
      const leftMs = since + Math.max(maxToolTimeoutMs, timeoutMs) - performance.now()
      if (leftMs > 0) extendTimeout?.(Math.min(timeoutMs, leftMs))
    }
    progress(update)
  }
}
