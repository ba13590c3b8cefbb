import type { ToolContext } from '../../tool.ts'
import type { McpServerOptions } from '../server-config.ts'

/** The time limit of a tool's calls in milliseconds; undefined: the run's. */
export function timeoutOf({ timeouts = {}, toolTimeoutMs }: McpServerOptions, tool: string): number | undefined {
  return Object.hasOwn(timeouts, tool) ? timeouts[tool] : toolTimeoutMs
}

const defaultMaxMs = 60 * 60_000

/**
 * Passes progress on, and has the time limit of its call begin again with each: until the call has taken `maxToolTimeoutMs`, since a server may tell
 * of progress for ever.
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
