import type { ShownRuns } from '../../../agent/journal/shown-runs.ts'
import { takenOver } from '../../../agent/journal/store.ts'
import { messageOf } from '../../../core/errors.ts'
import type { RunEvent } from '../../../core/events.ts'
import type { Logger } from '../../../core/logger.ts'
import type { EventLog } from '../../../ui/web/event-log.ts'
import type { ByTenant } from '../../tenants/by-tenant.ts'
import type { EventSink } from '../follow-run.ts'
import type { ServiceRun } from '../service-run.ts'

/**
 * Maximum number of events, and of characters, in one write. An event log has room for several writes, so that one write can't displace all
 * unread events.
 */
const mostEvents = 500
const mostCharacters = 500_000

interface WaitingEvent {
  event: RunEvent
  /** The event as JSON. */
  data: string
}

/**
 * Stores the events of a run. An event is shown only after it is stored, so every process can find the events that a reader has seen.
 * Events that arrive during a write are written together.
 */
export class EventWriter implements EventSink {
  readonly isSeen = true
  readonly #run: ServiceRun
  readonly #shown: Pick<ShownRuns, 'append'>
  /** All events of all runs. */
  readonly #feed: ByTenant<EventLog>
  readonly #logger: Logger
  #waiting: WaitingEvent[] = []
  /** How many of the run's secrets are stored. */
  #secrets: number
  /** The redacted title of the run. */
  #title: string
  #writing: Promise<void> | undefined

  constructor(run: ServiceRun, { shown, feed, logger }: { shown: Pick<ShownRuns, 'append'>; feed: ByTenant<EventLog>; logger: Logger }) {
    this.#run = run
    this.#shown = shown
    this.#feed = feed
    this.#logger = logger
    this.#secrets = [...run.redactor.secrets].length
    this.#title = run.title
  }

  add(event: RunEvent): void {
    this.#waiting.push({ event, data: JSON.stringify(event) })
    this.#writing ??= this.#writeAll().catch((error: unknown) => {
      // The write is retried with the next event, or when the run ends.
      this.#writing = undefined
      this.#logger.warn({ runId: this.#run.id, error: messageOf(error) }, 'events of a run could not be written yet')
    })
  }

  async flush(): Promise<void> {
    await this.#writing
    await this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const { id, head, log, redactor, attempt = '' } = this.#run
      const next = this.#next()
      const events = next.map(({ event, data }, at) => ({ id: log.lastId + at + 1, type: event.type, data }))
      const secrets = [...redactor.secrets].slice(this.#secrets)
      const { isFull } = redactor.secrets
      if (secrets.length > 0 || isFull) this.#title = this.#run.title
      const news = { events, firstEventId: log.firstId, title: this.#title, secrets, hidesAll: isFull }
      if (!(await this.#shown.append(id, attempt, news))) throw takenOver(id)
      this.#secrets += secrets.length
      this.#waiting = this.#waiting.slice(next.length)
      for (const one of [log, ...this.#feed.with(head)]) for (const { event, data } of next) one.append(event, data)
    }
    this.#writing = undefined
  }

  /** Returns the events to write next, at least one. */
  #next(): readonly WaitingEvent[] {
    let characters = 0
    const end = this.#waiting.findIndex(({ data }, at) => {
      characters += data.length
      return at === mostEvents || (at > 0 && characters > mostCharacters)
    })
    return this.#waiting.slice(0, end < 0 ? undefined : end)
  }
}
