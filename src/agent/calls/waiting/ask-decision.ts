import { Event, type EventPlace } from '../../../core/events.ts'
import { copyAsJson } from '../../../core/json.ts'
import type { Json } from '../../../core/messages.ts'
import { secretTexts } from '../../../core/redaction/redact.ts'
import { madeDecision, undecided, type Verdict } from '../../decisions/decisions.ts'
import type { StepTags } from '../../journal/journal.ts'
import { shownItem } from '../../nested/shown-question.ts'
import { type RunContext, tagsOf } from '../../run/run-context.ts'
import { askedStep, iterationOf, madeStep } from '../../step-keys.ts'
import type { Execution } from '../../types/execution.ts'
import type { PendingItem } from '../../types/result.ts'
import type { DecidedItem } from './verdict.ts'

export async function publishItem({ durable, run }: Execution, item: PendingItem): Promise<void> {
  const key = askedStep(item.place)
  await durable.step(key, async () => {
    run.events.hide(secretTexts(item.args, new Set(item.secrets)))
    run.events.emit(Event.DECISION_NEEDED, shownItem(item), metaOf(item, tagsOf(durable, key)))
    return null
  })
}

/** Waits for a decision. Undefined if there is none, and this process can't wait. */
export async function askDecision({ durable, run }: Execution, item: PendingItem): Promise<Verdict | undefined> {
  const { decisionTimeoutMs: timeoutMs } = run.settings
  const about = (durable.survivesCrashes ? copyAsJson(item) : item) as never as Json
  const verdict: Verdict | null | undefined = await durable.wait<never>(item.place, { about, timeoutMs })
  return verdict === null ? undecided : verdict
}

export async function publishDecision({ durable, run }: Execution, decided: DecidedItem): Promise<void> {
  const key = madeStep(decided.item.place)
  await durable.step(key, async () => {
    tellDecision(run, decided, tagsOf(durable, key))
    return null
  })
}

/** Emits a decision, no matter who made it. Called inside a step. */
export function tellDecision(run: RunContext, { item, verdict }: DecidedItem, tags: StepTags): void {
  const { place, toolCallId, tool } = item
  run.events.emit(Event.DECISION_MADE, { ...madeDecision(item, verdict), toolCallId, tool, place }, metaOf(item, tags))
}

/** The meta names the run's own call. The payload has the call of a nested agent. */
function metaOf({ place, path, toolCallId }: PendingItem, tags: StepTags): EventPlace {
  return { iteration: iterationOf(place), toolCallId: path?.[0]?.toolCallId ?? toolCallId, ...tags }
}
