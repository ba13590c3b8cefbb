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

/** The data that the page shows about one run. The events of the run keep it up to date. */
export class FollowedRun {
  readonly steps = new Steps()
  readonly spans = new Spans()
  /** The run without its result. */
  readonly summary = signal<Run | undefined>(undefined)
  /** Undefined while the run has no result. */
  readonly run = signal<RunWithResult | undefined>(undefined)
  /** The pending decisions of the run. */
  readonly items = signal<readonly Item[]>([])
  readonly decisions = signal<readonly Decision[]>([])
  /** Whether the run has ended and its final result is known. */
  readonly isOver = signal(false)
  /** Whether the service does not have the run. */
  readonly isGone = signal(false)
  /** Whether no data of the run has arrived yet. */
  readonly isAwaited = signal(true)
  readonly isLost = signal(false)
  #id
  #live

  constructor(id: string, live: Live) {
    this.#id = id
    this.#live = live
  }

  /** Starts to follow the run. Returns a function that stops it. */
  follow(): () => void {
    let isClosed = false
    const follower = new RunFollower(this.#id, this.#live, {
      onEvent: (event, view) => {
        this.isAwaited.value = false
        if (event.type === 'RUN_START' || event.type === 'MODEL_START') this.isOver.value = false
        // The list is replaced only if it changes, because even an empty new list would re-render its component.
        if (event.type !== 'DECISION_NEEDED' && this.items.value.length > 0) this.items.value = []
        this.steps.take(view, event)
        this.spans.take(view)
      },
      onResult: (run, view) => this.#end(run, view),
      onGap: (events) => this.steps.gap(events),
      onGone: () => {
        this.isAwaited.value = false
        this.isGone.value = true
      },
      onConnection: (isLost) => {
        this.isLost.value = isLost
      },
    })
    const isUnknown = () => !isClosed && this.run.value === undefined
    void this.#ask(isUnknown).catch(() => {})
    return () => {
      isClosed = true
      follower.close()
    }
  }

  /** Requests the run, because it may be too old for the list. For a running run, also requests its past decisions. */
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

  /** Called when the run has paused or ended. */
  #end(run: RunWithResult, view: RunView): void {
    this.isAwaited.value = false
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
