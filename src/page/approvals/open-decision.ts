import { signal } from '@preact/signals'
import { messageOf, send } from '../data/api.ts'
import { count } from '../data/format.ts'
import type { DecisionFields, Item } from '../data/pending-items.ts'
import { announce } from '../ui/announce.ts'
import { hiddenPart } from '../ui/hidden-text.ts'
import { isLarge, splitLarge } from './large-values.ts'

/** A pending item and the state of the user's decision. It outlives the card that shows it. */
export class OpenDecision {
  readonly item: Item
  /** Whether it can be approved together with others: only if everything about it is visible. */
  readonly canApprove: boolean
  readonly isSelected = signal(false)
  readonly form = signal<'choice' | 'edit' | 'reject'>('choice')
  /** The text in the form. */
  readonly text = signal('')
  /** The edited arguments, as a `SchemaForm` has them. */
  readonly edited = signal<unknown>(undefined)
  /** Whether the arguments get the focus when their form, which is loaded on demand, is there. */
  wantsFocus = false
  readonly error
  readonly isBusy = signal(false)
  /** The decision in a word; `''` if there is none yet. */
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

  /** Sends the decision to the run. Resolves with whether the run has accepted it. `said` describes it in a word. */
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

/** Decides pending items of one run. Resolves when the run continues. Throws an `ApiError`. */
async function decide(
  runId: string,
  decisions: readonly OpenDecision[],
  verdictOn: (decision: OpenDecision) => DecisionFields,
): Promise<void> {
  const response = await send(`v1/runs/${encodeURIComponent(runId)}/decisions`, {
    method: 'POST',
    body: { decisions: decisions.map((decision) => decision.item.decide(verdictOn(decision))) },
    // Otherwise the response would only arrive when the run has ended.
    headers: { accept: 'text/event-stream' },
  })
  await response.body?.cancel()
}

/** Number of runs to decide at the same time. */
const decidedAtOnce = 6

/**
 * Decides items of many runs. Sends all decisions of a run in one request, so that none of its items is asked again. Resolves with the
 * error of each run that failed. `said` describes the verdict in a word.
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

/** How many calls of each tool there are, in words. */
export function linesOf(decisions: readonly OpenDecision[]): string[] {
  return [...Map.groupBy(decisions, ({ item }) => item.tool)].map(([tool, { length }]) => `${tool}: ${count(length, 'call')}`)
}

/** Approves the selected calls of a plan and rejects the others, in one request. Resolves with why that failed; `''` if it did not. */
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
