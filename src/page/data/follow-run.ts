import { emptyRunView, type RunEvent, type RunView, reduceRun } from '../../core/runs/index.ts'
import type { Run, RunResult } from '../types.ts'
import type { Live } from './live.ts'
import { readEvents } from './sse.ts'

export type RunWithResult = Run & { result: RunResult | null }

/** Follows the events of one run. Reconnects if the connection is lost, and continues when a paused run is resumed. */
export class RunFollower {
  /** The state of the run according to its events. */
  readonly view: RunView
  #id
  #live
  #handlers
  #last = 0
  #stop: (() => void) | undefined
  #unsubscribe
  /** The state of the run when its event stream ended. */
  #end: { status: string; finishedAt: string | undefined } | undefined

  constructor(
    id: string,
    live: Live,
    handlers: {
      /** Called with each event, after the view has been updated. */
      onEvent(event: RunEvent, view: RunView): void
      onResult(run: RunWithResult, view: RunView): void
      onGap(events: number): void
      onGone(): void
      /** Called when the connection is lost or restored. */
      onConnection?(isLost: boolean): void
    },
  ) {
    this.#id = id
    this.view = emptyRunView(id)
    this.#live = live
    this.#handlers = handlers
    this.#open()
    this.#unsubscribe = live.onChange(() => this.#look())
  }

  close() {
    this.#unsubscribe()
    this.#stop?.()
  }

  #open() {
    this.#end = undefined
    this.#stop = readEvents(`v1/runs/${encodeURIComponent(this.#id)}/events`, {
      after: this.#last,
      lastType: 'RESULT',
      onEvent: ({ id, type, data }) => {
        if (id !== undefined) this.#last = id
        if (type === 'RESULT') this.#over(data)
        else if (type === 'GAP') this.#handlers.onGap(data.to - data.from + 1)
        else if (data.meta !== undefined) {
          reduceRun(this.view, data, id)
          this.#handlers.onEvent(data, this.view)
        }
      },
      onState: (state) => {
        if (state === 'refused') this.#handlers.onGone()
        if (state === 'open' || state === 'lost') this.#handlers.onConnection?.(state === 'lost')
      },
    })
  }

  #over(run: RunWithResult) {
    this.#stop = undefined
    this.#end = { status: run.status, finishedAt: run.finishedAt }
    this.#handlers.onResult(run, this.view)
  }

  /** Reconnects if a paused run has continued after a decision. */
  #look() {
    const run = this.#live.run(this.#id)
    if (this.#end?.status !== 'waiting' || run === undefined) return
    if (run.status === 'running' || (run.finishedAt !== undefined && run.finishedAt > (this.#end.finishedAt ?? ''))) this.#open()
  }
}
