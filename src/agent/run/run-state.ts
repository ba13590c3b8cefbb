import { sorted } from '../../core/digest.ts'
import {
  type AssistantMessage,
  addUsage,
  type ChatMessage,
  type Content,
  hasToolCalls,
  legalName,
  noUsage,
  type ToolResultMessage,
  textOf,
  toolMessage,
  type Usage,
} from '../../core/messages.ts'
import { History } from '../conversation/history.ts'
import type { RunUsage } from '../limits/run-usage.ts'
import { answeredTooEarlyText, neverStartedText, noMoreCallsText, repeatNote, withNote } from '../run-texts.ts'
import type { Beside, Handoff, Intent, Objection, PlannedCall, ToolRound, Turn } from '../types/recorded.ts'
import type { RunStep, ToolCallRecord } from '../types/result.ts'
import { CallKeys } from './call-keys.ts'

/** The part of a run's state that a replay of its recorded steps restores. */
export interface LoopState {
  readonly history: History
  /** How many messages of the history are older than this run. */
  readonly earlier: number
  readonly steps: RunStep[]
  readonly toolCalls: ToolCallRecord[]
  usage: Usage
  /** The last text of the model. */
  text: string
  /** How often the model has been asked to continue its last text. 0 if the next turn doesn't continue it. */
  continuations: number
  iterations: number
  /** How many answers given as text were rejected. */
  objections: number
  /** The agent that has the conversation, if it was handed off. */
  agent: string | undefined
  budget: RunUsage
  readonly breaker: RepeatBreaker
  /** Finds repeated calls under the limits of an agent that has taken over. */
  ownBreaker: RepeatBreaker | undefined
  readonly callKeys: CallKeys
  /** The remembered approvals: approvals that were passed to the run, and approvals that were given during the run. */
  readonly remembered: Set<string>
  /** Messages that the run did not read. Undefined as long as the run may still read messages. */
  unread: readonly ChatMessage[] | undefined
  /** The planned calls of a preview that are not decided yet. */
  intents: readonly Intent[]
  /** The iteration after which a preview's plan was last carried out. `maxIterations` counts from this iteration. */
  carriedOutIn: number
}

/** The input of a run, and its context in this process. */
interface Start {
  input: { instructions?: string; messages: readonly ChatMessage[]; given: number } & Beside
  run: {
    runId: string
    depth: number
    begin(): RunUsage
    limits: { repeatedCalls: number; repeatWindow: number }
    settings: { remembered?: readonly string[] }
  }
}

/** Creates the state at the start of an execution. `earlier`: the messages of the run's session. */
export function openState({ input, run }: Start, earlier?: readonly ChatMessage[]): LoopState {
  const history = new History(input.messages, input.instructions, input.given)
  const state: LoopState = {
    history,
    earlier: history.earlier,
    steps: [],
    toolCalls: [],
    usage: noUsage,
    text: '',
    continuations: 0,
    iterations: 0,
    objections: 0,
    agent: undefined,
    budget: run.begin(),
    breaker: new RepeatBreaker(run.limits.repeatedCalls, run.limits.repeatWindow),
    ownBreaker: undefined,
    callKeys: new CallKeys(run, earlier),
    remembered: new Set(run.settings.remembered),
    unread: undefined,
    intents: [],
    carriedOutIn: 0,
  }
  addBeside(state, input)
  return state
}

/** Appends the turn's message to the history, and counts its usage. */
export function addTurn(state: LoopState, turn: Turn, iteration: number): void {
  addBeside(state, turn)
  if (turn.kind === 'interrupted' && turn.unasked) return
  if (turn.kind === 'unpaid' && turn.usage === undefined) return
  const step = turn.kind === 'reply' || turn.kind === 'refused' ? turn.step : undefined
  const usage = turn.kind === 'reply' ? turn.step.usage : (step?.usage ?? turn.usage)
  if (turn.kind === 'refused' && step === undefined && usage === undefined) return
  state.usage = addUsage(state.usage, usage)
  state.budget.spend(usage)
  state.iterations = Math.max(state.iterations, iteration)
  if (step !== undefined) state.steps.push(step)
  if (turn.kind === 'reply' && turn.objection !== undefined) state.objections++
  // Text that was shown before a turn broke off is part of the conversation, because the user has read it.
  const message: AssistantMessage = turn.kind === 'reply' ? turn.message : { role: 'assistant', content: turn.text }
  const text = `${earlierText(state)}${message.content}`
  state.text = (turn.kind === 'reply' ? turn.answer : undefined) ?? text
  const isSaid = message.content !== '' || hasToolCalls(message)
  if (state.continuations > 0) {
    if (isSaid) state.history.replaceLast({ ...message, content: text })
  } else if (isSaid || turn.kind === 'reply') state.history.append(message)
}

/** Adds the usage of guardrails, hooks and summaries. */
export function addBeside(state: Pick<LoopState, 'budget' | 'usage'>, { beside }: Beside): void {
  if (beside === undefined) return
  state.usage = addUsage(state.usage, beside.usage)
  state.budget.settle([{ id: '', nested: beside }])
}

