import { withShownAbout } from '../../agent/nested/shown-question.ts'
import type { PendingItem } from '../../agent/run/result.ts'
import { LogSource } from '../../agent/web/log-source.ts'
import type { ResponseFormat } from '../../agent/web/response-format.ts'
import type { RunEnding } from '../../agent/web/run-ending.ts'
import type { SseSource } from '../../agent/web/sse-stream.ts'
import type { RunEvent } from '../../core/events.ts'
import type { EventLog } from '../runs/event-log.ts'
import type { ServiceRun } from '../runs/service-run.ts'

/** A run's events in another format than our own, without secrets as they are in its log: those after the one of a number, then new ones. */
export function formattedLog(run: ServiceRun, format: ResponseFormat, after: number): SseSource {
  const { log } = run
  const readable = {
    get firstId() {
      return log.firstId
    },
    after: (id: number) => nextIn(log, id),
    onChange: (listener: () => void) => log.onChange(listener),
  }
  // One that waits is on the disk alone soon after; whoever reads slowly is told what it has come to all the same.
  let ended: RunEnding | undefined
  void run.ended.then(() => {
    ended = endingOf(run) ?? leftEnding(run)
  })
  return new LogSource(readable, { writer: format.open(), place: after, select: undefined, ending: () => ended ?? endingOf(run) })
}

function nextIn(log: EventLog, id: number): { id: number; event: RunEvent } | undefined {
  for (const one of log.after(id)) return { id: one.id, event: JSON.parse(one.data) }
  return undefined
}

/** What a client may know of it; undefined while it goes on. */
function endingOf({ id: runId, outcome }: ServiceRun): RunEnding | undefined {
  if (outcome === undefined) return undefined
  const { stopReason, output = '', usage, iterations, error, pending } = outcome.summary
  return {
    runId,
    ...(stopReason === undefined ? {} : { stopReason }),
    text: output,
    ...(usage === undefined ? {} : { usage }),
    ...(iterations === undefined ? {} : { iterations }),
    pending: (pending as PendingItem[]).map(withShownAbout),
    ...(error === undefined ? {} : { error }),
  }
}

/** Of a run that nobody here is told of any more. */
function leftEnding({ id: runId }: ServiceRun): RunEnding {
  return {
    runId,
    stopReason: 'aborted',
    text: '',
    pending: [],
    error: { code: 'aborted', message: 'What becomes of the run is not known here' },
  }
}

/** The event with which the run went on last: behind the last pause. */
export function lastBeginning({ id, log }: ServiceRun): number {
  let beginning = 0
  for (const { id: place, type, data } of log.after(0)) {
    if (type !== 'RUN_START') continue
    const event: RunEvent = JSON.parse(data)
    if (event.meta.runId === id) beginning = place - 1
  }
  return beginning
}
