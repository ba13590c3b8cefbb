import type { AIMessage, BaseMessage, ToolMessage } from '@langchain/core/messages'
import pTimeout from 'p-timeout'
import { toResultMessage } from '../../agent/calls/tool-round.ts'
import { askWithinWindow } from '../../agent/conversation/compact-when-full.ts'
import type { Durable } from '../../agent/durable/journal.ts'
import { closeAnswer, closeStep, endingOfAnswer, type Reply } from '../../agent/next-step.ts'
import type { Loop } from '../../agent/run/execution.ts'
import { type Budget, RepeatBreaker, refuseAll } from '../../agent/run/limits.ts'
import type { LiveRun } from '../../agent/run/run-context.ts'
import { type Ending, endingOfTurn, type RunRecord } from '../../agent/run/run-state.ts'
import type { Turn } from '../../agent/turn/turn.ts'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import type { ChatMessage } from '../../core/messages.ts'
import { cancelledText } from '../../tools/tool-runner.ts'
import { type AgentHost, type CreateAgent, checkAgent, runAgent } from './agent.ts'
import { DispatchedRound } from './dispatched-round.ts'
import { stateId, toAIMessage, toLangChain, toToolMessage } from './messages.ts'

/**
 * How long LangChain has to come to its end when the run is interrupted, in milliseconds. Then it is left behind: an interrupted run asks
 * nothing and runs nothing, whatever LangChain still does.
 */
const graceMs = 50

/**
 * LangChain's agent as the loop: its graph decides when the model is asked, which calls are run, and when there is nothing left to do.
 * What is asked, how a call is run and what is recorded are the run's own, as are its bounds.
 * Rejects when the LangChain that is installed can't be run so. `create`: in place of LangChain's `createAgent`.
 */
export async function openLangChainLoop(create?: CreateAgent): Promise<Loop> {
  if (create === undefined) installed ??= checkAgent()
  await (create === undefined ? installed : checkAgent(create))
  return (durable, run, record) => new LangChainRun(durable, run, record).finish(create)
}

/** The check of the installed one, made once. */
let installed: Promise<void> | undefined

class LangChainRun implements AgentHost {
  readonly #durable: Durable
  readonly #run: LiveRun
  readonly #record: RunRecord
  readonly #budget: Budget
  readonly #breaker: RepeatBreaker
  #iteration = 0
  /** How many messages LangChain's state has, those it is about to add included. */
  #known: number
  /** The last reply, as long as what comes next is not decided. */
  #open: { turn: Reply; round: DispatchedRound | undefined } | undefined
  /** The bound that is reached, while the model is asked for an answer before the run ends with it. */
  #bound: Ending | undefined
  #ending: Ending | undefined

  constructor(durable: Durable, run: LiveRun, record: RunRecord) {
    this.#durable = durable
    this.#run = run
    this.#record = record
    this.#budget = run.begin()
    this.#breaker = new RepeatBreaker(run.limits.repeatedCalls)
    this.#known = record.history.length
  }

