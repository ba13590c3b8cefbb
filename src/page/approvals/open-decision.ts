import { signal } from '@preact/signals'
import { messageOf, send } from '../data/api.ts'
import { count } from '../data/format.ts'
import type { DecisionFields, Item } from '../data/pending-items.ts'
import { announce } from '../ui/announce.ts'
import { hiddenPart } from '../ui/hidden-text.ts'
import { isLarge, splitLarge } from './large-values.ts'

/** A pending decision, and what the user has entered for it. This state outlives the card that shows it. */
export class OpenDecision {
  readonly item: Item
  /** Whether the item can be approved together with others. */
  readonly canApprove: boolean
  readonly isSelected = signal(false)
  readonly form = signal<'choice' | 'edit' | 'reject'>('choice')
  readonly text = signal('')
  /** The value of the `SchemaForm` in which the user edits the arguments. */
  readonly edited = signal<unknown>(undefined)
  /** Whether the form for the arguments gets the focus when it appears. */
  wantsFocus = false
  readonly error
  readonly isBusy = signal(false)
  /** The decision in one word. `''` if there is no decision yet. */
  readonly decided = signal('')

  constructor(item: Item) {
    this.item = item
    const { kind, args, about, problem } = item
    const isYesOrNo = kind === 'approval' || kind === 'budget'
    this.canApprove = isYesOrNo && !isLarge([args, about]) && hiddenPart(JSON.stringify([args, about])) === undefined
    this.error = signal(problem)
  }

  open(form: 'choice' | 'edit' | 'reject'): void {
    if (form === 'edit') this.edited.value = splitLarge(this.item.args).small
    this.wantsFocus = form === 'edit'
    this.form.value = form
    this.text.value = ''
    this.error.value = ''
  }

  /** Sends the decision to the run. Resolves with true if the run has accepted it. `said` is one word that describes the decision. */
  async submit(verdict: DecisionFields, said: string): Promise<boolean> {
    if (this.isBusy.value || this.decided.value !== '') return false
    this.isBusy.value = true
    this.error.value = ''
    try {
      await decide(this.item.runId, [this], () => verdict)
      announce(`${said}: ${this.item.tool}`)
      this.decided.value = said
      return true
    } catch (thrown) {
      this.error.value = messageOf(thrown)
      return false
    } finally {
      this.isBusy.value = false
    }
  }
}

/** Sends decisions to one run. Resolves when the run continues. Rejects with an `ApiError`. */
async function decide(
  runId: string,
  decisions: readonly OpenDecision[],
  verdictOn: (decision: OpenDecision) => DecisionFields,
): Promise<void> {
  const response = await send(`v1/runs/${encodeURIComponent(runId)}/decisions`, {
    method: 'POST',
    body: { decisions: decisions.map((decision) => decision.item.decide(verdictOn(decision))) },
    // Requests an event stream, because any other response would arrive only when the run has ended.
    headers: { accept: 'text/event-stream' },
  })
  await response.body?.cancel()
}

/** Maximum number of runs for which decisions are sent at the same time. */
const decidedAtOnce = 6

/**
 * Makes the same decision on items of several runs. Sends all decisions for one run in a single request, so that the run does not ask about
 * the remaining items again. Resolves with one error message for each item whose decision was not accepted. `said` is one word that
 * describes the verdict.
 */
export async function decideOnMany(decisions: readonly OpenDecision[], verdict: DecisionFields, said: string): Promise<string[]> {
  const runs = Map.groupBy(decisions, ({ item }) => item.runId)
  const failed: string[] = []
  const left = runs.entries()
  const work = async () => {
    for (const [runId, ofRun] of left) {
      try {
        await decide(runId, ofRun, () => verdict)
        for (const { decided } of ofRun) decided.value = said
      } catch (thrown) {
        failed.push(...ofRun.map(() => messageOf(thrown)))
      }
    }
  }
  await Promise.all(Array.from({ length: decidedAtOnce }, work))
  return failed
}

/** Returns one line for each tool, with its number of calls. */
export function linesOf(decisions: readonly OpenDecision[]): string[] {
  return [...Map.groupBy(decisions, ({ item }) => item.tool)].map(([tool, { length }]) => `${tool}: ${count(length, 'call')}`)
}

/**
 * Approves the selected calls of a plan and rejects the others, in one request. Resolves with an error message, or with `''` on success.
 */
export async function decidePlan(decisions: readonly OpenDecision[]): Promise<string> {
  const [first] = decisions
  if (first === undefined) return ''
  try {
    await decide(first.item.runId, decisions, ({ isSelected }) => ({ approved: isSelected.value }))
    for (const { decided, isSelected } of decisions) decided.value = isSelected.value ? 'Approved' : 'Rejected'
    return ''
  } catch (thrown) {
    return messageOf(thrown)
  }
}
