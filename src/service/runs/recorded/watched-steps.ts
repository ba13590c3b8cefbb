import type { Durable, RecordEntry, StepContext } from '../../../agent/durable/journal.ts'
import type { ShownRuns } from '../../../agent/durable/shown-runs.ts'
import type { Steering, Turn } from '../../../agent/recorded.ts'
import { type ChatMessage, isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import type { ServiceRun } from '../service-run.ts'

/**
 * The steps of an execution, as the service needs to see them: from those that were recorded earlier, it learns what must not be shown; before a
 * run looks whether something was said to it, it is brought what was, whichever process was told.
 */
export class WatchedSteps implements Durable {
  readonly runId: string
  readonly attempt: string
  readonly epoch?: number
  readonly survivesCrashes: boolean
  readonly resumed?: boolean
  readonly signal?: AbortSignal
  readonly givenUp?: string
  readonly #steps: Durable
  readonly #run: ServiceRun
  readonly #shown: Pick<ShownRuns, 'said' | 'hush'>
  /** How many of the messages that were said to the run are in its conversation. */
  #taken = 0

  constructor(steps: Durable, run: ServiceRun, shown: Pick<ShownRuns, 'said' | 'hush'>) {
    this.runId = steps.runId
    this.attempt = steps.attempt
    if (steps.epoch !== undefined) this.epoch = steps.epoch
    this.survivesCrashes = steps.survivesCrashes
    if (steps.resumed !== undefined) this.resumed = steps.resumed
    if (steps.signal !== undefined) this.signal = steps.signal
    if (steps.givenUp !== undefined) this.givenUp = steps.givenUp
    this.#steps = steps
    this.#run = run
    this.#shown = shown
  }

  async step<T>(key: string, fn: (step: StepContext) => Promise<T>): Promise<T> {
    const isSteering = key.endsWith('.steer')
    const { recording } = this.#run
    let isNew = false
    const value = await this.#steps.step(key, async (step) => {
      isNew = true
      recording?.redo(key)
      const done = isSteering || key === 'unread' ? await this.#hear(() => fn(step)) : await fn(step)
      await recording?.keep(key)
      return done
    })
    if (!isNew) recording?.passed(key, value)
    if (isSteering) this.#taken += (value as Steering).messages.length
    else if (!isNew) this.#learn(value as never)
    return value
  }

  all<T>(steps: Promise<T>[]): Promise<T[]> {
    return this.#steps.all(steps)
  }

  async wait<T extends Json>(name: string, options?: { timeoutMs?: number; about?: Json }): Promise<T | null | undefined> {
    const decided = await this.#steps.wait<T>(name, options)
    const about = options?.about
    // A call may run with other arguments than it was made with.
    if (isJsonObject(decided) && isJsonObject(decided.args) && isJsonObject(about)) {
      this.#run.redactor.learn(String(about.tool), decided.args as JsonObject)
      await this.#run.recording?.hide()
    }
    return decided
  }

  async keep(...text: Parameters<Required<Durable>['keep']>): Promise<boolean> {
    return (await this.#steps.keep?.(...text)) ?? false
  }

  async kept(name: string): Promise<string | undefined> {
    return this.#steps.kept?.(name)
  }

  async append(...entry: Parameters<Required<Durable>['append']>): Promise<void> {
    await this.#steps.append?.(...entry)
  }

  async entries(record: string): Promise<RecordEntry[]> {
    return (await this.#steps.entries?.(record)) ?? []
  }

  /** Looks whether something was said. Where that was the last time, nothing can be said any more, in any process. */
  async #hear<T>(look: () => Promise<T>): Promise<T> {
    const { control } = this.#run
    for (;;) {
      await this.#bringMessages()
      const heard = await look()
      if (control.listens || (heard as Partial<Steering>).stops) return heard
      // Else something was said meanwhile.
      if (await this.#shown.hush(this.runId, this.#taken + control.waiting.length)) return heard
    }
  }

  async #bringMessages(): Promise<void> {
    const { control } = this.#run
    for (const text of await this.#shown.said(this.runId, this.#taken + control.waiting.length)) {
      control.send([JSON.parse(text) as ChatMessage])
    }
  }

  #learn(turn: Partial<Turn> | null): void {
    if (turn === null || turn.kind !== 'reply') return
    for (const { name, args, rawArguments } of turn.planned ?? []) this.#run.redactor.learn(name, args ?? rawArguments)
  }
}
