import { Event, type StopReason } from '../../core/events.ts'
import type { ChatMessage } from '../../core/messages.ts'
import { History } from '../conversation/history.ts'
import { type DurableInput, inputToJson } from '../durable/durable-run.ts'
import { type Durable, InMemory, type Recorded } from '../durable/journal.ts'
import { checkInput, hasGuardrail, withheld } from '../hooks/guardrails.ts'
import { outputOf } from '../output/output.ts'
import type { RunResult } from '../types.ts'
import type { LiveRun } from './run-context.ts'
import { returned } from './run-error.ts'
import { type Ending, RunRecord, stoppedByGuardrail } from './run-state.ts'

/** The loop, as it is given to an execution. */
export type Loop = (durable: Durable, run: LiveRun, record: RunRecord) => Promise<Ending>

export function openRecord({ instructions, messages, given }: DurableInput): RunRecord {
  const history = new History(messages, instructions, given)
  return new RunRecord(history, history.earlier)
}

/** Carries the run out in this process; one that has to wait can be taken up again from its result's `state`. */
export async function carryOutHere(
  loop: Loop,
  run: LiveRun,
  input: DurableInput,
  record: RunRecord,
  recorded?: Recorded,
): Promise<RunResult> {
  const durable = new InMemory(run.runId, run.signal, recorded)
  const result = await carryOut(loop, durable, run, input, record)
  if (result.stopReason !== 'paused') return result
  return { ...result, state: { version: 1, runId: run.runId, input: inputToJson(input), pending: result.pending, ...durable.recorded() } }
}

/** One execution: from its start, or from where its record ends, to its result. */
export async function carryOut(
  loop: Loop,
  durable: Durable,
  run: LiveRun,
  { refused }: DurableInput,
  record: RunRecord,
): Promise<RunResult> {
  const { provider, model } = run.model
  await durable.step('start', async () => {
    run.emit(Event.RUN_START, { provider, model, tools: run.offered.names() }, { iteration: 0 })
    return null
  })
  const ending = refused === undefined ? await loop(durable, run, record) : stoppedByGuardrail(refused)
  const result = record.close(ending, run)
  await durable.step('end', async () => {
    const { stopReason, usage, iterations, error } = result
    run.emit(
      Event.RUN_END,
      { stopReason, usage, iterations, ...(error === undefined ? {} : { errorCode: error.code }) },
      { iteration: iterations },
    )
    return null
  })
  return result
}

/** What a run is started with, or is told meanwhile, as the guardrails leave it; or the reason why it does not go on. */
export async function checkedInput(
  run: LiveRun,
  messages: readonly ChatMessage[],
  iteration = 0,
): Promise<Pick<DurableInput, 'messages' | 'refused'>> {
  if (!hasGuardrail(run, 'input')) return { messages }
  const checked = await checkInput(run, messages, iteration)
  if (checked.passed) return { messages: checked.subject }
  const noted: ChatMessage[] = [{ role: 'user', content: withheld(checked.reason) }]
  // One that was interrupted meanwhile ends as that.
  return run.interruption === undefined ? { messages: noted, refused: checked.reason } : { messages: noted }
}

const answeredAtLimit: ReadonlySet<StopReason> = new Set<StopReason>(['max_iterations', 'repeated_calls'])

/** The result as it is returned, with what the schema of the output makes of the answer. Throws a `RunError` where that is to be thrown. */
export async function conclude(result: RunResult, run: LiveRun): Promise<RunResult<never>> {
  return returned(await withOutput(result, run), run.settings)
}

async function withOutput(result: RunResult, run: LiveRun): Promise<RunResult<never>> {
  if (run.output === undefined) return result as RunResult<never>
  const isAnswered = result.stopReason === 'answered' || (run.settings.onLimit === 'answer' && answeredAtLimit.has(result.stopReason))
  const answer = isAnswered ? await outputOf(run.output, result.text, { timeoutMs: run.limits.toolTimeoutMs }) : undefined
  return { ...result, output: answer?.value as never }
}