  async finish(create?: CreateAgent): Promise<Ending> {
    const run = this.#run
    let failure: unknown
    const messages = this.#record.history.slice().map(toLangChain)
    // One request more than the iterations, for an answer at their end.
    const agent = runAgent(this, messages, run.limits.maxIterations + 1, create).catch((error: unknown) => {
      failure = error
    })
    await run.untilInterrupted(agent)
    if (run.interruption !== undefined) await pTimeout(agent, { milliseconds: graceMs, fallback: () => undefined })
    if (this.#ending !== undefined) return this.#ending
    const ending = run.interruption === undefined ? this.#failed(failure) : { stopReason: run.interruption }
    // Whatever still runs has nobody left to answer to.
    run.interrupt('aborted')
    const open = this.#open
    const round = await open?.round?.result
    if (round !== undefined && this.#open === open) this.#record.addRound(round, new Set())
    return ending
  }

  async takeTurn(messages: readonly BaseMessage[]): Promise<AIMessage> {
    const { history } = this.#record
    checkState(messages, history.slice())
    const iteration = ++this.#iteration
    const bound = this.#bound
    const turn = await askWithinWindow(this.#durable, this.#run, history, iteration, bound === undefined ? undefined : 'none')
    this.#budget.spend(this.#record.addTurn(turn, `${iteration}.${bound === undefined ? 'model' : 'answer'}`))
    if (turn.kind !== 'reply') this.#ending = bound === undefined ? endingOfTurn(turn) : endingOfAnswer(bound, turn)
    if (turn.kind !== 'reply' || turn.message.role !== 'assistant') throw noReply(turn)
    this.#open = { turn, round: turn.planned.length === 0 ? undefined : this.#openRound(turn, iteration) }
    this.#known = history.length + turn.planned.length
    return toAIMessage(turn.message, history.length - 1, turn.step.usage)
  }

  #openRound({ planned }: Reply, iteration: number): DispatchedRound {
    const admitted = this.#bound === undefined ? this.#budget.admit(planned) : refuseAll(planned, this.#run.output?.tool.name)
    return new DispatchedRound(this.#durable, this.#run, iteration, admitted)
  }

  async answerCall(id: string, name: string): Promise<ToolMessage> {
    const record = await this.#open?.round?.runCall(id)
    if (record !== undefined) return toToolMessage(toResultMessage(record))
    return toToolMessage({ role: 'tool', toolCallId: id, name, content: cancelledText(name), isError: true })
  }

  async goOn(): Promise<BaseMessage[] | undefined> {
    await this.#closeStep()
    if (this.#ending !== undefined) return undefined
    const from = this.#known
    const added = this.#record.history.slice(from)
    this.#known += added.length
    return added.map((message, at) => toLangChain(message, from + at))
  }

  /** Takes the last reply and the results of its calls over, and decides whether the run goes on. */
  async #closeStep(): Promise<void> {
    if (this.#open === undefined) return
    const { turn, round: dispatched } = this.#open
    if (dispatched?.isBegun === false)
      throw new ToolloopError('backend_failed', 'Expected LangChain to run every call of a turn, it left some out')
    const round = await dispatched?.result
    this.#open = undefined
    if (this.#bound !== undefined) {
      this.#ending = round === undefined ? endingOfAnswer(this.#bound, turn) : closeAnswer(this.#run, this.#record, this.#bound, round)
      return
    }
    const step = { iteration: this.#iteration, turn, round, budget: this.#budget, breaker: this.#breaker }
    const next = await closeStep(this.#durable, this.#run, this.#record, step)
    if (next?.answerFirst === true) this.#bound = next.ending
    else this.#ending = next?.ending
  }

  #failed(failure: unknown): Ending {
    const what = failure === undefined ? 'it came to no end of the run' : messageOf(failure)
    const error = new ToolloopError('backend_failed', `LangChain's loop failed: ${what}`, { cause: failure })
    this.#run.errors.set('backend', error)
    this.#run.logger.error({ runId: this.#run.runId, iteration: this.#iteration, error }, 'the backend failed')
    return { stopReason: 'model_error', error: { code: error.code, message: error.message } }
  }
}

/** The error a turn without a reply ends with, for those who watch LangChain. */
function noReply(turn: Turn): ToolloopError {
  if (turn.kind === 'failed' || turn.kind === 'refused') return new ToolloopError(turn.error.code, turn.error.message)
  return new ToolloopError('aborted', 'The run was interrupted')
}

/** What is sent is the run's own list, and LangChain's state has to be the same: else its loop would decide by another conversation. */
function checkState(messages: readonly BaseMessage[], own: readonly ChatMessage[]): void {
  const given = messages.map(({ id }) => id)
  const expected = own.map(stateId)
  if (given.length === expected.length && given.every((id, at) => id === expected[at])) return
  throw new ToolloopError('backend_failed', `Expected LangChain to ask with the messages ${expected.join(', ')}, got ${given.join(', ')}`)
}