/** The text that the next turn continues. `''` if the next turn does not continue a text. */
export function earlierText({ continuations, text }: Pick<LoopState, 'continuations' | 'text'>): string {
  return continuations === 0 ? '' : text
}

/**
 * Appends the result of every call to the history, in the order of the calls. If the history already has a result for a call, replaces that
 * result.
 */
export function addRound(state: LoopState, round: ToolRound, { tell }: Pick<Repeats, 'tell'>): void {
  const noted = round.intents.length === 0 ? undefined : new Set(round.intents.map(({ call }) => call.id))
  const ended = noted === undefined ? round.records : round.records.filter(({ id }) => !noted.has(id))
  state.budget.settle(ended)
  for (const record of ended) {
    state.toolCalls.push(record)
    state.usage = addUsage(state.usage, record.nested?.usage)
    if (record.callKey !== undefined) state.callKeys.note(record.callKey)
  }
  for (const record of round.records) {
    const message = resultMessage(record, tell.has(record.id) ? repeatNote : undefined)
    if (!state.history.appendResult(message)) state.history.replaceResult(message)
  }
  if (noted !== undefined) state.intents = [...state.intents, ...round.intents]
  if (round.interrupted !== undefined) state.history.closeOpenCalls(neverStartedText)
}

/**
 * Adds the results of a preview's planned calls. Removes the answer that the model gave before these calls were carried out. `answering`:
 * the name of the answer tool.
 */
export function addIntents(state: LoopState, round: ToolRound, iteration: number, answering: string | undefined): void {
  state.intents = []
  addRound(state, round, noRepeats)
  if (round.pending.length > 0 || round.interrupted !== undefined) return
  state.carriedOutIn = iteration
  state.text = ''
  for (const {
    id,
    function: { name },
  } of state.history.dropAnswer(answering))
    state.history.replaceResult(toolMessage({ id, name }, answeredTooEarlyText, false))
}

/** Creates the tool message for a call from the call's record. */
export function resultMessage({ id, tool, content, outcome, callKey }: ToolCallRecord, note?: string): ToolResultMessage {
  const message = toolMessage({ id, name: legalName(tool) }, note === undefined ? content : withNote(content, note), outcome === 'ok')
  return callKey === undefined ? message : { ...message, callKey }
}

/** Adds the reason why an answer was rejected, and the user's messages, to the history. */
export function addMessages(state: LoopState, objection: Objection | undefined, messages: readonly ChatMessage[] = []): void {
  if (objection !== undefined) state.history.append({ role: 'user', content: objection.text })
  if (messages.length > 0) state.history.extend(messages)
}

/** Hands the conversation to another agent, which has its own limits. */
export function handTo(state: LoopState, { agent, instructions }: Handoff, own: Pick<LoopState, 'budget' | 'ownBreaker'>): void {
  Object.assign(state, own)
  state.agent = agent
  state.history.instruct(instructions)
}

/** The rejected answers of a run, given as text or through the answer tool. */
export interface RejectedAnswers {
  count: number
  /** The text that the model got about the last rejected answer. `isWithheld`: whether a guardrail withheld that answer. */
  objection: string
  isWithheld: boolean
}

/**
 * Counts the rejected answers of the run. Undefined if there is neither an objection nor an answer tool. `answering`: the name of the
 * answer tool.
 */
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
    objection: objection?.text ?? textOf(last?.content ?? ''),
    isWithheld: (objection?.code ?? last?.errorCode) === 'guardrail',
  }
}

/**
 * Notices a model that makes the same calls over several turns and gets the same results. A call is a repeat if an earlier turn made the
 * same call with the same result, and all turns in between contain only repeats.
 */
export class RepeatBreaker {
  readonly #maxRepeats: number
  readonly #window: number
  /** The calls of the latest turns, the latest last. */
  readonly #turns: Map<number, CountedCall>[] = []
  readonly #ids = new CallIds()
  #counted = 0

  constructor(maxRepeats: number, window: number) {
    this.#maxRepeats = maxRepeats
    this.#window = window
  }

