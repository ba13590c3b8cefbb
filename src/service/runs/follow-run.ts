import { eventsOf, type RunStream } from '../../agent/runner/run-stream.ts'
import type { RunResult } from '../../agent/types/options.ts'
import type { EventName, RunEvent } from '../../core/events.ts'
import { giveWay, nextTurn } from '../../core/time/give-way.ts'
import { EventLog } from '../../ui/web/event-log.ts'
import type { AgentHost } from '../agents/agent-host.ts'
import { problemOfRequest } from '../http/problem.ts'
import type { RunBounds } from '../run-bounds.ts'
import { ByTenant } from '../tenants/by-tenant.ts'
import type { ServiceRun } from './service-run.ts'
import type { Outcome } from './stored-run.ts'

export interface RunObserver {
  started(run: ServiceRun): void
  event(run: ServiceRun, event: RunEvent): void
  ended(run: ServiceRun, result: RunResult, durationMs: number): void
}

/** Sees one run as it is, before anything is redacted. Must not throw. */
export interface RunWatcher {
  /** Whether it can take back what it was told of a response that breaks off. Default: it can. */
  readonly takesBack?: boolean
  event(event: RunEvent): void
  /** Undefined: the run could not be followed to its end, which is nobody's intention. */
  over(result: RunResult | undefined): void
}

/** Where the events of a run go, as they may be shown. */
export interface EventSink {
  add(event: RunEvent): void
  /** Resolves when all of them are there. */
  flush(): Promise<void>
}

/** The events of all runs, and those of each tenant. */
export function newFeed({
  eventsOfRun: events,
  charactersOfRun: characters,
}: Pick<RunBounds, 'eventsOfRun' | 'charactersOfRun'>): ByTenant<EventLog> {
  return new ByTenant(
    () => new EventLog({ events, characters }),
    ({ isRead }) => isRead,
  )
}

/** How a run is followed. */
export interface Following {
  watcher?: RunWatcher | undefined
  sink: EventSink
  /** Called when it is over. */
  giveBack(): void
}

interface FollowerParts {
  host: AgentHost
  observer: RunObserver
  /** The run has come to this; must not reject. */
  ended(run: ServiceRun, outcome: Outcome): Promise<void>
  /** It could not be followed to its end; must not reject. */
  brokeOff(run: ServiceRun, error: unknown): Promise<void>
}

/** Follows runs from their first event to their result: what is shown of each event goes into its sink. */
export class RunFollower {
  readonly #parts: FollowerParts

  constructor(parts: FollowerParts) {
    this.#parts = parts
  }

  /** Resolves when the run has begun, with its first event. Rejects with an `HttpProblem` when it can't, and nothing is given back then. */
  async follow(run: ServiceRun, following: Following, begin: () => RunStream | Promise<RunStream>): Promise<void> {
    const { host, observer } = this.#parts
    const endLease = host.leaseTools()
    let stream: RunStream | undefined
    try {
      // What a run does before it first waits for its model is done in one go.
      await nextTurn()
      const started = performance.now()
      stream = await begin()
      const events = eventsOf(stream)
      const first = await events.next()
      observer.started(run)
      if (first.value !== undefined) await this.#take(run, stream, first.value, following)
      void this.#pump(run, stream, events, following, started).finally(() => {
        endLease()
        following.giveBack()
      })
    } catch (error) {
      endLease()
      // Whoever rejects the iteration rejects the result as well.
      stream?.result.catch(() => {})
      throw problemOfRequest(error) ?? error
    }
  }

  /** Never rejects: a run that has begun ends with a result, or breaks off. */
  async #pump(
    run: ServiceRun,
    stream: RunStream,
    events: AsyncIterableIterator<RunEvent, undefined>,
    following: Following,
    started: number,
  ): Promise<void> {
    const { observer, ended, brokeOff } = this.#parts
    const { watcher, sink } = following
    let result: RunResult | undefined
    let isTold = false
    try {
      for await (const event of events) {
        await this.#take(run, stream, event, following)
      }
      result = await stream.result
      const outcome = await run.outcomeOf(result)
      await sink.flush()
      observer.ended(run, result, performance.now() - started)
      const ending = ended(run, outcome)
      await Promise.race([run.ended, ending])
      isTold = true
      watcher?.over(result)
      await ending
    } catch (error) {
      await brokeOff(run, error)
    }
    if (!isTold) watcher?.over(result)
  }

  async #take(run: ServiceRun, stream: RunStream, event: RunEvent, { watcher, sink }: Following): Promise<void> {
    watcher?.event(event)
    if (hiding.has(event.type)) for (const text of stream.hidden) run.redactor.secrets.add(text)
    this.#parts.observer.event(run, event)
    for (const shown of await run.redactor.redact(event)) {
      await giveWay()
      sink.add(shown)
    }
  }
}

/** Events before which secrets were taken out of them. */
const hiding: ReadonlySet<EventName> = new Set<EventName>(['TOOL_INPUT_DELTA', 'TOOL_CALL_START', 'TOOL_CALL_REJECTED', 'DECISION_NEEDED'])
