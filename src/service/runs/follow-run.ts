import type { RunStream } from '../../agent/run/run-stream.ts'
import type { RunResult } from '../../agent/types.ts'
import { Event, type RunEvent } from '../../core/events.ts'
import type { Logger } from '../../core/logger.ts'
import { Pauses } from '../../tools/yield-to-event-loop.ts'
import type { AgentHost } from '../agents/agent-host.ts'
import { problemOfRequest } from '../http/problem.ts'
import type { EventLog } from './event-log.ts'
import type { ServiceRun } from './service-run.ts'
import { StartQueue } from './start-queue.ts'
import { abortedWith, type Outcome } from './stored/stored-run.ts'

export interface RunObserver {
  started(run: ServiceRun): void
  event(run: ServiceRun, event: RunEvent): void
  ended(run: ServiceRun, result: RunResult, durationMs: number): void
}

/** Sees one run as it is, before anything is redacted. Must not throw. */
export interface RunWatcher {
  event(event: RunEvent): void
  /** Undefined: the run could not be followed to its end, which is nobody's intention. */
  over(result: RunResult | undefined): void
}

interface FollowerParts {
  host: AgentHost
  observer: RunObserver
  logger: Logger
  /** Every event of every run. */
  feed: EventLog
  /** The run has begun. */
  begun(run: ServiceRun): void
  /** The run is over; must not reject. */
  ended(run: ServiceRun, outcome: Outcome): Promise<void>
}

/** Follows runs from their first event to their result: what is shown of each event goes into its log and the feed. */
export class RunFollower {
  readonly #parts: FollowerParts
  readonly #starts = new StartQueue()

  constructor(parts: FollowerParts) {
    this.#parts = parts
  }

  /** Resolves when the run has begun, with its first event; `giveBack` is then called when it is over. Rejects with an `HttpProblem` when it can't. */
  async follow(
    run: ServiceRun,
    watcher: RunWatcher | undefined,
    giveBack: () => void,
    begin: () => RunStream | Promise<RunStream>,
  ): Promise<void> {
    const { host, observer } = this.#parts
    const endLease = host.leaseTools()
    let stream: RunStream | undefined
    try {
      await this.#starts.turn()
      // What a run does before it waits for its model for the first time is done in one go: in a turn without other long work.
      await new Pauses().turn()
      const started = performance.now()
      stream = await begin()
      const events = stream[Symbol.asyncIterator]()
      const first = await events.next()
      observer.started(run)
      if (first.value !== undefined) await this.#take(run, stream, first.value, watcher, new Pauses())
      void this.#pump(run, stream, events, watcher, started).finally(() => {
        endLease()
        giveBack()
      })
    } catch (error) {
      endLease()
      // Whoever rejects the iteration rejects the result as well.
      stream?.result.catch(() => {})
      throw problemOfRequest(error) ?? error
    }
  }

  /** Never rejects: a run that has begun ends with a result. */
  async #pump(
    run: ServiceRun,
    stream: RunStream,
    events: AsyncIterableIterator<RunEvent, undefined>,
    watcher: RunWatcher | undefined,
    started: number,
  ): Promise<void> {
    const { observer, logger } = this.#parts
    // What is said and called may be megabytes, and all of it is looked through several times.
    const pauses = new Pauses()
    this.#parts.begun(run)
    let result: RunResult | undefined
    let outcome = abortedWith('the run could not be followed to its end')
    try {
      for await (const event of events) {
        await this.#take(run, stream, event, watcher, pauses)
        await pauses.take()
      }
      result = await stream.result
      await pauses.take()
      outcome = await run.outcomeOf(result, pauses)
      await pauses.take()
      observer.ended(run, result, performance.now() - started)
    } catch (error) {
      logger.error({ runId: run.id, error }, 'a run could not be followed to its end')
    }
    await pauses.take()
    await this.#parts.ended(run, outcome)
    watcher?.over(result)
  }

  async #take(run: ServiceRun, stream: RunStream, event: RunEvent, watcher: RunWatcher | undefined, pauses: Pauses): Promise<void> {
    watcher?.event(event)
    if (event.type === Event.TOOL_CALL_REJECTED) for (const text of stream.hidden) run.redactor.secrets.add(text)
    if (event.type === Event.RUN_END && event.meta.runId === run.id && event.stopReason !== 'paused') run.takesMessages = false
    this.#parts.observer.event(run, event)
    for (const shown of await run.redactor.redact(event, pauses)) {
      await pauses.take()
      const data = JSON.stringify(shown)
      run.log.append(shown.type, data)
      this.#parts.feed.append(shown.type, data)
    }
  }
}
