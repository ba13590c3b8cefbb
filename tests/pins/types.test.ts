import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { Event } from '../../src/core/events.ts'
import { errorCodes } from '../../src/index.ts'
import { expectPinned } from './expect-pinned.ts'
import { classMembersOf, entries, exportsOf, membersOf, publicClasses, publicTypes } from './public-types.ts'

const types = publicTypes()

const events = 'EventPayloads EventMeta RunEvent MadeDecision PathStep ScriptLine'.split(' ')
const results =
  'StopReason FinishReason ToolCallOutcome RunResult AnsweredRun UnansweredRun FailedRun RunOutcome RunState RunStep ToolCallRecord Usage'.split(
    ' ',
  )
const callbacks = [
  ...'Hooks HookPlace ModelTurn ModelTurnChange ModelEnding SentRequest ToolTurn ToolTurnChange ToolEnding RunningToolCall'.split(' '),
  ...'Decision PendingItem Question Reconciled ApprovalRequest ApprovalDecision Guardrail GuardrailVerdict'.split(' '),
]
const isOption = (name: string) => /(?:Options|Settings|Limits|Config)$/.test(name) || name === 'Sampling' || name === 'Restored'

function linesOf(isMine: (name: string) => boolean): string[] {
  return [...types].filter(([name]) => isMine(name)).flatMap(([name, declaration]) => membersOf(name, declaration))
}

function linesOfAll(names: readonly string[]): string[] {
  expect(names.filter((name) => !types.get(name))).toEqual([])
  return linesOf((name) => names.includes(name))
}

it('the exports of each entry, and which entries are experimental', () => {
  const lines = [...entries].flatMap(([entry, file]) => [
    ...(/^.*Experimental/.test(readFileSync(file, 'utf8')) ? [`${entry}: experimental`] : []),
    ...exportsOf(file).map(({ name, isType }) => `${entry}: ${isType ? 'type ' : ''}${name}`),
  ])
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
  expectPinned('events.txt', [...names, ...linesOfAll(events)])
})

it('the stop reasons, and what a run results in', () => {
  expectPinned('results.txt', linesOfAll(results))
})

it('the names of options', () => {
  expectPinned('options.txt', linesOf(isOption))
})

it('the fields of hooks, guardrails and decisions', () => {
  expectPinned('hooks-and-decisions.txt', linesOfAll(callbacks))
})

it('the members of the other types that an entry exports', () => {
  const exported = new Set([...entries.values()].flatMap((file) => exportsOf(file).flatMap(({ name, isType }) => (isType ? [name] : []))))
  const elsewhere = [...events, ...results, ...callbacks]
  expectPinned(
    'types.txt',
    linesOf((name) => exported.has(name) && !elsewhere.includes(name) && !isOption(name)),
  )
})

it('the members of classes', () => {
  expectPinned(
    'classes.txt',
    [...publicClasses()].flatMap(([name, { text }]) => classMembersOf(name, text)),
  )
})
