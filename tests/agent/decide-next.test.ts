import { describe, expect, it } from 'vitest'
import { decideNext, type Facts } from '../../src/agent/loop.ts'
import type { RejectedAnswers } from '../../src/agent/run/run-state.ts'
import type { PendingItem, RunStep, ToolCallRecord } from '../../src/agent/types/options.ts'
import type { Ending, Steering, ToolRound, Turn } from '../../src/agent/types/recorded.ts'
import type { StopReason } from '../../src/core/events.ts'
import { defineTool } from '../../src/tools/tool.ts'

const step: RunStep = {
  iteration: 1,
  provider: 'p',
  model: 'm',
  finishReason: 'stop',
  durationMs: 1,
  retries: 0,
  warnings: [],
  toolCalls: [],
}
const objection = { code: 'invalid_output', text: 'Not that.' } as const
const reply: Turn = { kind: 'reply', message: { role: 'assistant', content: 'Yes.' }, planned: [], step }
const objected: Turn = { ...reply, objection }
const cut: Turn = { ...reply, isCut: true }
const failed: Turn = { kind: 'failed', text: '', error: { code: 'provider_error', message: 'gone' } }
const declined: Turn = { kind: 'refused', text: '', step, error: { code: 'refusal', message: 'no' } }
const stoppedTurn: Turn = { kind: 'refused', text: '', step, error: { code: 'guardrail', message: 'stopped' } }
const interruptedTurn = (why: 'aborted' | 'deadline'): Turn => ({ kind: 'interrupted', why, text: '' })

const record = (tool: string): ToolCallRecord => ({
  id: 'c',
  tool,
  args: { value: 7 },
  rawArguments: '{"value":7}',
  iteration: 1,
  outcome: 'ok',
  content: 'done',
  durationMs: 1,
  attempts: 1,
})
const round: ToolRound = { records: [record('search')], pending: [], intents: [] }
const pending: PendingItem[] = [{ kind: 'approval', toolCallId: 'c', tool: 'send', args: {}, fingerprint: 'f', place: '1.tool.0.decision' }]
const answerTool = defineTool({ name: 'final_answer', description: '', parameters: { type: 'object' }, execute: () => null })
const output = { tool: answerTool, wrapped: true }
const rejected: RejectedAnswers = { count: 3, objection: 'Not that.', isWithheld: false }

const quiet: Steering = { messages: [], stops: false }
const message = { role: 'user', content: 'And now?' } as const
const said: Steering = { messages: [message], stops: false }
const stops: Steering = { messages: [], stops: true }

const base: Facts = {
  turn: reply,
  round: undefined,
  lastTurn: undefined,
  output: undefined,
  stopped: false,
  rejected: undefined,
  outputRetries: 2,
  exhausted: undefined,
  repeats: false,
  onLimit: 'stop',
  continuationsLeft: 0,
  hasIntents: false,
}
const everything: Partial<Facts> = {
  round: { ...round, interrupted: 'deadline', stop: 'rail: no', pending, final: record('finish') },
  stopped: true,
  rejected,
  exhausted: 'budget',
  repeats: true,
  refusedHandoff: 'rail: not to them',
  steering: { ...said, stops: true, refused: 'rail: no' },
}

/** Facts without the reasons that come first: what is left decides. */
const after = (...first: ('interrupted' | 'stop' | 'pending' | 'final')[]): Partial<Facts> => {
  const left: ToolRound = { ...round, interrupted: 'deadline', stop: 'rail: no', pending, final: record('finish') }
  for (const reason of first) {
    if (reason === 'pending') left.pending = []
    else delete left[reason]
  }
  return { ...everything, round: left }
}
const ofRound = after('interrupted', 'stop', 'pending', 'final')

