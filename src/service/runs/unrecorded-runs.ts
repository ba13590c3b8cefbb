import type { AgentRunner } from '../../agent/agent-runner.ts'
import type { ShownRuns } from '../../agent/journal/shown-runs.ts'
import { unknownRun } from '../../agent/journal/store.ts'
import type { RunStream } from '../../agent/runner/run-stream.ts'
import type { ResumeOptions } from '../../agent/types/options.ts'
import type { RunEvent } from '../../core/events.ts'
import type { ChatMessage } from '../../core/messages.ts'
import { yieldNow } from '../../core/time/give-way.ts'
import { isDelta } from '../../ui/web/deltas.ts'
import type { EventLog } from '../../ui/web/event-log.ts'
import type { Agent } from '../agents/agent-host.ts'
import { noRoom, type RunBounds, roomOf } from '../run-bounds.ts'
import type { ByTenant } from '../tenants/by-tenant.ts'
import type { Execution } from './execution.ts'
import type { EventSink } from './follow-run.ts'
import { outcomeRow, rowOf } from './recorded/stored-rows.ts'
import type { ServiceRun } from './service-run.ts'
import { abortedWith, type Outcome } from './stored-run.ts'

interface UnrecordedRunsParts {
  shown: ShownRuns
  bounds(): RunBounds
  feed: ByTenant<EventLog>
  inMemory: boolean
}

/** Executes chats, and all runs if the store is in memory. These runs have no journal. They are stored when they pause or end. */
export class UnrecordedRuns implements Execution {
  readonly recordings = undefined
  readonly #parts: UnrecordedRunsParts

  constructor(parts: UnrecordedRunsParts) {
    this.#parts = parts
  }

  runnerOf({ runner }: Agent): AgentRunner {
    return runner
  }

  async resume(run: ServiceRun, { runner }: Agent, options: ResumeOptions): Promise<RunStream> {
    const { shown } = this.#parts
    const [state, said] = await Promise.all([shown.state(run.id), shown.messages(run.id, 0)])
    // The state is empty if the run was already resumed or cancelled.
    if (state === '') throw unknownRun(run.id)
    run.control.send(said.map((message): ChatMessage => JSON.parse(message)))
    return runner.resumeStream(JSON.parse(state), options)
  }

  sinkOf(run: ServiceRun): EventSink {
    const { shown, feed, inMemory } = this.#parts
    const { kind, thread } = run.head
    const isSeen = !inMemory || kind !== 'chat' || thread !== undefined || feed.with(run.head).some(({ isRead }) => isRead)
    let begun: Promise<unknown> | undefined
    const begin = async () => {
      run.storedEvents ??= 0
      // The write at the end of the run would report the same error.
      await shown.begin(rowOf(run.head, run.title), { attempt: run.id }).catch(() => {})
    }
    const add = (event: RunEvent) => {
      // The store must show a resumed run as running, and must know the newest run of a thread.
      if (run.storedEvents !== undefined || run.head.thread !== undefined) begun ??= begin()
      const data = isDelta(event) ? undefined : JSON.stringify(event)
      for (const one of [run.log, ...feed.with(run.head)]) one.append(event, data)
    }
    const flush = async () => {
      await begun
    }
    return { isSeen, add, flush }
  }

  async say(run: ServiceRun, messages: readonly ChatMessage[]): Promise<boolean> {
    if (run.status === 'waiting') return this.#parts.shown.sendMessages(run.id, asJson(messages))
    run.control.send([...messages])
    return true
  }

  async end(run: ServiceRun, outcome: Outcome): Promise<void> {
    // Clients get the end of a run before it is stored. They get a pause only after it is stored, because a decision needs the stored
    // state.
    if (outcome.status === 'ended') {
      run.settle(outcome)
      await yieldNow()
    }
    if (await this.#put(run, outcome)) return
    const aborted = abortedWith(noRoom)
    await this.#parts.shown.settle(run.id, { status: 'running' }, await outcomeRow(run, aborted))
    run.settle(aborted)
  }

  async breakOff(run: ServiceRun): Promise<void> {
    if (run.status !== 'running') return
    const aborted = abortedWith('the run could not be followed to its end')
    run.settle(aborted)
    await this.end(run, aborted)
  }

  discard(): void {}

  /** Stores the outcome. Resolves with false if there is no room for another waiting run. */
  async #put(run: ServiceRun, outcome: Outcome): Promise<boolean> {
    const { shown, bounds } = this.#parts
    const { log, redactor, control, storedEvents = 0 } = run
    const isPaused = outcome.status === 'waiting'
    const events = [...log.eachAfter(storedEvents)]
    const secrets = isPaused ? run.ownSecrets : []
    const { title } = run
    const news = { events, firstEventId: log.firstId, title, secrets, hidesAll: redactor.secrets.isFull }
    const row = await outcomeRow(run, outcome, title)
    const put = await shown.put(rowOf(run.head, title), run.id, news, row, isPaused ? roomOf(bounds()) : undefined)
    run.storedEvents = log.lastId
    if (put === 'no_room') return false
    if (!isPaused) return true
    for (let kept = 0; kept < control.waiting.length; ) {
      const said = control.waiting.slice(kept)
      await shown.sendMessages(run.id, asJson(said))
      kept += said.length
    }
    run.settle(outcome)
    return true
  }
}

function asJson(messages: readonly ChatMessage[]): string[] {
  return messages.map((message) => JSON.stringify(message))
}