  /**
   * Counts the calls of one turn together with their results. `tell`: ids of calls that have reached the allowed number of repeats. Their
   * results must tell the model so. `end`: whether the model has repeated a call after it was told. A call whose result changes is never a
   * repeat, because the model may be polling.
   */
  countRound(planned: readonly PlannedCall[], records: readonly { id: string; content: Content }[]): Repeats {
    if (this.#maxRepeats === Number.POSITIVE_INFINITY) return noRepeats
    const results = new Map<string, Content>()
    for (const { id, content } of records) results.set(id, content)
    const now = ++this.#counted
    const { made } = this.#ids
    const calls = planned.map((call) => ({ id: call.id, same: this.#ids.of(call, results.get(call.id), now) }))
    // A turn that contains only new calls repeats nothing.
    const before = calls.some(({ same }) => same <= made) ? this.#before(new Set(calls.map(({ same }) => same))) : []
    const turn = new Map<number, CountedCall>()
    const tell = new Set<string>()
    let end = false
    for (const { id, same } of calls) {
      const counted = turn.get(same) ?? repeatOf(same, before)
      const isOften = counted.repeats >= this.#maxRepeats
      if (isOften && !counted.isTold) tell.add(id)
      if (isOften && counted.isTold) end = true
      turn.set(same, counted)
    }
    for (const counted of turn.values()) counted.isTold ||= counted.repeats >= this.#maxRepeats
    this.#turns.push(turn)
    if (this.#turns.length > this.#window) this.#turns.shift()
    this.#ids.forget(now - this.#window)
    return { tell, end }
  }

  /**
   * The turns in the window, latest first. `isNew`: the turn has a call that neither the current turn nor another turn in the window has.
   */
  #before(now: ReadonlySet<number>): Turns {
    const times = new Map<number, number>()
    for (const turn of [now, ...this.#turns]) for (const same of turn.keys()) times.set(same, (times.get(same) ?? 0) + 1)
    return this.#turns.toReversed().map((calls) => ({ calls, isNew: [...calls.keys()].some((same) => times.get(same) === 1) }))
  }
}

interface CountedCall {
  repeats: number
  /** Whether the model was told that it repeats this call. */
  isTold: boolean
}

type Turns = readonly { calls: ReadonlyMap<number, CountedCall>; isNew: boolean }[]

function repeatOf(same: number, before: Turns): CountedCall {
  let times = 0
  let latest: CountedCall | undefined
  for (const { calls, isNew } of before) {
    const counted = calls.get(same)
    if (counted === undefined && isNew) break
    if (counted !== undefined) times++
    latest ??= counted
  }
  // The window can be shorter than the number of allowed repeats, so the count of the latest turn is continued.
  return { repeats: latest === undefined ? 0 : Math.max(times, latest.repeats + 1), isTold: latest?.isTold === true }
}

/** Assigns the same id to the same call with the same result. */
class CallIds {
  /** Ids by tool and result. */
  readonly #places = new Map<string, Map<string, CallPlace>>()
  /** The highest id assigned so far. Ids start at 1. */
  made = 0

  of(call: PlannedCall, content: Content | undefined, turn: number): number {
    const byResult = this.#places.get(call.name) ?? new Map<string, CallPlace>()
    this.#places.set(call.name, byResult)
    const result = resultKey(content)
    const place = byResult.get(result)
    if (place === undefined) {
      byResult.set(result, { first: call, id: ++this.made, seen: turn, others: undefined })
      return this.made
    }
    place.seen = turn
    // Arguments are compared only if the tool and the result are the same.
    place.others ??= new Map([[argumentsKey(place.first), place.id]])
    const key = argumentsKey(call)
    const id = place.others.get(key) ?? ++this.made
    place.others.set(key, id)
    return id
  }

  /** Forgets results that have not occurred since turn `oldest`, because results may be long. */
  forget(oldest: number): void {
    for (const [name, byResult] of this.#places) {
      for (const [result, { seen }] of byResult) if (seen < oldest) byResult.delete(result)
      if (byResult.size === 0) this.#places.delete(name)
    }
  }
}

interface CallPlace {
  readonly first: PlannedCall
  readonly id: number
  /** The latest turn in which the tool returned this result. */
  seen: number
  /** Ids by arguments. Set once a second call has the same tool and result. */
  others: Map<string, number> | undefined
}

/** Counts a round toward the limits of the run, and toward the limits of an agent that has taken over. */
export function countRound(
  { breaker, ownBreaker }: Pick<LoopState, 'breaker' | 'ownBreaker'>,
  planned: readonly PlannedCall[],
  records: readonly { id: string; content: Content }[],
): Repeats {
  const repeats = breaker.countRound(planned, records)
  const own = ownBreaker?.countRound(planned, records)
  return own === undefined ? repeats : { tell: new Set([...repeats.tell, ...own.tell]), end: repeats.end || own.end }
}

export interface Repeats {
  tell: ReadonlySet<string>
  end: boolean
}

export const noRepeats: Repeats = { tell: new Set(), end: false }

/** Refuses all calls of a turn except calls of the tool `answering`. */
export function refuseAll(planned: readonly PlannedCall[], answering?: string): PlannedCall[] {
  return planned.map(({ approval: _, ...call }): PlannedCall => {
    if (call.action === 'reject' || call.name === answering) return call
    return { ...call, action: 'reject', refusal: { code: 'tool_denied', text: noMoreCallsText } }
  })
}

/** Longer texts are compared unchanged, because sorting the keys of a megabyte of JSON takes too long. */
const longestOrdered = 4_096

/** Identifies the arguments of a call, ignoring whitespace and the order of keys. */
function argumentsKey({ args, rawArguments }: PlannedCall): string {
  return args === undefined || rawArguments.length > longestOrdered ? rawArguments : JSON.stringify(sorted(args))
}

function resultKey(content: Content | undefined): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? null)
}
