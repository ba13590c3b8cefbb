import { addIntents } from '../run/run-state.ts'
import { iterationStep } from '../step-keys.ts'
import type { Execution } from '../types/execution.ts'
import type { Intent, ToolRound } from '../types/recorded.ts'
import type { PendingItem } from '../types/result.ts'
import { carryOutTogether, summarise } from './tool-round.ts'
import { type WaitingCall, waitForDecisions, waitingCall } from './waiting/pending-calls.ts'
import { DecisionDesk } from './waiting/verdict.ts'

type WaitingIntent = WaitingCall & Intent

/**
 * Asks for decisions on the calls that were planned in a preview but did not run. When all of them are decided, runs the approved calls,
 * and adds their results to the state like the results of one turn.
 */
export async function settleIntents(execution: Execution, iteration: number): Promise<ToolRound> {
  const round = await carryOutIntents(execution, iteration)
  addIntents(execution.state, round, iteration, execution.run.agent.output?.tool.name)
  return round
}

/** Runs the approved calls one at a time, once all calls are decided. */
async function carryOutIntents(execution: Execution, iteration: number): Promise<ToolRound> {
  const { durable, run, state } = execution
  const whole: ToolRound = { records: [], pending: [], intents: [] }
  const isOver = async (name: 'intents' | 'pause'): Promise<boolean> => {
    const why = await durable.step(iterationStep(iteration, name), async () => run.interruption ?? null)
    if (why !== null) whole.interrupted = why
    return why !== null
  }
  // An aborted run must not wait.
  if (await isOver('intents')) return whole
  const desk = new DecisionDesk(execution)
  const waiting = numberedIntents(execution, state.intents)
  const items = waiting.flatMap((one) => one.items)
  // Emits all items before the run waits for a decision, so that all can be decided together.
  for (const item of items) await desk.open(item)
  for (const item of items) if ((await desk.decided([item])).length === 0) whole.pending.push(item)
  if (whole.pending.length > 0) {
    if (await isOver('pause')) whole.pending = []
    return whole
  }
  for (const one of waiting) {
    const { agent } = run
    const leave = run.switchToAgentOf(one.call.id)
    try {
      add(whole, await carryOutIntent(run.agent === agent ? execution : { ...execution, layers: execution.compose() }, one, desk))
    } finally {
      leave()
    }
    // The remaining calls wait, so that calls are carried out in order.
    if (whole.pending.length > 0) break
  }
  if (whole.pending.length > 0 && (await isOver('pause'))) whole.pending = []
  return whole
}

async function carryOutIntent(execution: Execution, one: WaitingIntent, desk: DecisionDesk): Promise<ToolRound> {
  const { iteration, call, index, waited } = one
  const carryOut = carryOutTogether(execution, iteration, [call], one)
  const { finished, left } = await waitForDecisions({ execution, iteration, carryOut }, [one], { desk, waited })
  const pending = left.flatMap(({ items }) => items)
  return summarise(execution, iteration, [call], finished, pending, index)
}

/** The calls planned in a preview, each with the items to decide. The items are numbered across all calls. */
function numberedIntents(execution: Execution, intents: readonly Intent[]): WaitingIntent[] {
  const waiting = intents.map((intent): WaitingIntent => {
    const { iteration, index, question, waited } = intent
    // The text that follows the call in the response was shown during the preview.
    const { textAfter: _, ...call } = intent.call
    const leave = execution.run.switchToAgentOf(call.id)
    const one = waitingCall(execution, iteration, { call, index, question, times: waited + 1 })
    leave()
    return { ...intent, ...one }
  })
  const of = waiting.reduce((sum, { items }) => sum + items.length, 0)
  let at = 0
  const numbered = (item: PendingItem): PendingItem => ({ ...item, plan: { at: ++at, of } })
  return waiting.map((one) => ({ ...one, items: one.items.map(numbered) }))
}

/** Adds the result of one call to the results of all calls. */
function add(whole: ToolRound, { records, pending, intents, ...ending }: ToolRound): void {
  whole.records.push(...records)
  whole.pending.push(...pending)
  whole.intents.push(...intents)
  // If several calls end the run, the first counts. If several calls hand off, the last counts.
  const { final = ending.final, stop = ending.stop } = whole
  Object.assign(whole, ending, final && { final }, stop && { stop })
}
