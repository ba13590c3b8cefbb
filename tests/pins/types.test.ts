import { expect, it } from 'vitest'
import { Event } from '../../src/core/events.ts'
import { errorCodes } from '../../src/index.ts'
import { expectPinned } from './expect-pinned.ts'
import { entries, exportsOf, membersOf, publicTypes } from './public-types.ts'

const types = publicTypes()

function pinTypes(file: string, isMine: (name: string) => boolean): void {
  const mine = [...types].filter(([name]) => isMine(name))
  expectPinned(
    file,
    mine.flatMap(([name, declaration]) => membersOf(name, declaration)),
  )
}

const named = (names: string) => {
  const list = names.trim().split(/\s+/)
  expect(list.filter((name) => !types.get(name))).toEqual([])
  return (name: string) => list.includes(name)
}

it('the exports of each entry', () => {
  const lines = [...entries].flatMap(([entry, file]) =>
    exportsOf(file).map(({ name, isType }) => `${entry}: ${isType ? 'type ' : ''}${name}`),
  )
  expectPinned('exports.txt', lines)
})

it('the error codes, and whose fault each is', () => {
  expectPinned(
    'error-codes.txt',
    Object.entries(errorCodes).map(([code, { fault }]) => `${code}: ${fault}`),
  )
})

it('the events, and their fields', () => {
  const names = Object.entries(Event).map(([name, value]) => `Event.${name} = ${value}`)
  const isMine = named('EventPayloads EventMeta RunEvent MadeDecision PathStep ScriptLine')
  const fields = [...types].filter(([name]) => isMine(name))
  expectPinned('events.txt', [...names, ...fields.flatMap(([name, declaration]) => membersOf(name, declaration))])
})

it('the stop reasons, and what a run results in', () => {
  pinTypes(
    'results.txt',
    named(
      'StopReason FinishReason ToolCallOutcome RunResult AnsweredRun UnansweredRun FailedRun RunOutcome RunState RunStep ToolCallRecord Usage',
    ),
  )
})

it('the names of options', () => {
  pinTypes('options.txt', (name) => /(?:Options|Settings|Limits|Config)$/.test(name) || name === 'Sampling' || name === 'Restored')
})

it('the fields of hooks, guardrails and decisions', () => {
  const callbacks = 'Hooks HookPlace ModelTurn ModelTurnChange ModelEnding SentRequest ToolTurn ToolTurnChange ToolEnding RunningToolCall'
  const decisions = 'Decision PendingItem Question Reconciled ApprovalRequest ApprovalDecision Guardrail GuardrailVerdict'
  pinTypes('hooks-and-decisions.txt', named(`${callbacks} ${decisions}`))
})
