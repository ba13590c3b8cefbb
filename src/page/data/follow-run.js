import { readEvents } from './sse.js'

/** @typedef {import('../types.js').Run & { result: any }} RunWithResult */

/** Follows one run: through breaks of the connection, and on from a pause when it goes on. */
export class RunFollower {
  #id
  #live
  #handlers
  #last = 0
  /** @type {(() => void) | undefined} */
  #stop
  #unsubscribe
  /** How the run stood when it was followed to its end. @type {{ status: string, finishedAt: string | undefined } | undefined} */
  #end

  /**
   * @param {string} id
   * @param {import('./live.js').Live} live
   * @param {{ onEvent(event: any): void, onResult(run: RunWithResult): void, onGap(events: number): void, onGone(): void }} handlers
   */
  constructor(id, live, handlers) {
    this.#id = id
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
        else if (data.meta !== undefined) this.#handlers.onEvent(data)
      },
      onState: (state) => {
        if (state === 'refused') this.#handlers.onGone()
      },
    })
  }

  /** @param {RunWithResult} run */
  #over(run) {
    this.#stop = undefined
    this.#end = { status: run.status, finishedAt: run.finishedAt }
    this.#handlers.onResult(run)
  }

  /** Somebody has decided: perhaps here, perhaps elsewhere. */
  #look() {
    const run = this.#live.run(this.#id)
    if (this.#end?.status !== 'paused' || run === undefined) return
    if (run.status === 'running' || (run.finishedAt !== undefined && run.finishedAt > (this.#end.finishedAt ?? ''))) this.#open()
  }
}
