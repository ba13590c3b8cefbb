import type { HookPlace } from '../callbacks/hooks.ts'
import type { RunContext } from './run-context.ts'

/** The run and the place in it where a hook or a guardrail is asked. */
export function placeOf(run: RunContext, iteration: number): HookPlace<never> {
  const { runId, metadata, signal, settings } = run
  return { runId, iteration, context: settings.context as never, metadata, signal, run }
}
