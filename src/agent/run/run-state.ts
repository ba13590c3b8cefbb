import { ToolloopError } from '../../core/errors.ts'
import { addUsage, type ChatMessage, noUsage, type ToolResultMessage, textOf, toolMessage, type Usage } from '../../core/messages.ts'
import { History, legalName } from '../conversation/history.ts'
import type { Ending, Handoff, Objection, PlainError, ToolRound, Turn } from '../recorded.ts'
import { neverStartedText, repeatNote, withNote } from '../told.ts'
import { type Budget, RepeatBreaker, type Repeats } from './budget.ts'
import type { RunResult, RunStep, ToolCallRecord } from './result.ts'

/** What a run has come to: all that its recorded steps bring back when they are replayed, and nothing else. */
export interface LoopState {
  readonly history: History
  /** How many messages of the history are from before this run. */
  readonly earlier: number
  readonly steps: RunStep[]
  readonly toolCalls: ToolCallRecord[]
  usage: Usage
  /** What the model said last. */
  text: string
  iterations: number
  /** How many answers given as text were not accepted. */
  objections: number
  /** The agent that has the conversation, where it was handed over. */
  agent: string | undefined
  readonly budget: Budget
  readonly breaker: RepeatBreaker
  /** Approvals that need not be asked for again: those handed in, and those given in this run. */
  readonly remembered: Set<string>
}

/** What a run is started with, and the process it is executed in. */
interface Start {
  input: { instructions?: string; messages: readonly ChatMessage[]; given: number }
  run: { begin(): Budget; limits: { repeatedCalls: number }; settings: { remembered?: readonly string[] } }
}

/** The state at the beginning of an execution. */
export function openState({ input, run }: Start): LoopState {
  const history = new History(input.messages, input.instructions, input.given)
  return {
    history,
    earlier: history.earlier,
    steps: [],
    toolCalls: [],
    usage: noUsage,
    text: '',
    iterations: 0,
    objections: 0,
    agent: undefined,
    budget: run.begin(),
    breaker: new RepeatBreaker(run.limits.repeatedCalls),
    remembered: new Set(run.settings.remembered),
  }
}

/** Takes a turn over: its message joins the history, what it cost the budget. */
export function addTurn(state: LoopState, turn: Turn, iteration: number): void {
  if (turn.kind === 'interrupted' && turn.unasked) return
  const isWhole = turn.kind === 'reply' || turn.kind === 'refused'
  const usage = isWhole ? turn.step.usage : turn.usage
  state.usage = addUsage(state.usage, usage)
  state.budget.spend(usage)
  state.iterations = Math.max(state.iterations, iteration)
  state.text = turn.text
  if (isWhole) state.steps.push(turn.step)
  if (turn.kind === 'reply') {
    state.history.append(turn.message)
    if (turn.objection !== undefined) state.objections++
  }
  // What was shown before a turn broke off is part of the conversation: the user has read it.
  else if (turn.text !== '') state.history.append({ role: 'assistant', content: turn.text })
}

/** Takes a round over: every call's result joins the history, in the order of the calls. */
export function addRound(state: LoopState, round: ToolRound, { tell }: Pick<Repeats, 'tell'>): void {
  state.budget.settle(round.records)
  for (const record of round.records) {
    state.toolCalls.push(record)
    state.usage = addUsage(state.usage, record.nested?.usage)
    state.history.appendResult(resultMessage(record, tell.has(record.id) ? repeatNote : undefined))
  }
  if (round.interrupted !== undefined) state.history.closeOpenCalls(neverStartedText)
}

/** The tool message of a call's record. */
export function resultMessage({ id, tool, content, outcome }: ToolCallRecord, note?: string): ToolResultMessage {
  return toolMessage({ id, name: legalName(tool) }, note === undefined ? content : withNote(content, note), outcome === 'ok')
}

/** Takes over what the model is told from outside: that its answer is not accepted, what the user says meanwhile. */
export function say(state: LoopState, objection: Objection | undefined, messages: readonly ChatMessage[] = []): void {
  if (objection !== undefined) state.history.append({ role: 'user', content: objection.text })
  state.history.extend(messages)
}

/** Another agent has the conversation. */
export function handTo(state: LoopState, { agent, instructions }: Handoff): void {
  state.agent = agent
  state.history.instruct(instructions)
}

/** Answers that were not accepted, given as text or through the tool for it. */
export interface RejectedAnswers {
  count: number
  /** What the model was told of the last one, and whether a guardrail withheld it. */
  told: string
  isWithheld: boolean
}

/** `answering`: the name of the tool that gives the answer, where it has a schema. Undefined where none was given this time. */
export function rejectedAnswers(
  state: LoopState,
  objection: Objection | undefined,
  answering: string | undefined,
): RejectedAnswers | undefined {
  if (objection === undefined && answering === undefined) return undefined
  const calls = state.toolCalls.filter(({ tool, outcome }) => tool === answering && outcome === 'rejected')
  const last = calls.at(-1)
  return {
    count: state.objections + calls.length,
    told: objection?.text ?? textOf(last?.content ?? ''),
    isWithheld: (objection?.code ?? last?.errorCode) === 'guardrail',
  }
}

/** What the process has besides the state: values too rich for the record, errors as they were thrown. */
interface Process {
  readonly runId: string
  readonly values: ReadonlyMap<string, unknown>
  readonly abortError: ToolloopError | undefined
  readonly settings: { remembered?: readonly string[] }
  errorOf(error: PlainError): ToolloopError
}

export function resultOf(state: LoopState, { stopReason, error, pending = [], output }: Ending, run: Process): RunResult {
  const { history, earlier, usage, iterations, steps, agent } = state
  const text = output === undefined ? state.text : textOf(output)
  const remembered = [...state.remembered].filter((key) => !run.settings.remembered?.includes(key))
  // Why it was aborted is not known where that was in a process that is gone.
  const aborted = () => run.abortError ?? new ToolloopError('aborted', 'The run was aborted')
  return {
    runId: run.runId,
    output: text,
    text,
    messages: history.slice(),
    newMessages: history.slice(earlier),
    stopReason,
    usage,
    iterations,
    steps,
    toolCalls: state.toolCalls.map((call) => (run.values.has(call.id) ? { ...call, value: run.values.get(call.id) } : call)),
    pending,
    ...(remembered.length === 0 ? {} : { remembered }),
    ...(agent === undefined ? {} : { agent }),
    ...(stopReason === 'aborted' ? { error: aborted() } : error === undefined ? {} : { error: run.errorOf(error) }),
  }
}
