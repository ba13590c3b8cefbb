import type { AIMessage, BaseMessage, ToolMessage } from '@langchain/core/messages'
import pTimeout from 'p-timeout'
import { admitCalls, closeIteration, nextPlace } from '../../agent/loop.ts'
import { addRound, addTurn, noRepeats, resultMessage } from '../../agent/run/run-state.ts'
import type { Execution, Loop, Place } from '../../agent/types/execution.ts'
import type { Ending, Reply, ToolRound, Turn } from '../../agent/types/recorded.ts'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import { type ChatMessage, textOf } from '../../core/messages.ts'
import { cancelledText } from '../../tools/call-texts.ts'
import { type AgentHost, type CreateAgent, checkAgent, runAgent } from './agent.ts'
import { DispatchedRound } from './dispatched-round.ts'
import { stateId, toAIMessage, toLangChain, toToolMessage } from './messages.ts'

/**
 * How long to wait for LangChain to end after the run is interrupted, in milliseconds. After that, LangChain's loop is abandoned. It can do
 * no harm: an interrupted run sends no requests and runs no calls.
 */
const graceMs = 50

/**
 * Creates a loop driven by LangChain's agent. Its graph decides when the model is asked, which calls run, and when the run is done.
 * Requests, calls, recording and limits work as in toolloop's own loop. Rejects if the installed LangChain doesn't work as expected.
 * `create` replaces LangChain's `createAgent`.
 */
export async function openLangChainLoop(create?: CreateAgent): Promise<Loop> {
  if (create === undefined) installed ??= checkAgent()
  await (create === undefined ? installed : checkAgent(create))
  return (execution) => new LangChainRun(execution).finish(create)
}

/** The result of checking the installed LangChain. The check runs once. */
let installed: Promise<void> | undefined

class LangChainRun implements AgentHost {
  readonly #execution: Execution
  #place: Place = { iteration: 1 }
  /** The number of messages in LangChain's state, including messages that LangChain is about to add. */
  #known: number
  /** The last reply, while its calls run. */
  #open: { turn: Reply; round: DispatchedRound | undefined } | undefined
  #ending: Ending | undefined

  constructor(execution: Execution) {
    this.#execution = execution
    this.#known = execution.state.history.length
  }

  async finish(create?: CreateAgent): Promise<Ending> {
    const { run, state } = this.#execution
    let failure: unknown
    const messages = state.history.slice().map(toLangChain)
    // One request more than the limit, because a run that reaches the limit may ask once more for a final answer.
    const agent = runAgent(this, messages, run.limits.maxIterations + 1, create).catch((error: unknown) => {
      failure = error
    })
    await run.untilInterrupted(agent)
    if (run.interruption !== undefined) await pTimeout(agent, { milliseconds: graceMs, fallback: () => undefined })
    if (this.#ending !== undefined) return this.#ending
    const ending = run.interruption === undefined ? this.#failed(failure) : { stopReason: run.interruption }
    // LangChain's loop has ended, so nothing would receive the results of calls that are still running.
    run.interrupt('aborted')
    const open = this.#open
    const round = await open?.round?.result
    if (round !== undefined && this.#open === open) addRound(state, round, noRepeats)
    return ending
  }

  async takeTurn(messages: readonly BaseMessage[]): Promise<AIMessage> {
    const { history } = this.#execution.state
    checkState(messages, history.slice())
    const turn = await this.#execution.layers.takeTurn(this.#execution, this.#place)
    addTurn(this.#execution.state, turn, this.#place.iteration)
    if (turn.kind !== 'reply') {
      await this.#close(turn)
      throw noReply(turn)
    }
    const { iteration } = this.#place
    const calls = admitCalls(this.#execution, this.#place, turn.planned)
    this.#open = { turn, round: calls.length === 0 ? undefined : new DispatchedRound(this.#execution, iteration, calls) }
    this.#known = history.length + calls.length
    // If the turn continues a text that was cut off, the last message of the history contains the whole text.
    const [whole = turn.message] = history.slice(history.length - 1)
    return toAIMessage({ ...turn.message, content: textOf(whole.content) }, history.length - 1, turn.step.usage)
  }

  async answerCall(id: string, name: string): Promise<ToolMessage> {
    const record = await this.#open?.round?.runCall(id)
    if (record !== undefined) return toToolMessage(resultMessage(record))
    return toToolMessage({ role: 'tool', toolCallId: id, name, content: cancelledText(name), isError: true })
  }

  async beginTurn(): Promise<BaseMessage[] | undefined> {
    await this.#closeOpen()
    if (this.#ending !== undefined) return undefined
    const from = this.#known
    const added = this.#execution.state.history.slice(from)
    this.#known += added.length
    return added.map((message, at) => toLangChain(message, from + at))
  }

  /** Adds the results of the last reply's calls to the state, and decides whether the run continues. */
  async #closeOpen(): Promise<void> {
    if (this.#open === undefined) return
    const { turn, round } = this.#open
    if (round?.isBegun === false)
      throw new ToolloopError('backend_failed', 'Expected LangChain to run every call of a turn, but it skipped some')
    const done = await round?.result
    this.#open = undefined
    await this.#close(turn, done)
  }

  async #close(turn: Turn, round?: ToolRound): Promise<void> {
    const next = await closeIteration(this.#execution, this.#place, turn, round)
    if (next.kind === 'end') this.#ending = next.ending
    else this.#place = nextPlace(this.#place, next)
  }

  #failed(failure: unknown): Ending {
    const what = failure === undefined ? 'it did not return the end of the run' : messageOf(failure)
    const error = new ToolloopError('backend_failed', `LangChain's loop failed: ${what}`, { cause: failure })
    const { run } = this.#execution
    run.errors.set('backend', error)
    run.logger.error({ runId: run.runId, iteration: this.#place.iteration, error }, 'the backend failed')
    return { stopReason: 'model_error', error: { code: error.code, message: error.message } }
  }
}

/** Returns the error for a turn without a reply. It is visible only in LangChain's tracing. */
function noReply(turn: Turn): ToolloopError {
  if (turn.kind === 'failed' || turn.kind === 'refused') return new ToolloopError(turn.error.code, turn.error.message)
  return new ToolloopError('aborted', 'The run was interrupted')
}

/**
 * Checks that LangChain's state has the same messages as the run. If the messages differed, LangChain's loop would decide on the basis of
 * another conversation.
 */
function checkState(messages: readonly BaseMessage[], own: readonly ChatMessage[]): void {
  const given = messages.map(({ id }) => id)
  const expected = own.map(stateId)
  if (given.length === expected.length && given.every((id, at) => id === expected[at])) return
  throw new ToolloopError('backend_failed', `Expected LangChain to send the messages ${expected.join(', ')}, got ${given.join(', ')}`)
}
