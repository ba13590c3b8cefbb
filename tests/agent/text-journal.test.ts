import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunResult } from '../../src/agent/types/options.ts'
import { isToolResult } from '../../src/core/messages.ts'
import { findDialect } from '../../src/dialects/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool, type ToolEffect } from '../../src/tools/tool.ts'
import { StrictJournal } from './strict-journal.ts'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const n = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }

/** Turns as text, with text around the calls, a call nobody can read, one to a tool that is not there, and one that is cut. */
function turnsIn(dialect: string) {
  const { renderCalls } = findDialect(dialect)
  const write = (name: string, value: unknown) => renderCalls([{ name, arguments: { n: value } }])
  const broken = dialect === 'hermes' ? '<tool_call>\n{"name": "look", "arguments": {"n": }}\n</tool_call>\n' : ''
  return [
    `first\n${write('look', '1')}\nbetween\n${write('pay', 2)}\nbehind\n${write('put', '3')}\nlast`,
    `${broken}${write('pay', 'not a number')}\n`,
    { text: write('pay', 5), finishReason: 'length' as const },
    write('pay', 4),
    'done',
  ]
}

async function runWith(dialect: string, journal?: StrictJournal): Promise<{ result: RunResult; paid: string[]; texts: string[] }> {
  const paid: string[] = []
  const texts: string[] = []
  const turns = turnsIn(dialect)
  const tool = (name: string, effect: ToolEffect) =>
    defineTool({
      name,
      description: name,
      parameters: n,
      effect,
      execute: (args, { idempotencyKey }) => {
        if (name === 'pay') paid.push(idempotencyKey)
        return { did: name, args }
      },
    })
  // Answers by how far the conversation has come, as a real model does; calls and results are in its texts.
  const model = scriptedModel(({ messages }) => turns[messages.filter(({ role }) => role === 'assistant').length] ?? 'unexpected', {
    capabilities: { nativeTools: false, dialect },
  })
  const tools = [tool('look', 'read'), tool('put', 'idempotent'), tool('pay', 'unsafe')]
  const runner = new AgentRunner({ model, tools, logger: quiet, ...(journal === undefined ? {} : { journal }) })
  runner.on('TEXT_DELTA', ({ text }, { step, attempt }) => {
    if (step?.includes('tool')) texts.push(`${attempt} ${text.trim()}`)
  })
  return { result: await runner.run('go', { runId: 'run' }), paid, texts }
}

function comparable({ steps, toolCalls, ...rest }: RunResult) {
  return {
    ...rest,
    steps: steps.map(({ durationMs: _d, timeToFirstTokenMs: _t, ...step }) => step),
    toolCalls: toolCalls.map(({ durationMs: _d, value: _v, ...call }) => call),
  }
}

describe.each(['tool-action', 'hermes'])('a run with calls in text under a journal: %s', (dialect) => {
  it('keeps the rules of the port and ends as in memory', async () => {
    const journal = new StrictJournal(Number.POSITIVE_INFINITY)
    const { result } = await runWith(dialect, journal)
    const plain = await runWith(dialect)
    expect(journal.violations).toEqual([])
    expect(comparable(result)).toEqual(comparable(plain.result))
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 5 })
    expect(result.toolCalls.slice(0, 3).map(({ outcome, args }) => [outcome, args])).toEqual([
      ['ok', { n: 1 }],
      ['ok', { n: 2 }],
      ['ok', { n: 3 }],
    ])
    expect(result.toolCalls.slice(3).map(({ outcome }) => outcome)).toEqual([
      ...(dialect === 'hermes' ? ['rejected'] : []),
      'rejected',
      'truncated',
      'ok',
    ])
  })
})

// The dialect has no part in what is recorded.
it('a run with calls in text under a journal, crashed at every possible moment and resumed, ends the same, and never starts an unsafe call twice', async () => {
  const whole = new StrictJournal(Number.POSITIVE_INFINITY)
  const reference = await runWith('hermes', whole)
  expect(whole.moments).toBeGreaterThan(40)
  for (let crashAt = 1; crashAt <= whole.moments; crashAt++) {
    const journal = new StrictJournal(crashAt)
    const { result, paid, texts } = await runWith('hermes', journal)
    const where = `crash at moment ${crashAt}`
    expect(journal.violations, where).toEqual([])
    expect(new Set(paid).size, where).toBe(paid.length)
    const [before = [], after = []] = journal.executions
    expect(after.slice(0, before.length), where).toEqual(before)
    const uncertain = result.toolCalls.some(({ outcome }) => outcome === 'uncertain')
    if (!uncertain) expect(comparable(result), where).toEqual(comparable(reference.result))
    expect(result.stopReason, where).toBe('answered')
    expect(result.messages.filter(isToolResult), where).toHaveLength(reference.result.toolCalls.length)
    // Text behind a call is shown, and shown again only where its call's step is carried out again.
    expect(new Set(texts).size, where).toBe(texts.length)
    expect(new Set(texts.map((text) => text.split(' ')[1])), where).toEqual(new Set(['between', 'behind', 'last']))
  }
})
