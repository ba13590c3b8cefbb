import { Event, type RunEvent } from '../../core/events.ts'

/** The text that a client is given of a run: what the model says in each of its turns, a blank line between them. */
export class SaidText {
  #all = ''
  #iteration = 0
  /** What the model has said since it was asked last, and the text that it continues. */
  #last = ''
  #earlier = ''
  #turn = 0
  /** What there was when the model was asked last. */
  #before: { all: string; iteration: number } = { all: '', iteration: 0 }

  get all(): string {
    return this.#all
  }

  /** Notes where the model is asked, for the first time or once more. Returns in which iteration the text of this event began. */
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

  /** Takes over what is said in a turn, and gives it as it is written behind what came before. */
  add(text: string, iteration: number): string {
    const piece = this.#all !== '' && iteration !== this.#iteration ? `\n\n${text}` : text
    this.#iteration = iteration
    this.#last += text
    this.#all += piece
    return piece
  }

  /** Whether the answer is still to be said: a tool's result, or one that had to fit a schema, does not come piece by piece. */
  lacks(answer: string): boolean {
    return answer !== '' && answer.trim() !== this.#last.trim()
  }
}
