import { Event, type RunEvent } from '../../core/events.ts'

/** Collects the text of a run for a client: the texts of its turns, separated by blank lines. */
export class SaidText {
  #all = ''
  #iteration = 0
  /** The text of the current turn. It includes the part before an interruption. */
  #last = ''
  #earlier = ''
  #turn = 0
  /** What to restore if a retry discards text. */
  #before: { all: string; iteration: number } = { all: '', iteration: 0 }

  get all(): string {
    return this.#all
  }

  /** Keeps track of model requests and retries. Returns the iteration in which the current turn began. */
  follow(event: RunEvent): number {
    const { type, meta } = event
    const continues = type === Event.MODEL_START && event.continues === true
    if (type === Event.MODEL_START) {
      this.#earlier = continues ? this.#last : ''
      this.#before = { all: this.#all, iteration: this.#iteration }
    }
    if (type === Event.MODEL_RETRY && event.discards) {
      this.#all = this.#before.all
      this.#iteration = this.#before.iteration
    }
    if (type === Event.MODEL_START || type === Event.MODEL_RETRY) this.#last = this.#earlier
    if (type === Event.MODEL_START && !continues) this.#turn = meta.iteration
    return this.#turn
  }

  /** Adds text of a turn. Returns the text to send, which may begin with a blank line. */
  add(text: string, iteration: number): string {
    const piece = this.#all !== '' && iteration !== this.#iteration ? `\n\n${text}` : text
    this.#iteration = iteration
    this.#last += text
    this.#all += piece
    return piece
  }

  /** Whether the answer is missing from the streamed text. Tool results and structured answers are not streamed. */
  lacks(answer: string): boolean {
    return answer !== '' && answer.trim() !== this.#last.trim()
  }
}
