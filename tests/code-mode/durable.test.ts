import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunResult, RunState } from '../../src/agent/types/options.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import type { Json } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { StrictJournal } from '../agent/strict-journal.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const { logger } = recordingLogger()
const amount = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const

const code = `const seen = await Promise.all([tools.look({ n: 1 }), tools.look({ n: 2 })])
const put = await tools.put({ n: seen[0] + seen[1] })
let paid
try { paid = await tools.pay({ n: put }) } catch (error) { paid = error.message }
return { seen, put, paid, later: await tools.look({ n: Math.floor(Math.random() * 2) + 3 }) }`

/** One run of that script under a journal that dies at a moment, until it has ended. */
async function runUnder(crashAt: number, decide?: (name: string, about: Json | undefined) => Json) {
  const started: string[] = []
  const ended = new Set<string>()
  const tool = (name: string, effect: 'read' | 'idempotent' | 'unsafe') =>
    defineTool({
      name,
      description: name,
      parameters: amount,
      effect,
      execute: async ({ n }, { idempotencyKey }) => {
        started.push(`${name} ${n} ${idempotencyKey}`)
        await Promise.resolve()
        ended.add(`${name} ${n}`)
        return n
      },
    })
  const journal = new StrictJournal(crashAt, decide)
  let asked = 0
  const model = scriptedModel(({ messages }) => {
    asked++
    const last = messages.at(-1)
    return last?.role === 'tool' ? String(last.content) : { toolCalls: [{ name: 'run_script', args: { code } }] }
  })
  const runner = new AgentRunner({
    model,
    tools: codeMode([tool('look', 'read'), tool('put', 'idempotent'), tool('pay', 'unsafe')]),
    journal,
    logger,
  })
  const result = await runner.run('go', { runId: 'r' })
  return { result, started, journal, asked }
}

describe('a script under a journal', () => {
  it('killed at any moment, repeats no recorded call, starts no unsafe call twice, and keeps its keys', async () => {
    const whole = await runUnder(Number.POSITIVE_INFINITY)
    expect(whole.result).toMatchObject({ stopReason: 'answered', toolCalls: [{ outcome: 'ok', nested: { toolCalls: 5 } }] })
    expect(whole.started).toHaveLength(5)
    const keys = new Map(whole.started.map((line) => [line.slice(0, 6), line]))
    for (let crashAt = 1; crashAt <= whole.journal.moments; crashAt++) {
      const { result, started, journal } = await runUnder(crashAt)
      const where = `killed at ${crashAt} of ${whole.journal.moments}`
      expect(journal.violations, where).toEqual([])
      expect(result.stopReason, where).toBe('answered')
      expect(started.filter((line) => line.startsWith('pay')).length, where).toBeLessThanOrEqual(1)
      // The calls of one round may have been in flight.
      const doubled = started.filter((line, at) => started.indexOf(line) !== at)
      expect(doubled.length, where).toBeLessThanOrEqual(2)
      expect(
        doubled.every((line) => !line.startsWith('pay')),
        where,
      ).toBe(true)
      for (const line of started.filter((one) => !/^look [34]/.test(one))) expect(keys.get(line.slice(0, 6)), where).toBe(line)
      const { value } = result.toolCalls[0] as { value?: { value: { paid: unknown } } }
      if (value !== undefined && started.some((line) => line.startsWith('pay')) === false) expect(value.value.paid, where).toContain('pay')
    }
  })

  it('is not run by a journal that can’t record calls', async () => {
    const journal = new StrictJournal(Number.POSITIVE_INFINITY)
    const withoutRecords = {
      connect: (body: Parameters<StrictJournal['connect']>[0]) =>
        journal.connect((durable, input) => body({ ...lean(durable), append: undefined, entries: undefined } as never, input)),
    }
    const model = scriptedModel([{ toolCalls: [{ name: 'run_script', args: { code: 'return tools.look()' } }] }, 'done'])
    const look = defineTool({ name: 'look', description: 'x', execute: () => 1 })
    const { toolCalls } = await new AgentRunner({ model, tools: codeMode([look]), journal: withoutRecords, logger }).run('go', {
      runId: 'r',
    })
    expect(toolCalls[0]).toMatchObject({ outcome: 'failed', content: expect.stringContaining('could not be recorded') })
  })
})

/** The methods of the port that a copy keeps. */
function lean(durable: object) {
  const { runId, attempt, survivesCrashes, step, all, wait } = durable as Record<string, unknown>
  return { runId, attempt, survivesCrashes, step, all, wait }
}

describe('a restarted script that does something else', () => {
  const open = () => {
    const ran: string[] = []
    const look = defineTool({ name: 'look', description: 'x', parameters: amount, execute: ({ n }) => ran.push(`look ${n}`) })
    const pay = defineTool({ name: 'pay', description: 'x', parameters: amount, approval: true, execute: ({ n }) => ran.push(`pay ${n}`) })
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      return last?.role === 'tool'
        ? String(last.content)
        : {
            toolCalls: [
              {
                name: 'run_script',
                args: { code: 'const n = await tools.look({ n: 1 })\nconst p = await tools.pay({ n })\nreturn tools.look({ n: p })' },
              },
            ],
          }
    })
    return { ran, runner: new AgentRunner({ model, tools: codeMode([look, pay]), logger }) }
  }
  const pause = async (): Promise<RunResult & { state: RunState }> => (await open().runner.run('go')) as never
  const resume = async (state: RunState, { pending }: RunResult) => {
    const { ran, runner } = open()
    const result = await runner.resume(state, { decisions: pending.map((item) => ({ ...item, approved: true as const })) })
    return { ran, result }
  }

  it('fails with an explanation, and nothing more of it runs', async () => {
    const paused = await pause()
    const same = await resume(JSON.parse(JSON.stringify(paused.state)), paused)
    expect([same.result.stopReason, same.ran]).toEqual(['answered', ['pay 1', 'look 1']])
    // Another version of the engine might have given it another result.
    const again = await pause()
    const changed = JSON.parse(JSON.stringify(again.state).replaceAll('"content":"1"', '"content":"2"'))
    const { ran, result } = await resume(changed, again)
    expect(ran).toEqual(['pay 1'])
    expect(result.toolCalls[0]).toMatchObject({
      outcome: 'failed',
      content: expect.stringContaining('did not make the same calls as before: `pay` has other arguments'),
    })
  })
})

it('a restarted script that computes for too long fails because of that', async () => {
  const pay = defineTool({ name: 'pay', description: 'x', approval: true, execute: () => 'paid' })
  const code = 'let sum = 0\nfor (let n = 0; n < 3e6; n++) sum += n\nreturn await tools.pay()'
  const model = () => scriptedModel([{ toolCalls: [{ name: 'run_script', args: { code } }] }, 'done'])
  const paused = await new AgentRunner({ model: model(), tools: codeMode([pay]), logger }).run('go')
  const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
  const slower = new AgentRunner({ model: model(), tools: codeMode([pay], { limits: { timeoutMs: 1 } }), logger })
  const { toolCalls } = await slower.resume(paused.state, { decisions })
  expect(toolCalls[0]).toMatchObject({ outcome: 'failed', content: 'The script computed for longer than 1 ms and was stopped.' })
})
