import { Event, type RunEvent } from '../../core/events.ts'

/** The text that a client is given of a run: what the model says in each of its turns, a blank line between them. */
export class SaidText {
  #all = ''
  #iteration = 0
  /** What the model has said since it was asked last. */
  #last = ''

  get all(): string {
    return this.#all
  }

  /** Notes where the model is asked, for the first time or once more. */
  follow({ type }: RunEvent): void {
    if (type === Event.MODEL_START || type === Event.MODEL_RETRY) this.#last = ''
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
