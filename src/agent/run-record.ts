import { ModelError, messageOf, type ToolloopError } from '../errors.ts'
import type { StopReason } from '../events.ts'
import { addUsage, type Content, noUsage, textOf, type Usage } from '../messages.ts'
import type { History } from './history.ts'
import type { LiveRun } from './live-run.ts'
import type { PendingItem, RunResult, RunStep, ToolCallRecord } from './run.ts'
import { type ToolRound, toResultMessage } from './tool-round.ts'
import type { ErrorRecord, Turn } from './turn.ts'

/** Approvals that were given in this run to be remembered. */
function rememberedIn({ remembered, settings }: LiveRun): { remembered?: string[] } {
  const added = [...remembered].filter((key) => !settings.remembered?.includes(key))
  return added.length === 0 ? {} : { remembered: added }
}

/** How the loop ended. */
export interface Ending {
  stopReason: StopReason
  error?: ErrorRecord
  pending?: PendingItem[]
  /** In place of the model's last text. */
  output?: Content
}

/** What a run has come to so far; all of it made from what steps returned. */
export class RunRecord {
  readonly history: History
  readonly steps: RunStep[] = []
  readonly toolCalls: ToolCallRecord[] = []
  readonly #given: number
  #usage: Usage = noUsage
  #text = ''
  #iterations = 0

  /** `given`: how many messages of the history are from before this run. */
  constructor(history: History, given: number) {
    this.history = history
    this.#given = given
  }

  /** Takes a turn over: its message joins the history. Returns what it cost. */
  addTurn(turn: Turn, key: string): Usage | undefined {
    if (turn.kind === 'interrupted' && turn.unasked) return undefined
    const usage = turn.kind === 'reply' || turn.kind === 'refused' ? turn.step.usage : turn.usage
    this.#usage = addUsage(this.#usage, usage)
    this.#iterations = Math.max(this.#iterations, Number.parseInt(key, 10))
    this.#text = turn.text
    if (turn.kind === 'reply' || turn.kind === 'refused') this.steps.push(turn.step)
    if (turn.kind === 'reply') this.history.append(turn.message)
    // What was shown before a turn broke off is part of the conversation: the user has read it.
    else if (turn.text !== '') this.history.append({ role: 'assistant', content: turn.text })
    return usage
  }

  /** Takes a round over: every call's result joins the history, in the order of the calls. Those in `repeated` say so. */
  addRound(round: ToolRound, repeated: ReadonlySet<string>): void {
    for (const record of round.records) {
      this.toolCalls.push(record)
      this.history.appendResult(toResultMessage(record, repeated.has(record.id) ? repeatNote : undefined))
    }
    if (round.interrupted !== undefined) this.history.closeOpenCalls('Cancelled: the run ended before this call was dealt with.')
  }

  /** What the caller's `stopWhen` says; one that throws says no. */
  shouldStop(iteration: number, run: LiveRun): boolean {
    const { stopWhen } = run.settings
    if (stopWhen === undefined) return false
    try {
      return stopWhen({ iteration, steps: this.steps, messages: this.history.slice() }) === true
    } catch (error) {
      run.logger.error({ runId: run.runId, error: messageOf(error) }, 'stopWhen threw; the run goes on')
      return false
    }
  }

  close({ stopReason, error, pending = [], output }: Ending, run: LiveRun): RunResult {
    const { runId, values } = run
    return {
      runId,
      output: output === undefined ? this.#text : textOf(output),
      messages: this.history.slice(),
      newMessages: this.history.slice(this.#given),
      stopReason,
      usage: this.#usage,
      iterations: this.#iterations,
      steps: this.steps,
      toolCalls: this.toolCalls.map((call) => (values.has(call.id) ? { ...call, value: values.get(call.id) } : call)),
      pending,
      ...rememberedIn(run),
      ...(error === undefined ? {} : { error: this.#errorOf(error, run) }),
    }
  }

  /** The error as it was thrown, with its stack and cause; after a crash, one made from the record. */
  #errorOf({ code, message }: ErrorRecord, run: LiveRun): ToolloopError {
    const thrown = [...run.errors.values()].findLast((error) => error.code === code && error.message === message)
    return thrown ?? new ModelError(code, message, { provider: run.model.provider, model: run.model.model, retryable: false })
  }
}

const repeatNote =
  'Note: this same call has now been repeated several times in a row. Repeating it again ends the run. Use what you have, try something else, or answer.'
