import { ModelError, messageOf, ToolloopError } from '../../core/errors.ts'
import type { StopReason } from '../../core/events.ts'
import { addUsage, type ChatMessage, type Content, noUsage, textOf, type Usage } from '../../core/messages.ts'
import { type ToolRound, toResultMessage } from '../calls/tool-round.ts'
import type { History } from '../conversation/history.ts'
import { jsonOf } from '../output/output.ts'
import type { ErrorRecord, Objection, Turn } from '../turn/turn.ts'
import type { PendingItem, RunResult, RunStep, ToolCallRecord } from '../types.ts'
import type { LiveRun } from './run-context.ts'

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

/** How the run ends with a turn that is no reply. */
export function endingOfTurn(turn: Exclude<Turn, { kind: 'reply' }>): Ending {
  if (turn.kind === 'interrupted') return { stopReason: turn.why }
  return { stopReason: turn.kind === 'failed' ? 'model_error' : 'refused', error: turn.error }
}

/** How the run ends with a round; undefined when it may go on. Several reasons at once: the first counts. */
export function endingOfRound({ interrupted, stop, pending, final }: ToolRound, { output }: LiveRun): Ending | undefined {
  if (interrupted !== undefined) return { stopReason: interrupted }
  if (stop !== undefined) return stoppedByGuardrail(stop)
  if (pending.length > 0) return { stopReason: 'paused', pending }
  if (final === undefined) return undefined
  if (output === undefined || final.tool !== output.tool.name) return { stopReason: 'stopped', output: final.content }
  return { stopReason: 'answered', output: jsonOf(output, final.args ?? {}) }
}

export function stoppedByGuardrail(reason: string): Ending {
  return { stopReason: 'refused', error: { code: 'guardrail', message: `The run was stopped by ${reason}` } }
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
  #agent: string | undefined

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
      this.#usage = addUsage(this.#usage, record.nested?.usage)
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

  /**
   * Counts an answer that is not accepted, given as text or through the tool for it; how the run ends when there were too many of them.
   */
  rejectedAnswer(objection: Objection | undefined, run: LiveRun): Ending | undefined {
    if (objection === undefined && run.output === undefined) return undefined
    const { outputRetries = 2 } = run.settings
    if (objection !== undefined) run.objections++
    const rejected = this.toolCalls.filter(({ tool, outcome }) => tool === run.output?.tool.name && outcome === 'rejected')
    const given = run.objections + rejected.length
    if (given <= outputRetries) return undefined
    const last = rejected.at(-1)
    const isWithheld = (objection?.code ?? last?.errorCode) === 'guardrail'
    const why = isWithheld ? 'a guardrail withheld the last one' : 'the last one does not fit the schema of `output`'
    const told = objection?.text ?? textOf(last?.content ?? '')
    const message = `Expected an answer that is accepted, got ${given} that were not (\`outputRetries\` is ${outputRetries}): ${why}. The model was told: ${told}`
    if (isWithheld) return { stopReason: 'refused', error: { code: 'guardrail', message } }
    return { stopReason: 'model_error', error: { code: 'invalid_output', message } }
  }

  /** Takes over what the model is told from outside: that its answer is not accepted, what the user says meanwhile. */
  say(objection: Objection | undefined, messages: readonly ChatMessage[]): void {
    if (objection !== undefined) this.history.append({ role: 'user', content: objection.text })
    this.history.extend(messages)
  }

  /** Another agent has the conversation. */
  handTo(agent: string, instructions: string | undefined): void {
    this.#agent = agent
    this.history.instruct(instructions)
  }

  close({ stopReason, error, pending = [], output }: Ending, run: LiveRun): RunResult {
    const { runId, values } = run
    const text = output === undefined ? this.#text : textOf(output)
    return {
      runId,
      output: text,
      text,
      messages: this.history.slice(),
      newMessages: this.history.slice(this.#given),
      stopReason,
      usage: this.#usage,
      iterations: this.#iterations,
      steps: this.steps,
      toolCalls: this.toolCalls.map((call) => (values.has(call.id) ? { ...call, value: values.get(call.id) } : call)),
      pending,
      ...rememberedIn(run),
      ...(this.#agent === undefined ? {} : { agent: this.#agent }),
      ...(stopReason === 'aborted' ? { error: abortedError(run) } : error === undefined ? {} : { error: errorOf(error, run) }),
    }
  }
}

/** Why the run was aborted, as far as that is known: not where it was aborted in a process that is gone. */
function abortedError({ abortError }: LiveRun): ToolloopError {
  return abortError ?? new ToolloopError('aborted', 'The run was aborted')
}

/** The error as it was thrown, with its stack and cause; after a crash, one made from the record. */
export function errorOf({ code, message }: ErrorRecord, run: LiveRun): ToolloopError {
  if (code === 'aborted') return run.abortError ?? new ToolloopError(code, message)
  const {
    errors,
    model: { provider, model },
  } = run
  const thrown = [...errors.values()].findLast((error) => error.code === code && error.message === message)
  if (thrown !== undefined) return thrown
  return code === 'guardrail' ? new ToolloopError(code, message) : new ModelError(code, message, { provider, model, retryable: false })
}

const repeatNote =
  'Note: this same call has now been repeated several times in a row. Repeating it again ends the run. Use what you have, try something else, or answer.'
