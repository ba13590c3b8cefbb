import { Event, type RunEvent } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import type { EndedRun } from '../../ui/web/run-ending.ts'
import { shownItem, withShownAbout } from '../nested/shown-question.ts'
import { RunError } from '../run/run-error.ts'
import type { RunResult } from '../types/result.ts'

/** How a run ended, from its result. Leaves out what only the program may see, such as the state. */
export function endedWith({ runId, stopReason, text, output, usage, iterations, pending, error }: RunResult<unknown, unknown>): EndedRun {
  const answer = output === text ? {} : { output }
  const ending = { runId, stopReason, text, ...answer, usage, iterations, pending: pending.map(shownItem) }
  return error === undefined ? { ending } : { ending, error }
}

/** How a run ended, from the error that its result rejected with. */
export function failedWith(error: unknown): EndedRun {
  return { ...(error instanceof RunError ? endedWith(error.result) : { ending: { text: '', pending: [] } }), error }
}

/** An event as pages may show it. */
export function shownEvent(event: RunEvent): RunEvent {
  if (event.type === Event.DECISION_NEEDED) return withShownAbout(event)
  // A tool may report anything; everything else in an event is JSON.
  return event.type === Event.TOOL_PROGRESS ? { ...event, update: toJson(event.update) } : event
}
