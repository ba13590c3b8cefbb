import { followEvents, type RunStream } from '../../agent/runner/run-stream.ts'
import type { RunResult } from '../../agent/types/options.ts'
import type { EventName, RunEvent } from '../../core/events.ts'
import { giveWay, yieldNow } from '../../core/time/give-way.ts'
import { EventLog } from '../../ui/web/event-log.ts'
import type { AgentHost } from '../agents/agent-host.ts'
import { problemOfRequest } from '../http/problem.ts'
import type { RunBounds } from '../run-bounds.ts'
import { ByTenant } from '../tenants/by-tenant.ts'
import type { ServiceRun } from './service-run.ts'
import { ShownEvents } from './shown-events.ts'
import type { Outcome } from './stored-run.ts'

export interface RunObserver {
  event(run: ServiceRun, event: RunEvent): void
  ended(run: ServiceRun, result: RunResult, durationMs: number): void
}

/** Receives the events of one run before they are redacted. Contract: called synchronously; must not throw. */
export interface RunWatcher {
  /** Whether the watcher can discard text that a retry replaces. Default true. */
  readonly takesBack?: boolean
  event(event: RunEvent): void
  /** Called when the run has ended. The result is undefined if an internal error prevented the run from being followed to its end. */
  over(result: RunResult | undefined): void
}

/** Receives the redacted events of a run. */
export interface EventSink {
  /** Whether the events are needed from the start of the run. If false, events may be buffered until a client asks for them. */
  readonly isSeen: boolean
  add(event: RunEvent): void
  /** Resolves when all events are stored. */
  flush(): Promise<void>
}

/** Creates the event log of all runs, and one for each tenant. */
export function newFeed({
  eventsOfRun: events,
  charactersOfRun: characters,
}: Pick<RunBounds, 'eventsOfRun' | 'charactersOfRun'>): ByTenant<EventLog> {
  return new ByTenant(
    () => new EventLog({ events, characters }),
    ({ isRead }) => isRead,
  )
}

export interface Following {
  watcher?: RunWatcher | undefined
  sink: EventSink
  /** Releases the run's place among the caller's concurrent runs. */
  giveBack(): void
}

interface FollowerParts {
  host: AgentHost
  observer: RunObserver
  /** Called with the outcome of the run. Must not reject. */
  ended(run: ServiceRun, outcome: Outcome): Promise<void>
  /** Called if the run has ended before any client asked for its events. Must not throw. */
  endedUnseen(run: ServiceRun, result: RunResult): void
  /** Called if the run could not be followed to its end. Must not reject. */
  brokeOff(run: ServiceRun, error: unknown): Promise<void>
}

/** Follows runs from their first event to their result. Each event is redacted and passed to its sink. */
export class RunFollower {
  readonly #parts: FollowerParts

  constructor(parts: FollowerParts) {
    this.#parts = parts
  }

  /**
   * Starts a run and follows it. Resolves when the run has emitted its first event. If the run can't start, rejects with an `HttpProblem`
   * and doesn't call `giveBack`.
   */
  async follow(run: ServiceRun, following: Following, begin: () => RunStream | Promise<RunStream>): Promise<void> {
    const { sink } = following
    const endLease = this.#parts.host.leaseTools()
    const shown = new ShownEvents((event) => showEvent(run, event, sink), sink.isSeen)
    run.shownEvents = shown
    try {
      // Yields first, because a run works synchronously until it first waits for its model.
      await yieldNow()
      const started = performance.now()
      const stream = await begin()
      const { hidden, result } = stream
      const first = Promise.withResolvers<void>()
      followEvents(stream, (event) => {
        following.watcher?.event(event)
        if (hiding.has(event.type)) for (const text of hidden) run.redactor.secrets.add(text)
        this.#parts.observer.event(run, event)
        shown.take(event)
        first.resolve()
      })
      await Promise.race([first.promise, result])
      void this.#end(run, shown, result, following, started).finally(() => {
        endLease()
        following.giveBack()
      })
    } catch (error) {
      endLease()
      throw problemOfRequest(error) ?? error
    }
  }

  /** Waits until a run has ended, and reports its ending. Never rejects: if the run can't be followed to its end, calls `brokeOff`. */
  async #end(run: ServiceRun, shown: ShownEvents, ending: Promise<RunResult>, following: Following, started: number): Promise<void> {
    const { observer, ended, endedUnseen, brokeOff } = this.#parts
    const { watcher, sink } = following
    let result: RunResult | undefined
    let isTold = false
    try {
      result = await ending
      if (shown.isUnseen && result.error === undefined) {
        observer.ended(run, result, performance.now() - started)
        endedUnseen(run, result)
        isTold = true
        watcher?.over(result)
        return
      }
      await shown.reveal()
      const outcome = await run.outcomeOf(result)
      await sink.flush()
      observer.ended(run, result, performance.now() - started)
      const stored = ended(run, outcome)
      await Promise.race([run.ended, stored])
      isTold = true
      watcher?.over(result)
      await stored
    } catch (error) {
      await shown.reveal().catch(() => {})
      await brokeOff(run, error)
    }
    if (!isTold) watcher?.over(result)
  }
}

/** Redacts an event and passes it to a sink. */
export async function showEvent(run: ServiceRun, event: RunEvent, sink: EventSink): Promise<void> {
  for (const shown of await run.redactor.redact(event)) {
    await giveWay()
    sink.add(shown)
  }
}

/** Before these events, the run may have added secrets to `stream.hidden`. */
const hiding: ReadonlySet<EventName> = new Set<EventName>(['TOOL_INPUT_DELTA', 'TOOL_CALL_START', 'TOOL_CALL_REJECTED', 'DECISION_NEEDED'])
