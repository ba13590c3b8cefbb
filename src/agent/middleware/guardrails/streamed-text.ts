import type { Guardrail } from '../../callbacks/guardrails.ts'
import type { RunContext } from '../../run/run-context.ts'
import { shownAlready } from '../../run-texts.ts'
import { type Checked, checkPiece } from './ask-guardrails.ts'

/** The maximum number of characters of a piece. A longer sentence is checked in several pieces. */
const longestSentence = 1_000

/**
 * The text of one response, checked as it arrives by guardrails with `stream`. A piece is shown when it has passed all guardrails. Each
 * guardrail gets the pieces in order, as changed by the guardrail before it.
 */
export class StreamedText {
  readonly #run: RunContext
  readonly #iteration: number
  readonly #show: (text: string) => void
  #stages: Stage[]
  /** All text that has arrived. */
  #arrived = ''
  #shown = ''
  #failure: Extract<Checked<string>, { passed: false }> | undefined
  #work: Promise<void> = Promise.resolve()
  /** The number of the current attempt at the request. Pieces of an earlier attempt are dropped. */
  #attempt = 0

  /** `show` is called with text that has passed. */
  constructor(run: RunContext, iteration: number, show: (text: string) => void) {
    this.#run = run
    this.#iteration = iteration
    this.#show = show
    this.#stages = stagesOf(run)
  }

  /** The text that has passed all guardrails and was shown. */
  get shown(): string {
    return this.#shown
  }

  add(text: string): void {
    this.#arrived += text
    this.#pass(text, false)
  }

  /** Called when the request is sent again: the next piece of text begins a new response. */
  restart(): void {
    this.#attempt++
    this.#stages = stagesOf(this.#run)
    this.#arrived = ''
    this.#shown = ''
    this.#failure = undefined
  }

  /** Called when the request has failed. Text that has not passed yet is then not shown. */
  leave(): void {
    this.#attempt++
  }

  /**
   * Checks the rest of the text when the response is complete. `whole`: the complete text. If it doesn't begin with the text that has
   * arrived, checks all of it without showing it again.
   */
  async finish(whole: string): Promise<Checked<string>> {
    if (!whole.startsWith(this.#arrived)) {
      await this.#work
      const again = new StreamedText(this.#run, this.#iteration, () => {})
      return again.finish(whole)
    }
    this.#pass(whole.slice(this.#arrived.length), true)
    await this.#work
    return this.#failure ?? { passed: true, subject: this.#shown }
  }

  #pass(text: string, isEnd: boolean): void {
    const attempt = this.#attempt
    this.#work = this.#work.then(() => this.#through(0, text, isEnd, attempt))
  }

  /** Passes the text through the guardrails from position `at` on, piece by piece. */
  async #through(at: number, text: string, isEnd: boolean, attempt: number): Promise<void> {
    const stage = this.#stages[at]
    if (stage === undefined) {
      this.#give(text)
      return
    }
    const pieces = stage.split(text, isEnd)
    for (const [index, piece] of pieces.entries()) {
      if (this.#failure !== undefined || attempt !== this.#attempt) return
      const checked = await this.#ask(stage, piece)
      if (attempt !== this.#attempt) return
      if (checked.passed) await this.#through(at + 1, checked.subject, isEnd && index === pieces.length - 1, attempt)
      else this.#failure ??= checked
    }
    if (isEnd && pieces.length === 0) await this.#through(at + 1, '', isEnd, attempt)
  }

  async #ask(stage: Stage, piece: string): Promise<Checked<string>> {
    const { guardrail, before } = stage
    const checked = await checkPiece(this.#run, this.#iteration, guardrail, `${before}${piece}`)
    if (!checked.passed) return checked
    if (!checked.subject.startsWith(before)) return { passed: false, how: 'refuse', reason: `${guardrail.name}: ${shownAlready}` }
    const left = checked.subject.slice(before.length)
    stage.remember(left)
    return { passed: true, subject: left }
  }

  #give(text: string): void {
    if (text === '' || this.#failure !== undefined || this.#run.interruption !== undefined) return
    this.#shown += text
    this.#show(text)
  }
}

/** Splits the text into the pieces that one guardrail checks. */
class Stage {
  readonly guardrail: Guardrail<never>
  readonly #window: number | undefined
  #rest = ''
  /** The earlier text that a window includes before the piece. */
  before = ''

  constructor(guardrail: Guardrail<never>) {
    this.guardrail = guardrail
    this.#window = typeof guardrail.stream === 'object' ? guardrail.stream.window : undefined
  }

  /** Adds text and returns the pieces that are complete. At the end, also returns the incomplete rest. */
  split(text: string, isEnd: boolean): string[] {
    this.#rest += text
    const whole = this.#window === undefined ? sentencesIn(this.#rest) : partsOf(this.#rest, this.#window)
    this.#rest = this.#rest.slice(whole.join('').length)
    if (!isEnd || this.#rest === '') return whole
    const last = this.#rest
    this.#rest = ''
    return [...whole, last]
  }

  remember(passed: string): void {
    if (this.#window !== undefined) this.before = `${this.before}${passed}`.slice(-this.#window)
  }
}

function stagesOf(run: RunContext): Stage[] {
  return run.agent.guardrails.output.map((guardrail) => new Stage(guardrail))
}

/** Matches a character that may end a sentence. */
const ending = /[\p{Sentence_Terminal}\n]/u
let segmenter: Intl.Segmenter | undefined

/** The complete sentences of a text. The last sentence is left out, because it may be incomplete. A long rest is split into parts. */
function sentencesIn(text: string): string[] {
  const found: string[] = []
  if (ending.test(text)) {
    segmenter ??= new Intl.Segmenter(undefined, { granularity: 'sentence' })
    for (const { segment } of segmenter.segment(text)) found.push(segment)
    found.pop()
  }
  const rest = text.slice(found.join('').length)
  return [...found, ...partsOf(rest, longestSentence)]
}

/** Splits the text into parts of `size` characters, and leaves out the last part. Keeps surrogate pairs together. */
function partsOf(text: string, size: number): string[] {
  const parts: string[] = []
  for (let at = 0; at + size < text.length; ) {
    const next = text.charCodeAt(at + size)
    const end = next >= 0xdc00 && next <= 0xdfff ? at + size + 1 : at + size
    parts.push(text.slice(at, end))
    at = end
  }
  return parts
}

/** Whether a response's text can be shown before it is complete: every output guardrail has `stream`, and the answer has no schema. */
export function isStreamed({ agent }: RunContext): boolean {
  return agent.output === undefined && agent.guardrails.output.every(({ stream }) => stream !== undefined)
}
