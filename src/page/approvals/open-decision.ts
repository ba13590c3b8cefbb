import { signal } from '@preact/signals'
import { messageOf, send } from '../data/api.ts'
import type { DecisionFields, Item } from '../data/pending-items.ts'
import { announce } from '../ui/announce.ts'
import { hiddenPart } from '../ui/hidden-text.ts'
import { isLarge } from './large-values.ts'

/** A pending item, and what somebody is doing about it: it outlives the card that shows it. */
export class OpenDecision {
  readonly item: Item
  /** Whether it can be approved among others, without a word more: all of it is seen at once. */
  readonly canApprove: boolean
  readonly isSelected = signal(false)
  readonly form = signal<'choice' | 'edit' | 'reject'>('choice')
  /** What is being written in the form. */
  readonly text = signal('')
  readonly error
  readonly isBusy = signal(false)
  /** What was decided, in a word; `''`: nothing yet. */
  readonly decided = signal('')

  constructor(item: Item) {
    this.item = item
    const { kind, args, about, problem } = item
    const isYesOrNo = kind === 'approval' || kind === 'budget'
    this.canApprove = isYesOrNo && !isLarge([args, about]) && hiddenPart(JSON.stringify([args, about])) === undefined
    this.error = signal(problem)
  }

  open(form: 'choice' | 'edit' | 'reject', text = ''): void {
    this.form.value = form
    this.text.value = text
    this.error.value = ''
  }

  /** Tells the run. Resolves with whether it has taken the decision; `said` is what it was, in a word. */
  async submit(verdict: DecisionFields, said: string): Promise<boolean> {
    if (this.isBusy.value || this.decided.value !== '') return false
    this.isBusy.value = true
    this.error.value = ''
    try {
      await decide(this.item.runId, [this], verdict)
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

/** Decides on pending items of one run; resolves when the run goes on. Throws an `ApiError`. */
async function decide(runId: string, decisions: readonly OpenDecision[], verdict: DecisionFields): Promise<void> {
  const response = await send(`v1/runs/${encodeURIComponent(runId)}/decisions`, {
    method: 'POST',
    body: { decisions: decisions.map(({ item }) => item.decide(verdict)) },
    // Otherwise the answer would come when the run has ended.
    headers: { accept: 'text/event-stream' },
  })
  await response.body?.cancel()
}

/** Runs that are decided on at once. */
const decidedAtOnce = 6

/**
 * Decides on items of many runs: all of a run's go into one order, so that none of them is asked for anew. Resolves with what went wrong, for each
 * that failed; `said` is what the others are, in a word.
 */
export async function decideOnMany(decisions: readonly OpenDecision[], verdict: DecisionFields, said: string): Promise<string[]> {
  const runs = Map.groupBy(decisions, ({ item }) => item.runId)
  const failed: string[] = []
  const left = runs.entries()
  const work = async () => {
    for (const [runId, ofRun] of left) {
      try {
        await decide(runId, ofRun, verdict)
        for (const { decided } of ofRun) decided.value = said
      } catch (thrown) {
        failed.push(...ofRun.map(() => messageOf(thrown)))
      }
    }
  }
  await Promise.all(Array.from({ length: decidedAtOnce }, work))
  return failed
}
