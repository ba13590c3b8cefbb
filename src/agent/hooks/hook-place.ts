import type { RunContext } from '../run/run-context.ts'
import type { HookPlace } from './hooks.ts'

/** Where in which run a hook or a guardrail is asked. */
export function placeOf({ runId, metadata, signal, settings }: RunContext, iteration: number): HookPlace<never> {
  return { runId, iteration, context: settings.context as never, ...(metadata === undefined ? {} : { metadata }), signal }
}
