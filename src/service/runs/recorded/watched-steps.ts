import type { Durable, StepContext } from '../../../agent/journal/journal.ts'
import type { ShownRuns } from '../../../agent/journal/shown-runs.ts'
import { type AroundSteps, aroundSteps } from '../../../agent/observe/recorder.ts'
import { isSteering, unreadStep } from '../../../agent/step-keys.ts'
import type { Steering, Turn } from '../../../agent/types/recorded.ts'
import { type ChatMessage, isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import type { ServiceRun } from '../service-run.ts'

/**
 * Observes the steps of an execution. It learns secrets from recorded steps, and delivers messages to the run before the run reads its
 * messages, whichever process received them.
 */
export function watchedSteps(steps: Durable, run: ServiceRun, shown: Pick<ShownRuns, 'said' | 'hush'>): Durable {
  return aroundSteps(steps, new WatchedSteps(steps, run, shown))
}

class WatchedSteps implements AroundSteps {
  readonly #steps: Durable
  readonly #run: ServiceRun
  readonly #shown: Pick<ShownRuns, 'said' | 'hush'>
  /** The number of messages that have been delivered to the run. */
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
    // A decision may have changed the arguments of a call.
    if (isJsonObject(decided) && isJsonObject(decided.args) && isJsonObject(about)) {
      this.#run.redactor.learn(String(about.tool), decided.args as JsonObject)
      await this.#run.recording?.keep()
    }
    return decided
  }

  /** Lets the run read its messages. After the last read, the run can't receive any more, in any process. */
  async #hear<T>(look: () => Promise<T>): Promise<T> {
    const { control } = this.#run
    for (;;) {
      await this.#bringMessages()
      const heard = await look()
      if (control.listens || (heard as Partial<Steering>).stops) return heard
      // A message has arrived meanwhile.
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