/** `ends`: the stop reason, or what else comes next. */
const table: [what: string, facts: Partial<Facts>, ends: StopReason | 'continue' | 'answer' | 'steer' | 'settle'][] = [
  // A turn that is no reply ends the run, whatever else there is.
  ['a deadline while the model was asked', { ...everything, turn: interruptedTurn('deadline') }, 'deadline'],
  ['an abort while the model was asked', { ...everything, turn: interruptedTurn('aborted') }, 'aborted'],
  ['a model that failed', { ...everything, turn: failed }, 'model_error'],
  ['a model that declined', { ...everything, turn: declined }, 'refused'],
  ['an answer that a guardrail stopped', { ...everything, turn: stoppedTurn }, 'refused'],
  // What the calls came to, the first reason first.
  ['calls that were interrupted, before all else', everything, 'deadline'],
  ['a guardrail of a call, before pending calls', after('interrupted'), 'refused'],
  ['pending calls, before a final result', after('interrupted', 'stop'), 'paused'],
  ['a final result, before `stopWhen`', after('interrupted', 'stop', 'pending'), 'stopped'],
  ['`stopWhen`, before answers, steering and limits', ofRound, 'stopped'],
  ['an answer through its tool', { round: { ...round, final: record('final_answer') }, output, steering: quiet }, 'answered'],
  ['answers rejected too often, before limits', { ...ofRound, stopped: false }, 'model_error'],
  ['answers withheld too often', { ...ofRound, stopped: false, rejected: { ...rejected, isWithheld: true } }, 'refused'],
  ['answers that may still be given anew', { turn: objected, rejected: { ...rejected, count: 2 }, steering: quiet }, 'continue'],
  ['an answer counts, however many were rejected before', { rejected, steering: quiet }, 'answered'],
  ['a handoff that a guardrail refuses, before steering and limits', { round, refusedHandoff: 'rail: no', exhausted: 'budget' }, 'refused'],
  ['a handoff that a guardrail refuses, in a preview', { round, refusedHandoff: 'rail: no', hasIntents: true }, 'refused'],
  // Steering is asked for only now; a guardrail of it first.
  ['steering is asked for before anything else is decided', {}, 'steer'],
  ['a guardrail against what was said from outside, before an answer', { steering: { ...said, refused: 'rail: no' } }, 'refused'],
  ['an answer, when nothing was said meanwhile', { steering: quiet }, 'answered'],
  ['an answer, before a stop from outside', { steering: stops }, 'answered'],
  ['a cut answer', { turn: cut, steering: quiet }, 'truncated'],
  ['a cut answer, at a limit', { turn: cut, exhausted: 'budget', steering: quiet }, 'truncated'],
  ['a cut answer, before a stop from outside', { turn: cut, steering: stops }, 'truncated'],
  ['what was said meanwhile, after a cut answer', { turn: cut, steering: said }, 'continue'],
  ['an answer, at a limit', { exhausted: 'max_iterations', steering: quiet }, 'answered'],
  ['what was said meanwhile, after an answer', { steering: said }, 'continue'],
  ['a stop from outside, before limits', { round, exhausted: 'budget', steering: stops }, 'stopped'],
  // Limits, the first first.
  ['a budget, before a repeated call', { round, exhausted: 'budget', repeats: true, steering: quiet }, 'budget'],
  ['the iterations, before a repeated call', { round, exhausted: 'max_iterations', repeats: true, steering: quiet }, 'max_iterations'],
  ['a repeated call', { round, repeats: true, steering: quiet }, 'repeated_calls'],
  ['a budget is never asked beyond', { round, exhausted: 'budget', onLimit: 'answer', steering: quiet }, 'budget'],
  ['the iterations, with an answer asked for', { round, exhausted: 'max_iterations', onLimit: 'answer', steering: quiet }, 'answer'],
  ['a repeated call, with an answer asked for', { round, repeats: true, onLimit: 'answer', steering: quiet }, 'answer'],
  [
    'an objection at a limit, with an answer asked for',
    { turn: objected, exhausted: 'max_iterations', onLimit: 'answer', steering: quiet },
    'answer',
  ],
  // A preview that would end.
  ['noted calls are asked about after steering', { hasIntents: true }, 'steer'],
  ['noted calls are asked about before an answer counts', { hasIntents: true, steering: quiet }, 'settle'],
  ['noted calls are asked about at a limit', { round, hasIntents: true, exhausted: 'budget', steering: quiet }, 'settle'],
  ['noted calls are left after a stop from outside', { hasIntents: true, steering: stops }, 'answered'],
  ['noted calls are left after a deadline', { hasIntents: true, turn: interruptedTurn('deadline') }, 'deadline'],
  ['noted calls that are decided: the model continues', { hasIntents: true, steering: quiet, settled: round }, 'continue'],
  ['noted calls that still wait', { hasIntents: true, steering: quiet, settled: { ...round, pending } }, 'paused'],
  // Nothing of all that.
  ['results the model has not seen', { round, steering: quiet }, 'continue'],
  ['an answer that is not accepted', { turn: objected, steering: quiet }, 'continue'],
]

