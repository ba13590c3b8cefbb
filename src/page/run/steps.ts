import type { CallView, RunEvent, RunView, TurnPart, TurnView } from '../../core/runs/index.ts'
import { isVoid, type PlacedCall, placeCall, placedCall } from '../data/calls.ts'
import { count } from '../data/format.ts'
import { Changes } from './changes.ts'

/** Maximum number of steps. If there are more, the oldest are dropped. */
const mostSteps = 300
/** Number of steps that are added to the page at once. The number is small, so that the page stays responsive. */
const mostAtOnce = 10

/** An entry in the timeline of a run or a conversation. */
export type Step = { key: number } & (
  | { kind: 'turn'; turn: TurnView }
  /** A message of a user. `runId` is set in a chat, in which each message starts a run. */
  | { kind: 'user'; text: string; runId?: string }
  | Said
  | { kind: 'note'; text: string; isError: boolean }
  | { kind: 'call'; call: PlacedCall }
)
type Text = TurnPart & { text: string }
/**
 * A text of the model. If the text was cut off and continued, each turn contributes a part, and `turn` is the last of these turns. In the
 * answer of a run that has ended, `turn` is undefined.
 */
type Said = { kind: 'assistant' | 'reasoning'; texts: Text[]; turn: TurnView | undefined }
type Kinds = Step extends infer Each ? (Each extends Step ? Omit<Each, 'key'> : never) : never

/** The latest steps of a run or a conversation. */
export class Steps {
  #changes = new Changes()
  #steps: Step[] = []
  #question: string | undefined
  #dropped = 0
  /** The keys of the last step, and of the last step that is shown. */
  #last = 0
  #lastShown = 0
  /** The turns that were added as steps. `#listed` holds, for each turn, how many of its parts have been added. */
  #begun: WeakSet<TurnView> = new WeakSet()
  #listed: WeakMap<TurnView, number> = new WeakMap()
  #turnOf: WeakMap<Text, TurnView> = new WeakMap()
  #ofCalls: WeakSet<CallView> = new WeakSet()
  #hasTurns

  /** If `hasTurns` is true, every model request is a step. */
  constructor({ hasTurns = true }: { hasTurns?: boolean } = {}) {
    this.#hasTurns = hasTurns
  }

  /**
   * Returns the current content, and re-renders the current component when the content changes. `question` is the input of the run, which
   * is shown first. `dropped` is the number of dropped steps.
   */
  toShow(): { question: string | undefined; dropped: number; steps: readonly Step[] } {
    this.#changes.watch()
    const [first] = this.#steps
    this.#lastShown = Math.min(this.#last, Math.max(this.#lastShown, (first?.key ?? 1) - 1) + mostAtOnce)
    const left = this.#last - this.#lastShown
    if (left > 0) this.#changes.tell()
    return { question: this.#question, dropped: this.#dropped, steps: left > 0 ? this.#steps.slice(0, -left) : this.#steps }
  }

  /** Adds an event. The view must already have received it. Calls of a nested run are shown, but not its text. */
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

  /**
   * Adds the answer of an ended run. The answer comes from the run's result, so it is complete even if some events are no longer stored.
   */
  answer(text: string): void {
    if (text === '') return
    const last = this.#steps.findLast(({ kind }) => kind !== 'note' && kind !== 'reasoning')
    const said = { texts: [{ type: 'text' as const, text }], turn: undefined }
    if (last?.kind === 'assistant') Object.assign(last, said)
    else this.#add({ kind: 'assistant', ...said })
    this.#changes.tell()
  }

  gap(events: number): void {
    this.note(`${count(events, 'event')} ${events === 1 ? 'is' : 'are'} no longer stored`)
  }

  note(text: string, isError = false): void {
    this.#add({ kind: 'note', text, isError })
  }

  /** Adds the new parts of the turn that an event belongs to. */
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

  /** Drops the text of an incomplete response, because the model is asked again. */
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
