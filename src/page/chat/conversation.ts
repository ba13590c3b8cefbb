import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { messageOf, post } from '../data/api.ts'
import { RunFollower, type RunWithResult } from '../data/follow-run.ts'
import { ending } from '../data/format.ts'
import type { Live } from '../data/live.ts'
import { type Item, itemsOf } from '../data/pending-items.ts'
import { type KeptChat, keepChat, keptChat } from '../data/session.ts'
import { Steps } from '../run/steps.ts'
import type { Run } from '../types.ts'

/** Maximum number of turns to restore. Earlier turns can be found in the list of runs. */
const mostTurns = 30
const mostAsked = 50
/** Maximum number of characters of one message in the history. */
const mostOfAsked = 10_000

interface CurrentRun {
  id: string
  follower: RunFollower
  /** Resolves the promise that `#follow` has returned for this run. */
  over(): void
}

/** A conversation with the agent. It continues after a change of the view or a reload of the page. */
export class Conversation {
  /** The steps of the conversation. `open` replaces the object. */
  readonly steps: Signal<Steps> = signal(new Steps({ hasTurns: false }))
  /** The pending decisions of the current run. */
  readonly items: Signal<readonly Item[]> = signal([])
  /** The error message of the last action that failed. */
  readonly failure: Signal<string> = signal('')
  readonly isStopping: Signal<boolean> = signal(false)
  readonly isRunning: ReadonlySignal<boolean> = computed(() => this.#run.value !== undefined)
  readonly canAsk: ReadonlySignal<boolean> = computed(() => !this.isRunning.value && !this.#isBusy.value)
  readonly isEmpty: ReadonlySignal<boolean> = computed(() => this.#kept.value.turns.length === 0)
  /** The text in the field: the draft, or an earlier message that replaces it. */
  readonly text: ReadonlySignal<string> = computed(() => this.#kept.value.asked[this.#recalled.value ?? -1] ?? this.#kept.value.draft)
  #live
  #kept = signal(keptChat())
  /** The index of the earlier message that replaces the draft. Undefined if the draft is shown. */
  #recalled = signal<number | undefined>(undefined)
  #run = signal<CurrentRun | undefined>(undefined)
  /** Whether a run is being started, or earlier runs are being restored. */
  #isBusy = signal(false)
  /** The messages of the conversation so far, as input for the next run. */
  #messages: unknown[] = []
  #isClosed = false
  #wasRestored = false
  /** The number of conversations opened so far. */
  #opened = 0

  constructor(live: Live) {
    this.#live = live
  }

  /** The selected model, if it still exists. */
  get model(): string {
    const names = this.#live.state?.models.map(({ name }) => name) ?? []
    const chosen = this.#kept.value.model
    return names.includes(chosen) ? chosen : (names[0] ?? 'toolloop')
  }

  choose(model: string): void {
    this.#keep({ model })
  }

  write(draft: string): void {
    this.#recalled.value = undefined
    this.#keep({ draft })
  }

  /**
   * Shows the previous (-1) or next (1) message of the history. The draft follows the last message. Returns false if there is no such
   * message.
   */
  recall(by: -1 | 1): boolean {
    const { asked } = this.#kept.value
    const at = (this.#recalled.value ?? asked.length) + by
    if (at < 0 || asked.length === 0) return this.#recalled.value !== undefined
    this.#recalled.value = at < asked.length ? at : undefined
    return true
  }

  get isRecalling(): boolean {
    return this.#recalled.value !== undefined
  }

  /** The session of the conversation's runs. `''` before the first run. */
  get session(): string {
    return this.#kept.value.session
  }

  /** Restores the conversation that was open before a reload. Runs that are no longer stored are missing. */
  async restore(): Promise<void> {
    if (this.#wasRestored) return
    this.#wasRestored = true
    const own = ++this.#opened
    this.#isBusy.value = true
    for (const { id, input } of this.#kept.value.turns) {
      if (this.#isClosed || own !== this.#opened) return
      this.steps.value.user(input, id)
      await this.#follow(id)
    }
    if (own === this.#opened) this.#isBusy.value = false
  }

  /** Opens another conversation and shows its latest turns. Does not stop a run of the previous conversation. */
  open({ session, turns, model }: Pick<KeptChat, 'session' | 'turns' | 'model'>): void {
    this.#show({ session, model, turns: turns.slice(-mostTurns) })
    this.#wasRestored = false
    void this.restore()
  }

  /** Sends the text in the field. */
  async ask(): Promise<void> {
    const input = this.text.value.trim()
    if (input === '' || !this.canAsk.value) return
    const steps = this.steps.value
    this.#isBusy.value = true
    this.failure.value = ''
    try {
      const session = this.session === '' ? newSession() : this.session
      const run: Run = await post('v1/runs', { input, model: this.model, messages: this.#messages, session, background: true })
      // Another conversation was opened meanwhile, so nobody waits for this run.
      if (steps !== this.steps.value) return await cancel(run.id)
      const { turns, asked } = this.#kept.value
      const isLong = input.length > mostOfAsked
      const shown = isLong ? `${input.slice(0, mostOfAsked)}…` : input
      // If the user has changed the text meanwhile, it stays in the field as the next message.
      if (this.text.value.trim() === input) this.write('')
      this.#keep({
        session,
        turns: [...turns, { id: run.id, input: shown }].slice(-mostTurns),
        asked: isLong ? asked : [...asked.filter((one) => one !== input), input].slice(-mostAsked),
      })
      steps.user(input, run.id)
      void this.#follow(run.id)
    } catch (thrown) {
      this.#fail(thrown, steps)
    } finally {
      this.#isBusy.value = false
    }
  }

  async stop(): Promise<void> {
    const run = this.#run.value
    if (run === undefined) return
    const steps = this.steps.value
    this.isStopping.value = true
    try {
      await cancel(run.id)
      this.#live.refresh()
    } catch (thrown) {
      this.#fail(thrown, steps)
    } finally {
      this.isStopping.value = false
    }
  }

  restart(): void {
    void this.stop()
    this.#show({ turns: [], session: '' })
  }

  #show(kept: Partial<KeptChat>): void {
    this.#opened++
    this.#keep(kept)
    this.#settle()
    this.#messages = []
    batch(() => {
      this.items.value = []
      this.steps.value = new Steps({ hasTurns: false })
      this.failure.value = ''
      this.#isBusy.value = false
    })
  }

  /** Stops updates when the page closes; the run itself continues. */
  close(): void {
    this.#isClosed = true
    this.#run.value?.follower.close()
  }

  /** Shows an error, unless it belongs to a conversation that is no longer open. */
  #fail(thrown: unknown, steps: Steps): void {
    if (steps === this.steps.value) this.failure.value = messageOf(thrown)
  }

  /** Follows a run. Resolves when it has ended. */
  #follow(id: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const steps = this.steps.value
    let isWhole = true
    const follower = new RunFollower(id, this.#live, {
      onEvent: (event, view) => {
        if (event.type !== 'DECISION_NEEDED' && this.items.value.length > 0) this.items.value = []
        steps.take(view, event)
      },
      onResult: (run) => {
        this.#messages = run.result?.messages ?? this.#messages
        this.items.value = itemsOf(run)
        this.#live.refresh()
        if (run.status === 'waiting') return
        if (!isWhole) steps.answer(run.output ?? '')
        noteEnd(run, steps)
        this.#settle()
      },
      onGap: (events) => {
        isWhole = false
        steps.gap(events)
      },
      onGone: () => {
        steps.note('This run is no longer stored', true)
        this.#settle()
      },
    })
    this.#run.value = { id, follower, over: resolve }
    return promise
  }

  #settle(): void {
    const run = this.#run.value
    this.#run.value = undefined
    run?.follower.close()
    run?.over()
  }

  #keep(change: Partial<KeptChat>): void {
    this.#kept.value = { ...this.#kept.value, ...change }
    if (!this.#isClosed) keepChat(this.#kept.value)
  }
}

/** Creates a random id. `getRandomValues` works without HTTPS, unlike `randomUUID`. */
function newSession(): string {
  return `chat/${[...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

async function cancel(id: string): Promise<void> {
  await post(`v1/runs/${encodeURIComponent(id)}/cancel`, {})
}

/** Adds a note that says why a run ended, unless it ended with an answer. */
function noteEnd({ error, stopReason }: RunWithResult, steps: Steps): void {
  // The error of a stopped run is not shown, because the user has stopped it.
  if (error !== undefined && stopReason !== 'aborted') steps.note(`${error.code}: ${error.message}`, true)
  else if (stopReason !== 'answered') steps.note(`The run ended: ${ending(stopReason)}`)
}
