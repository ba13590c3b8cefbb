import type { CallView, RunEvent, RunView, TurnPart, TurnView } from '../../core/runs/index.ts'
import { isVoid, type PlacedCall, placeCall, placedCall } from '../data/calls.ts'
import { count } from '../data/format.ts'
import { Changes } from './changes.ts'

/** More than anybody reads of one run; the oldest give way. */
const mostSteps = 300
/** Steps that come on the page at once: to make very many would keep it from answering. */
const mostAtOnce = 10

/** What is shown of a run, one below the other. */
export type Step = { key: number } & (
  | { kind: 'turn'; turn: TurnView }
  /** `runId`: the run that it was asked, where that is shown elsewhere. */
  | { kind: 'user'; text: string; runId?: string }
  | Said
  | { kind: 'note'; text: string; isError: boolean }
  | { kind: 'call'; call: PlacedCall }
)
type Text = TurnPart & { text: string }
/** Of a text that was cut off and continued, each turn has a part. `turn`: the last of them; undefined: it is the answer of a run that is over. */
type Said = { kind: 'assistant' | 'reasoning'; texts: Text[]; turn: TurnView | undefined }
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
  /** Turns that have a step of their own, and of each turn, how many parts are among the steps. */
  #begun: WeakSet<TurnView> = new WeakSet()
  #listed: WeakMap<TurnView, number> = new WeakMap()
  #turnOf: WeakMap<Text, TurnView> = new WeakMap()
  #ofCalls: WeakSet<CallView> = new WeakSet()
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

  /** An event that the view has taken in. Of a run inside a call, its own calls are shown; what it says is that call's affair. */
  take(view: RunView, event: RunEvent): void {
    const { type, meta } = event
    if (type === 'MODEL_START' || type === 'MODEL_RETRY') this.#dropVoid(view, meta.iteration)
    if (meta.parentRunId === undefined) this.#list(view, event)
    else if (type === 'GUARDRAIL') this.note(wordsOf({ ...event, type: 'guardrail' }))
    const call = placedCall(view, event)
    if (call !== undefined && meta.parentRunId !== undefined) this.#addCall(call)
    if (call !== undefined || meta.parentRunId === undefined) this.#changes.tell()
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
    if (text === '') return
    const last = this.#steps.findLast(({ kind }) => kind !== 'note' && kind !== 'reasoning')
    const said = { texts: [{ type: 'text' as const, text }], turn: undefined }
    if (last?.kind === 'assistant') Object.assign(last, said)
    else this.#add({ kind: 'assistant', ...said })
    this.#changes.tell()
  }

  /** Events that can't be had any more. */
  gap(events: number): void {
    this.note(`${count(events, 'event')} ${events === 1 ? 'is' : 'are'} no longer stored`)
  }

  /** What is to be known besides. */
  note(text: string, isError = false): void {
    this.#add({ kind: 'note', text, isError })
  }

  /** What is new in the turn of an event. */
  #list(view: RunView, { type, meta }: RunEvent): void {
    const turn = view.turns.findLast(({ iteration }) => iteration === meta.iteration)
    if (turn === undefined) return
    if (type === 'MODEL_START' && this.#hasTurns && !turn.continues && !this.#begun.has(turn)) {
      this.#begun.add(turn)
      this.#add({ kind: 'turn', turn })
    }
    for (const part of turn.parts.slice(this.#listed.get(turn) ?? 0)) {
      if (part.type === 'call') this.#addCall(placeCall(view, view, part.call))
      else if (part.type === 'text' || part.type === 'reasoning') this.#say(turn, part)
      else this.note(wordsOf(part))
    }
    this.#listed.set(turn, turn.parts.length)
  }

  #addCall(call: PlacedCall): void {
    if (this.#ofCalls.has(call.call)) return
    this.#ofCalls.add(call.call)
    this.#add({ kind: 'call', call })
  }

  #say(turn: TurnView, part: Text): void {
    this.#turnOf.set(part, turn)
    const kind = part.type === 'text' ? 'assistant' : 'reasoning'
    const last = this.#steps.at(-1)
    if (turn.continues && turn.parts[0] === part && last?.kind === kind) {
      last.texts.push(part)
      last.turn = turn
    } else this.#add({ kind, texts: [part], turn })
  }

  /** A response that was being said broke off, and begins again. */
  #dropVoid(view: RunView, iteration: number): void {
    this.#steps = this.#steps.filter((step) => {
      if (step.kind === 'call') return !isVoid(step.call)
      if (step.kind !== 'assistant' && step.kind !== 'reasoning') return true
      step.texts = step.texts.filter((text) => this.#turnOf.get(text)?.parts.includes(text) !== false)
      return step.texts.length > 0
    })
    const turn = view.turns.findLast((one) => one.iteration === iteration)
    if (turn !== undefined && this.#listed.has(turn)) this.#listed.set(turn, Math.min(this.#listed.get(turn) ?? 0, turn.parts.length))
  }

  #add(made: Kinds): void {
    this.#steps.push({ key: ++this.#last, ...made })
    this.#dropOldest()
    this.#changes.tell()
  }

  #dropOldest(): void {
    const most = this.#question === undefined ? mostSteps : mostSteps - 1
    this.#dropped += this.#steps.splice(0, Math.max(0, this.#steps.length - most)).length
  }
}

function wordsOf(part: Extract<TurnPart, { type: 'guardrail' | 'handoff' }>): string {
  if (part.type === 'handoff') return `Handed off to ${part.agent}`
  const why = part.reason === undefined ? '' : `, ${part.reason}`
  return `Guardrail ${part.guardrail} (${part.place}): ${part.verdict}${why}`
}
