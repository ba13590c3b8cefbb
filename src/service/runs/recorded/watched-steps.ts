import type { Durable, StepContext } from '../../../agent/journal/journal.ts'
import type { ShownRuns } from '../../../agent/journal/shown-runs.ts'
import { type AroundSteps, aroundSteps } from '../../../agent/observe/around-steps.ts'
import { isSteering, unreadStep } from '../../../agent/step-keys.ts'
import type { Steering, Turn } from '../../../agent/types/recorded.ts'
import { type ChatMessage, isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import type { ServiceRun } from '../service-run.ts'

/**
 * The steps of an execution, as the service needs to see them: from those that were recorded earlier, it learns what must not be shown; before a
 * run looks whether something was said to it, it is brought what was, whichever process was told.
 */
export function watchedSteps(steps: Durable, run: ServiceRun, shown: Pick<ShownRuns, 'said' | 'hush'>): Durable {
  return aroundSteps(steps, new WatchedSteps(steps, run, shown))
}

class WatchedSteps implements AroundSteps {
  readonly #steps: Durable
  readonly #run: ServiceRun
  readonly #shown: Pick<ShownRuns, 'said' | 'hush'>
  /** How many of the messages that were said to the run are in its conversation. */
  #taken = 0

  constructor(steps: Durable, run: ServiceRun, shown: Pick<ShownRuns, 'said' | 'hush'>) {
    this.#steps = steps
    this.#run = run
    this.#shown = shown
  }

  async step<T>(key: string, fn: (step: StepContext) => Promise<T>): Promise<T> {
    const steers = isSteering(key)
    const { recording } = this.#run
    let isNew = false
    const value = await this.#steps.step(key, async (step) => {
      isNew = true
      const done = steers || key === unreadStep ? await this.#hear(() => fn(step)) : await fn(step)
      await recording?.keep()
      return done
    })
    if (!isNew) recording?.passed(key, value)
    if (steers) this.#taken += (value as Steering).messages.length
    else if (!isNew) this.#learn(value as never)
    return value
  }

  async wait<T extends Json>(name: string, options?: { timeoutMs?: number; about?: Json }): Promise<T | null | undefined> {
    const decided = await this.#steps.wait<T>(name, options)
    const about = options?.about
    // A call may run with other arguments than it was made with.
    if (isJsonObject(decided) && isJsonObject(decided.args) && isJsonObject(about)) {
      this.#run.redactor.learn(String(about.tool), decided.args as JsonObject)
      await this.#run.recording?.keep()
    }
    return decided
  }

  /** Looks whether something was said. Where that was the last time, nothing can be said any more, in any process. */
  async #hear<T>(look: () => Promise<T>): Promise<T> {
    const { control } = this.#run
    for (;;) {
      await this.#bringMessages()
      const heard = await look()
      if (control.listens || (heard as Partial<Steering>).stops) return heard
      // Else something was said meanwhile.
      if (await this.#shown.hush(this.#steps.runId, this.#taken + control.waiting.length)) return heard
    }
  }

  async #bringMessages(): Promise<void> {
    const { control } = this.#run
    for (const text of await this.#shown.said(this.#steps.runId, this.#taken + control.waiting.length)) {
      control.send([JSON.parse(text) as ChatMessage])
    }
  }

  #learn(turn: Partial<Turn> | null): void {
    if (turn === null || turn.kind !== 'reply') return
    for (const { name, args, rawArguments } of turn.planned ?? []) this.#run.redactor.learn(name, args ?? rawArguments)
  }
}
