import { signal } from '@preact/signals'
import type { RunView } from '../../core/runs/index.ts'
import { ask } from '../data/api.ts'
import { RunFollower, type RunWithResult } from '../data/follow-run.ts'
import { messageText } from '../data/format.ts'
import type { Live } from '../data/live.ts'
import { type Item, itemsOf } from '../data/pending-items.ts'
import type { Decision, Run } from '../types.ts'
import { Spans } from './spans.ts'
import { Steps } from './steps.ts'

/** Everything that is shown of one run, kept up to date by its events. */
export class FollowedRun {
  readonly steps = new Steps()
  readonly spans = new Spans()
  /** What is known of it besides what is listed. */
  readonly summary = signal<Run | undefined>(undefined)
  /** The run with its result, where it has one. */
  readonly run = signal<RunWithResult | undefined>(undefined)
  /** What it waits for just now. */
  readonly items = signal<readonly Item[]>([])
  readonly decisions = signal<readonly Decision[]>([])
  /** The result is that of the run as it stands, and it is over. */
  readonly isOver = signal(false)
  /** It is not stored any more. */
  readonly isGone = signal(false)
  #id
  #live

  constructor(id: string, live: Live) {
    this.#id = id
    this.#live = live
  }

  /** Begins to follow the run; the function ends that. */
  follow(): () => void {
    let isClosed = false
    const follower = new RunFollower(this.#id, this.#live, {
      onEvent: (event, view) => {
        if (event.type === 'RUN_START' || event.type === 'MODEL_START') this.isOver.value = false
        // Only then: what shows them is drawn anew for another list, be it as empty.
        if (event.type !== 'DECISION_NEEDED' && this.items.value.length > 0) this.items.value = []
        this.steps.take(view, event)
        this.spans.take(view)
      },
      onResult: (run, view) => this.#end(run, view),
      onGap: (events) => this.steps.gap(events),
      onGone: () => {
        this.isGone.value = true
      },
    })
    const isUnknown = () => !isClosed && this.run.value === undefined
    void this.#ask(isUnknown).catch(() => {})
    return () => {
      isClosed = true
      follower.close()
    }
  }

  /** One of any age is asked for, whatever is listed; the decisions on one that goes on besides, as it tells them only at its end. */
  async #ask(isUnknown: () => boolean): Promise<void> {
    const id = encodeURIComponent(this.#id)
    const [summary]: Run[] = (await ask(`v1/runs?output=short&id=${id}`)).data
    if (summary === undefined || !isUnknown()) return
    this.#live.learn(summary)
    this.summary.value = summary
    if (summary.status !== 'running') return
    const run: Run = await ask(`v1/runs/${id}`)
    if (isUnknown()) this.decisions.value = run.decisions ?? []
  }

  /** It waits, or is over. */
  #end(run: RunWithResult, view: RunView): void {
    const { result, decisions = [], ...summary } = run
    this.#live.learn(summary)
    this.summary.value = summary
    this.run.value = run
    this.items.value = itemsOf(run)
    this.decisions.value = decisions
    this.isOver.value = run.status === 'ended'
    const [asked] = result?.newMessages ?? []
    if (asked?.role === 'user' && messageText(asked.content) !== run.input) this.steps.question(messageText(asked.content))
    if (run.status === 'ended') this.steps.answer(typeof result?.text === 'string' ? result.text : (run.output ?? ''))
    this.spans.fill(view, run)
    this.#live.refresh(this.#id)
  }
}