describe('decideNext', () => {
  it.each(table)('%s', (_what, facts, ends) => {
    const next = decideNext({ ...base, ...facts })
    expect(next.kind === 'end' ? next.ending.stopReason : next.kind).toBe(ends)
  })

  it('takes new messages unless the run has reached a limit', () => {
    expect(decideNext(base)).toEqual({ kind: 'steer', takesMessages: true, hasAnswer: true })
    expect(decideNext({ ...base, round, exhausted: 'budget' })).toEqual({ kind: 'steer', takesMessages: false, hasAnswer: false })
    expect(decideNext({ ...base, round, repeats: true })).toEqual({ kind: 'steer', takesMessages: false, hasAnswer: false })
  })

  it('sends an objection first, then injected messages; at a limit only the objection', () => {
    const next = { objection, messages: [message] }
    expect(decideNext({ ...base, turn: objected, steering: said })).toEqual({ kind: 'continue', ...next })
    const atLimit = { turn: objected, exhausted: 'max_iterations', onLimit: 'answer', steering: quiet } as const
    expect(decideNext({ ...base, ...atLimit })).toEqual({
      kind: 'answer',
      limit: { stopReason: 'max_iterations' },
      objection,
      messages: [],
    })
  })

  it('outputs the answer’s JSON or the result of a final tool; the ending has the pending calls', () => {
    const endingWith = (facts: Partial<Facts>): Ending | undefined => {
      const next = decideNext({ ...base, ...facts })
      return next.kind === 'end' ? next.ending : undefined
    }
    const final = { round: { ...round, final: record('finish') }, output }
    expect(endingWith(final)).toEqual({ stopReason: 'stopped', output: 'done' })
    const given = { round: { ...round, final: record('final_answer') }, output, steering: quiet }
    expect(endingWith(given)).toEqual({ stopReason: 'answered', output: '7' })
    expect(endingWith({ round: { ...round, pending } })).toEqual({ stopReason: 'paused', pending })
  })

  describe('the last answer, requested at a limit', () => {
    const limit: Ending = { stopReason: 'max_iterations' }
    const lastTable: [what: string, facts: Partial<Facts>, ending: Ending][] = [
      ['an answer', {}, limit],
      ['an answer that is cut', { turn: cut }, { stopReason: 'truncated' }],
      ['an answer through its tool', { round: { ...round, final: record('final_answer') }, output }, { ...limit, output: '7' }],
      ['calls that were refused', { round }, limit],
      ['a failing model: the limit, with the error', { turn: failed }, { ...limit, error: { code: 'provider_error', message: 'gone' } }],
      ['a model that declined: the limit', { turn: declined }, limit],
      ['a guardrail against it', { turn: stoppedTurn }, { stopReason: 'refused', error: { code: 'guardrail', message: 'stopped' } }],
      ['a deadline meanwhile', { turn: interruptedTurn('deadline') }, { stopReason: 'deadline' }],
      ['an abort among its calls', { round: { ...round, interrupted: 'aborted' } }, { stopReason: 'aborted' }],
      ['never steering, objections or limits again', { ...everything, round: undefined, turn: objected }, limit],
    ]
    it.each(lastTable)('%s', (_what, facts, ending) => {
      expect(decideNext({ ...base, ...facts, lastTurn: limit })).toEqual({ kind: 'end', ending })
    })
  })
})
