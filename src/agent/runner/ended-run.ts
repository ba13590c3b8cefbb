import { Event, type RunEvent } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import type { EndedRun } from '../../ui/web/run-ending.ts'
import { shownItem, withShownAbout } from '../nested/shown-question.ts'
import { RunError } from '../run/run-error.ts'
import type { RunResult } from '../types/result.ts'

/** How a run ended, by its result. What only the program may know, such as the state, is left out. */
export function endedWith({ runId, stopReason, text, output, usage, iterations, pending, error }: RunResult<unknown, unknown>): EndedRun {
  const answer = output === text ? {} : { output }
  const ending = { runId, stopReason, text, ...answer, usage, iterations, pending: pending.map(shownItem) }
  return error === undefined ? { ending } : { ending, error }
}

/** How a run ended, by the error that its result was rejected with. */
export function failedWith(error: unknown): EndedRun {
  return { ...(error instanceof RunError ? endedWith(error.result) : { ending: { text: '', pending: [] } }), error }
}

/** An event as pages may be shown it. */
export function shownEvent(event: RunEvent): RunEvent {
  if (event.type === Event.DECISION_NEEDED) return withShownAbout(event)
  // What a tool reports may be anything; all else in an event is JSON.
  return event.type === Event.TOOL_PROGRESS ? { ...event, update: toJson(event.update) } : event
}
