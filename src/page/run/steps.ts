import { type Call, Calls } from '../data/calls.ts'
import { count } from '../data/format.ts'
import type { RunEvent } from '../types.ts'
import { Changes } from './changes.ts'

/** More than anybody reads of one run; the oldest give way. */
const mostSteps = 300
/** Steps that come on the page at once: to make very many would keep it from answering. */
const mostAtOnce = 10
/** Characters of what a model reasons. */
const mostReasoning = 100_000

const notOfNested = new Set(['TEXT_DELTA', 'REASONING_DELTA', 'MODEL_START', 'HANDOFF'])

/** What is shown of a run, one below the other. */
export type Step = { key: number } & (
  | { kind: 'turn'; iteration: number; model: string }
  /** `runId`: the run that it was asked, where that is shown elsewhere. */
  | { kind: 'user'; text: string; runId?: string }
  | { kind: 'assistant'; text: string; isWriting: boolean }
  | { kind: 'reasoning'; text: string }
  | { kind: 'note'; text: string; isError: boolean }
  | { kind: 'call'; call: Call }
)
type Said = Step & { kind: 'assistant' | 'reasoning' }
type Kinds = Step extends infer Each ? (Each extends Step ? Omit<Each, 'key'> : never) : never

/** What happens in one run, or in a conversation. Bounded, whatever comes. */
export class Steps {
  #changes = new Changes()
  #steps: Step[] = []
  #question: string | undefined
  #dropped = 0
  /** The key of the last step, and of the last that is shown. */
  #last = 0
  #lastShown = 0
  #calls = new Calls(mostSteps)
  #ofCalls: Set<string> = new Set()
  /** What is being said. */
  #saying: Said | undefined
  /** The last step, and what of its text there was, when the model was asked last. */
  #before = { last: 0, said: '' }
  /** What was said last, if nothing has been done since. */
  #answer: (Step & { kind: 'assistant' }) | undefined
  #hasTurns

  /** `hasTurns`: every request of the model is a step. */
  constructor({ hasTurns = true }: { hasTurns?: boolean } = {}) {
    this.#hasTurns = hasTurns
  }

  /**
   * What to show now; the component that is being drawn is drawn anew when that changes. `question` is what the run was asked, above all else; of
   * very many steps the oldest are `dropped`.
   */
  toShow(): { question: string | undefined; dropped: number; steps: readonly Step[] } {
    this.#changes.watch()
    const [first] = this.#steps
    this.#lastShown = Math.min(this.#last, Math.max(this.#lastShown, (first?.key ?? 1) - 1) + mostAtOnce)
    const left = this.#last - this.#lastShown
    if (left > 0) this.#changes.tell()
    return { question: this.#question, dropped: this.#dropped, steps: left > 0 ? this.#steps.slice(0, -left) : this.#steps }
  }

  take(event: RunEvent) {
    const { type, meta, text = '' } = event
    // Of a run inside a call, its own calls are shown; what it says is that call's affair.
    if (meta.parentRunId !== undefined && notOfNested.has(type)) return
    switch (type) {
      case 'TEXT_DELTA':
        return this.#say('assistant', text)
      case 'REASONING_DELTA':
        return this.#say('reasoning', text)
      case 'MODEL_START':
        // With `continues`, what comes is more of the same text.
        if (!event.continues) this.#saying = undefined
        if (!event.continues && this.#hasTurns)
          this.#add({ kind: 'turn', iteration: meta.iteration ?? 0, model: `${event.provider} / ${event.model}` })
        this.#before = { last: this.#last, said: this.#saying?.text ?? '' }
        return
      case 'MODEL_RETRY':
        if (event.discards) this.#discard(meta.runId)
        return
      case 'GUARDRAIL': {
        const why = event.reason === undefined ? '' : `, ${event.reason}`
        return this.note(`Guardrail ${event.guardrail} (${event.place}): ${event.verdict}${why}`)
      }
      case 'HANDOFF':
        return this.note(`Handed off to ${event.agent}`)
      case 'RUN_END':
        if (this.#calls.settle(meta.runId).length > 0) this.#changes.tell()
        return
      default:
        return this.#takeCall(event)
    }
  }

  user(text: string, runId?: string): void {
    this.#add({ kind: 'user', text, runId })
  }

  question(text: string): void {
    this.#question = text
    this.#dropOldest()
    this.#changes.tell()
  }

  /** The answer of a run that is over, from its result: whole, whatever of its events is there. */
  answer(text: string): void {
    this.#saying = undefined
    if (text === '') return
    if (this.#answer === undefined) this.#add({ kind: 'assistant', text, isWriting: false })
    else Object.assign(this.#answer, { text, isWriting: false })
    this.#changes.tell()
  }

  /** Events that can't be had any more. */
  gap(events: number): void {
    this.note(`${count(events, 'event')} ${events === 1 ? 'is' : 'are'} no longer stored`)
  }

  /** What is to be known besides. */
  note(text: string, isError = false): void {
    this.#saying = undefined
    this.#add({ kind: 'note', text, isError })
  }

  #takeCall(event: RunEvent) {
    const call = this.#calls.take(event)
    if (call === undefined) return
    this.#saying = undefined
    if (this.#ofCalls.has(call.key)) return this.#changes.tell()
    this.#ofCalls.add(call.key)
    this.#add({ kind: 'call', call })
  }

  /** The response that is being said broke off, and begins again. */
  #discard(runId: string): void {
    const { last, said } = this.#before
    const isVoid = (step: Step) => step.key > last && step.kind !== 'note' && step.kind !== 'user'
    for (const step of this.#steps) if (step.kind === 'call' && isVoid(step)) this.#ofCalls.delete(step.call.key)
    this.#steps = this.#steps.filter((step) => !isVoid(step))
    if (this.#answer !== undefined && isVoid(this.#answer)) this.#answer = undefined
    if (this.#saying !== undefined && isVoid(this.#saying)) this.#saying = undefined
    if (this.#saying !== undefined) this.#saying.text = said
    this.#calls.forgetWriting(runId)
    this.#changes.tell()
  }

  #say(kind: Said['kind'], piece: string): void {
    if (piece === '') return
    if (this.#saying?.kind !== kind) {
      const said = this.#add(kind === 'assistant' ? { kind, text: '', isWriting: true } : { kind: 'reasoning', text: '' })
      if (said.kind === 'assistant' || said.kind === 'reasoning') this.#saying = said
    }
    const said = this.#saying
    if (said === undefined || (kind === 'reasoning' && said.text.length > mostReasoning)) return
    said.text += piece
    if (kind === 'reasoning' && said.text.length > mostReasoning) said.text = `${said.text.slice(0, mostReasoning)} … (truncated)`
    this.#changes.tell()
  }

  #add(made: Kinds): Step {
    const step: Step = { key: ++this.#last, ...made }
    if (step.kind === 'assistant') this.#answer = step
    else if (step.kind !== 'note' && step.kind !== 'reasoning') this.#answer = undefined
    this.#steps.push(step)
    this.#dropOldest()
    this.#changes.tell()
    return step
  }

  #dropOldest(): void {
    const most = this.#question === undefined ? mostSteps : mostSteps - 1
    for (const step of this.#steps.splice(0, Math.max(0, this.#steps.length - most))) {
      this.#dropped++
      if (step.kind === 'call') this.#ofCalls.delete(step.call.key)
    }
  }
}
